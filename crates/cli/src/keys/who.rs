//! Whom an order is about, as operators type it and as the server reads it.

use std::net::IpAddr;

/// Kinds that are written before a colon.
const KINDS: [&str; 4] = ["user:", "ip:", "address:", "network:"];
/// Those that addresses follow.
const KINDS_OF_PLACES: [&str; 3] = ["ip:", "address:", "network:"];

/// As the server reads it. A bare address or network is one; with a rule, all of it is a key of the rule.
pub(super) fn sent(typed: &str, is_of_rule: bool) -> Result<String, String> {
    if is_of_rule {
        return Ok(format!("key:{typed}"));
    }
    if KINDS.iter().any(|kind| typed.strip_prefix(kind).is_some_and(|who| !who.is_empty())) {
        return Ok(typed.to_owned());
    }
    if typed.parse::<IpAddr>().is_ok() {
        return Ok(format!("ip:{typed}"));
    }
    if let Some((address, bits)) = typed.split_once('/')
        && address.parse::<IpAddr>().is_ok()
        && bits.parse::<u8>().is_ok()
    {
        return Ok(format!("network:{typed}"));
    }
    Err(format!(
        "WHO is '{typed}'; write user:NAME, an address such as 192.0.2.7, a network such as 192.0.2.0/24, or a key with --rule"
    ))
}

/// Whom a text means, however it is spelt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meant<'w> {
    /// Everyone in a network, by its address and bits; one address has all of them.
    Within(IpAddr, u8),
    /// Whom this text alone means.
    Text(&'w str),
}

/// Whom an order is about, to compare. An IPv4 address that is written as IPv6 is the same client, as it is to the server.
pub(super) fn meant(who: &str) -> Meant<'_> {
    let place = KINDS_OF_PLACES.iter().find_map(|kind| who.strip_prefix(kind));
    place.and_then(network).map_or(Meant::Text(who), |(address, bits)| Meant::Within(address, bits))
}

fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (text, None),
    };
    Some(match address.parse().ok()? {
        IpAddr::V4(v4) => (v4.into(), bits.unwrap_or(32)),
        IpAddr::V6(v6) => {
            let bits = bits.unwrap_or(128);
            let v4 = v6.to_ipv4_mapped().zip(bits.checked_sub(96));
            v4.map_or((v6.into(), bits), |(v4, bits)| (v4.into(), bits))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_typed_is_sent_as_the_server_reads_it() {
        for (typed, expected) in [
            ("user:42", "user:42"),
            ("ip:2001:db8::1", "ip:2001:db8::1"),
            ("address:192.0.2.7", "address:192.0.2.7"),
            ("192.0.2.7", "ip:192.0.2.7"),
            ("2001:db8::1", "ip:2001:db8::1"),
            ("192.0.2.0/24", "network:192.0.2.0/24"),
            ("network:2001:db8::/32", "network:2001:db8::/32"),
        ] {
            assert_eq!(sent(typed, false).as_deref(), Ok(expected));
        }
        assert_eq!(sent("user:42", true).as_deref(), Ok("key:user:42"));
        for typed in ["", "42", "user:", "alice", "192.0.2.0/x", "192.0.2/24"] {
            assert!(sent(typed, false).unwrap_err().contains("write user:NAME"), "{typed}");
        }
    }

    #[test]
    fn one_client_is_one_however_it_is_spelt_and_two_are_two() {
        for (one, other) in [
            ("ip:192.0.2.7", "address:192.0.2.7"),
            ("ip:192.0.2.7", "network:::ffff:192.0.2.7/128"),
            ("network:192.0.2.0/24", "network:::ffff:192.0.2.0/120"),
            ("ip:2001:db8::1", "network:2001:DB8:0::1/128"),
        ] {
            assert_eq!(meant(one), meant(other));
        }
        for (one, other) in [
            ("ip:192.0.2.7", "user:192.0.2.7"),
            ("ip:192.0.2.7", "192.0.2.7"),
            ("network:192.0.2.0/24", "network:192.0.2.0/25"),
            ("network:::/0", "network:0.0.0.0/0"),
            ("ip:nowhere", "ip:elsewhere"),
        ] {
            assert_ne!(meant(one), meant(other));
        }
    }
}
