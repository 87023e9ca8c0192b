//! Whom an order is about, as operators type it and as the server reads it.

use std::net::IpAddr;

/// Kinds that are written before a colon.
const KINDS: [&str; 4] = ["user:", "ip:", "address:", "network:"];

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

/// What both ways to write an address have in common, to compare.
pub(super) fn plain(who: &str) -> String {
    who.strip_prefix("address:").map_or_else(|| who.to_owned(), |address| format!("ip:{address}"))
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
        assert_eq!(
            (plain("address:192.0.2.7"), plain("user:1")),
            ("ip:192.0.2.7".to_owned(), "user:1".to_owned())
        );
    }
}
