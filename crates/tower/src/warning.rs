//! What somebody should look at, said once.

use std::fmt;
use std::net::IpAddr;

/// What somebody should look at. Each kind is said once in the life of a layer; how often it happens is in
/// [`crate::TurnstileStats`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// A peer that is no trusted proxy named a client. Either somebody tries to be someone else, or a proxy of yours is not
    /// in the policy, and all of its clients share its bucket.
    UntrustedForwarding {
        /// Who it was.
        peer: IpAddr,
        /// The header field.
        field: Box<str>,
        /// The line to add to the policy if the peer is a proxy of yours.
        line: String,
    },
    /// Nobody said who the peer is: rules by address have one bucket for all clients.
    WithoutPeer,
    /// The policy verifies tokens, and the layer has no keys: every token counts as none.
    WithoutTokenKeys,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::UntrustedForwarding { peer, field, line } => write!(
                f,
                "`{field}` from {peer}, which is no trusted proxy, was ignored; if it is a proxy of yours, add to the policy: {line}"
            ),
            Warning::WithoutPeer => f.write_str(
                "the peer's address is unknown, so all clients share one bucket of rules by address; with axum, serve \
                 `into_make_service_with_connect_info::<SocketAddr>()` and enable the feature `axum`; with tonic, enable \
                 the feature `tonic`, and `tonic-tls` if it speaks TLS; elsewhere, put a `PeerAddress` into the request's \
                 extensions",
            ),
            Warning::WithoutTokenKeys => f.write_str(
                "the policy has `jwt`, and the layer no keys to verify tokens with, so every token counts as none; give them with \
                 `TollgateLayer::verify_tokens`",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_who_what_and_the_cure() {
        let warning = Warning::UntrustedForwarding {
            peer: [10, 0, 0, 7].into(),
            field: "x-forwarded-for".into(),
            line: r#"client_address: {trusted_proxies: ["10.0.0.7/32"]}"#.to_owned(),
        };
        assert_eq!(
            warning.to_string(),
            "`x-forwarded-for` from 10.0.0.7, which is no trusted proxy, was ignored; if it is a proxy of yours, add to the \
             policy: client_address: {trusted_proxies: [\"10.0.0.7/32\"]}"
        );
        for cure in ["into_make_service_with_connect_info", "`tonic-tls`", "PeerAddress"] {
            assert!(Warning::WithoutPeer.to_string().contains(cure));
        }
    }
}
