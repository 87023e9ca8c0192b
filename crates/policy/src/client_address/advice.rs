//! What to write into the policy when a proxy is not trusted yet.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::{ClientAddressSettings, Trust};

/// The line that makes the peer a trusted proxy, beside those that are. For a warning, given once: an address that a stranger
/// connects from is no proxy, so the warning should ask whether this one is.
/// ```
/// # use tollgate_policy::{ClientAddressSettings, trust_line};
/// assert_eq!(
///     trust_line(&ClientAddressSettings::default(), "10.0.0.7".parse()?),
///     r#"client_address: {trusted_proxies: ["10.0.0.7/32"], header: x-forwarded-for}"#,
/// );
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn trust_line(settings: &ClientAddressSettings, peer: IpAddr) -> String {
    let trusted = match &settings.trust {
        Trust::Networks(networks) => networks.as_slice(),
        Trust::Nobody | Trust::Hops(_) => &[],
    };
    let peer = IpNet::from(peer.to_canonical());
    let networks: Vec<_> = trusted.iter().chain([&peer]).map(|network| format!("\"{network}\"")).collect();
    let header = settings.header.field_name();
    format!("client_address: {{trusted_proxies: [{}], header: {header}}}", networks.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ForwardingHeader;

    #[test]
    fn the_line_keeps_the_proxies_that_are_trusted_already() {
        let settings = ClientAddressSettings {
            trust: Trust::Networks(vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()]),
            header: ForwardingHeader::Single("cf-connecting-ip".into()),
        };
        assert_eq!(
            trust_line(&settings, "2001:db8::7".parse().unwrap()),
            r#"client_address: {trusted_proxies: ["10.0.0.0/8", "fd00::/8", "2001:db8::7/128"], header: cf-connecting-ip}"#
        );
    }

    #[test]
    fn a_mapped_peer_is_named_as_it_is_compared() {
        let line = trust_line(&ClientAddressSettings::default(), "::ffff:10.0.0.7".parse().unwrap());
        assert_eq!(line, r#"client_address: {trusted_proxies: ["10.0.0.7/32"], header: x-forwarded-for}"#);
    }
}
