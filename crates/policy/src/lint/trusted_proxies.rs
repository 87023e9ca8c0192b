//! Proxies that could be anybody: whoever is believed when it names the client's address has as many buckets as there are
//! addresses (K3).
//!
//! Knows only how wide the networks are, not whose they are.

use ipnet::{IpNet, Ipv6Net};

use super::{Book, Lint, LintKind};
use crate::{Source, Trust};

/// A network of IPv4 with fewer bits holds strangers: the widest that is private has 8.
const BITS_MIN_V4: u8 = 8;
/// A network of IPv6 with fewer bits holds strangers, unless it is private: no provider has so wide a one.
const BITS_MIN_V6: u8 = 16;

/// `trusts-everyone`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let Trust::Networks(networks) = &book.policy.client_address.trust else { return };
    let Some(wide) = networks.iter().find(|network| holds_strangers(network)) else { return };
    found.push(Lint {
        kind: LintKind::TrustsEveryone,
        rule: None,
        source: Source::File,
        line: book.policy.client_address_line,
        message: format!(
            "`trusted_proxies` holds `{wide}`: a stranger in there names the client's address, and gets a fresh bucket each \
             time"
        ),
        cure: "name the networks of your own proxies, as in `trusted_proxies: [10.0.0.0/8]`".to_owned(),
    });
}

fn holds_strangers(network: &IpNet) -> bool {
    match network {
        IpNet::V4(network) => network.prefix_len() < BITS_MIN_V4,
        IpNet::V6(network) => network.prefix_len() < BITS_MIN_V6 && !is_private(network),
    }
}

/// Within `fc00::/7`, which is nobody's in public, or `fe80::/10`, which is one link.
fn is_private(network: &Ipv6Net) -> bool {
    let first = network.network().segments()[0];
    let is_within =
        |start: u16, bits: u8| network.prefix_len() >= bits && first >> (16 - bits) == start >> (16 - bits);
    is_within(0xfc00, 7) || is_within(0xfe80, 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::built_by_hand::{policy, rule};
    use crate::{ClientAddressSettings, Policy};

    fn lints(networks: &[&str]) -> Vec<Lint> {
        let networks = networks.iter().map(|network| network.parse().unwrap()).collect();
        let trust = Trust::Networks(networks);
        let client_address = ClientAddressSettings { trust, ..ClientAddressSettings::default() };
        Policy { client_address, client_address_line: 7, ..policy([rule("x")]) }.lints()
    }

    #[test]
    fn trusting_everybody_is_told_where_it_is_said() {
        assert_eq!(
            lints(&["10.0.0.0/8", "0.0.0.0/0"])[0].to_string(),
            "line 7: `trusted_proxies` holds `0.0.0.0/0`: a stranger in there names the client's address, and gets a fresh \
             bucket each time; name the networks of your own proxies, as in `trusted_proxies: [10.0.0.0/8]` \
             [trusts-everyone]"
        );
        for everybody in ["::/0", "0.0.0.0/1", "128.0.0.0/1", "8.0.0.0/7", "2000::/3", "8000::/1", "f000::/4"]
        {
            assert_eq!(lints(&[everybody]).len(), 1, "{everybody}");
        }
    }

    #[test]
    fn networks_that_somebody_may_own_are_not_judged() {
        for own in [
            "10.0.0.0/8",
            "192.0.2.1/32",
            "104.16.0.0/12",
            "fc00::/7",
            "fd00::/8",
            "fe80::/10",
            "2001:db8::/32",
        ] {
            assert_eq!(lints(&[own]), [], "{own}");
        }
    }

    #[test]
    fn the_line_is_that_of_the_file() {
        let text = "rules: [{name: a, scope: ip, rate: 1, burst: 1}]\n\nclient_address:\n  trusted_proxies: ['::/0']\n";
        let lints = Policy::parse("test", text).unwrap().lints();
        assert_eq!((lints.len(), lints[0].kind, lints[0].line), (1, LintKind::TrustsEveryone, 4));
        let few = text.replace("::/0", "fd00::/8");
        assert_eq!(Policy::parse("test", &few).unwrap().lints(), []);
    }
}
