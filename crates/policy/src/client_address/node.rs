//! An address as proxies write it: with a port or without, IPv6 with brackets or without, perhaps with a zone.
//!
//! Promises that all spellings of an address are one address. It resolves no names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest zone that is read, in bytes: interface names have up to 15.
const ZONE_BYTES_MAX: usize = 32;

/// The address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`; `None` for all else.
/// An IPv4-mapped address is IPv4.
///
/// The zone of `fe80::1%eth0` is dropped: it says by which cable a neighbour is reached, not who it is, and so a client
/// with many zones has one bucket. IPv4 has no zones.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    let address = match text.strip_prefix('[') {
        Some(bracketed) => {
            let (inner, behind) = bracketed.split_once(']')?;
            if !behind.is_empty() && !is_port(behind.strip_prefix(':')?) {
                return None;
            }
            IpAddr::V6(ipv6(inner)?)
        }
        None => match text.split_once(':') {
            // Two colons or more: IPv6, which has no port without brackets.
            Some((_, behind)) if behind.contains(':') => IpAddr::V6(ipv6(text)?),
            Some((host, port)) => IpAddr::V4(host.parse::<Ipv4Addr>().ok().filter(|_| is_port(port))?),
            None => IpAddr::V4(text.parse().ok()?),
        },
    };
    Some(address.to_canonical())
}

fn ipv6(text: &str) -> Option<Ipv6Addr> {
    let Some((address, zone)) = text.split_once('%') else { return text.parse().ok() };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    let is_zone = (1..=ZONE_BYTES_MAX).contains(&zone.len()) && zone.bytes().all(is_letter);
    address.parse().ok().filter(|_| is_zone)
}

/// A port, or a hidden one as RFC 7239 allows. It does not matter which.
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(hidden) => !hidden.is_empty() && hidden.bytes().all(is_hidden_byte),
        None => !text.starts_with('+') && text.parse::<u16>().is_ok(),
    }
}

fn is_hidden_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(address(text).map(|address| address.to_string()).unwrap_or_default(), expected, "{text}");
    }

    #[test]
    fn every_spelling_of_an_address_is_that_address() {
        for text in ["192.0.2.1", "192.0.2.1:80", "192.0.2.1:_p", "::ffff:192.0.2.1", "[::ffff:c000:201]:443"]
        {
            check(text, "192.0.2.1");
        }
        let spellings = [
            "2001:db8::1",
            "[2001:db8::1]",
            "[2001:db8::1]:443",
            "2001:0DB8:0:0:0:0:0:1",
            "[2001:db8::1]:_x",
        ];
        for text in spellings {
            check(text, "2001:db8::1");
        }
    }

    #[test]
    fn a_zone_makes_no_other_client() {
        for text in ["fe80::1", "fe80::1%eth0", "fe80::1%25eth0", "[fe80::1%eth0]:80", "[fe80::1%1]"] {
            check(text, "fe80::1");
        }
    }

    #[test]
    fn what_is_not_an_address_is_none() {
        let garbage = [
            "",
            " ",
            "unknown",
            "_hidden",
            "localhost",
            "1.2.3",
            "1.2.3.4.5",
            "1.2.3.256",
            "01.2.3.4",
            "0x7f.0.0.1",
            "2130706433",
            "1.2.3.4:",
            "1.2.3.4:65536",
            "1.2.3.4:-1",
            "1.2.3.4:+1",
            "1.2.3.4:_",
            "1.2.3.4:8 0",
            "1.2.3.4 ",
            "1.2.3.4/32",
            "1.2.3.4%eth0",
            "[1.2.3.4]",
            "[1.2.3.4]:80",
            ":::1",
            "[::1",
            "::1]",
            "[::1]80",
            "[::1]:",
            "[[::1]]",
            "[]",
            ":",
            "::%",
            "::1%",
            "fe80::1%eth 0",
            "fe80::1%eth0,",
            "12345::",
            "::1::",
            "１.2.3.4",
            "1\u{200b}.2.3.4",
            "1.2.3.4\0",
            "\"1.2.3.4\"",
            "for=1.2.3.4",
            "unix:",
            "fe80::1%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ];
        for text in garbage {
            check(text, "");
        }
    }
}
