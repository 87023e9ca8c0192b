//! Who is at the other end of the socket, as the server at hand tells it.

use std::net::IpAddr;

use http::Extensions;

/// The address of the socket's peer, for servers that say it in no other way: put it into the request's extensions. Goes
/// before what axum and tonic say. Never take it from a header field: that is what the policy's `client_address` is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

/// The peer's address, if anybody has said it.
#[inline]
pub(crate) fn of(extensions: &Extensions) -> Option<IpAddr> {
    let ours = extensions.get().map(|PeerAddress(address)| *address);
    ours.or_else(|| of_axum(extensions)).or_else(|| of_tonic(extensions))
}

#[cfg(feature = "axum")]
fn of_axum(extensions: &Extensions) -> Option<IpAddr> {
    let info = extensions.get::<axum::extract::ConnectInfo<std::net::SocketAddr>>();
    info.map(|axum::extract::ConnectInfo(peer)| peer.ip())
}

#[cfg(not(feature = "axum"))]
fn of_axum(_: &Extensions) -> Option<IpAddr> {
    None
}

#[cfg(feature = "tonic")]
fn of_tonic(extensions: &Extensions) -> Option<IpAddr> {
    let info = extensions.get::<tonic::transport::server::TcpConnectInfo>()?;
    info.remote_addr().map(|peer| peer.ip())
}

#[cfg(not(feature = "tonic"))]
fn of_tonic(_: &Extensions) -> Option<IpAddr> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_says_goes_before_what_the_server_says() {
        let mut extensions = Extensions::new();
        assert_eq!(of(&extensions), None);
        let server = std::net::SocketAddr::from(([192, 0, 2, 1], 80));
        #[cfg(feature = "axum")]
        {
            extensions.insert(axum::extract::ConnectInfo(server));
            assert_eq!(of(&extensions), Some(server.ip()));
        }
        extensions.insert(PeerAddress([192, 0, 2, 2].into()));
        assert_ne!(of(&extensions), Some(server.ip()));
        assert_eq!(of(&extensions), Some([192, 0, 2, 2].into()));
    }
}
