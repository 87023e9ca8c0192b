//! One element of `Forwarded` (RFC 7239): `for="[2001:db8::1]:4711";proto=https;by=…`.
//!
//! Promises to find the elements from the right end of a line although quoted strings may hold commas: a proxy may write the
//! host that the client named into one, and a client may leave its own quotes open on the left.

use std::net::IpAddr;

use super::chain::trimmed;
use super::node;

/// How many bytes follow the last comma outside of quotes; `None` if there is none within `bytes_max`.
pub(super) fn last_comma(bytes: &[u8], bytes_max: usize) -> Option<usize> {
    let mut is_quoted = false;
    let mut at = bytes.len();
    let end = bytes.len().saturating_sub(bytes_max + 1);
    while at > end {
        at -= 1;
        match bytes[at] {
            b',' if !is_quoted => return Some(bytes.len() - at - 1),
            b'"' => {
                // Inside quotes a quote is one of the text if an odd number of backslashes stands before it.
                let behind = bytes[end..at].iter().rev().take_while(|byte| **byte == b'\\').count();
                is_quoted = !is_quoted || behind % 2 == 1;
                // Never looked at twice, so that a line of backslashes costs no more than any other.
                at -= behind;
            }
            _ => {}
        }
    }
    None
}

/// The address of the element's one `for`. `None` if it has none or several, if that is `unknown` or hidden, or if anything of
/// the element cannot be read.
pub(super) fn address(element: &str) -> Option<IpAddr> {
    let mut rest = element;
    let mut found = None;
    loop {
        let (name, behind) = rest.split_once('=')?;
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return None;
        }
        let (value, behind) = value(behind)?;
        if name.eq_ignore_ascii_case("for") {
            // An address has nothing to escape: a value with a backslash is no address.
            let address = node::address(value)?;
            if found.replace(address).is_some() {
                return None;
            }
        }
        let behind = trimmed(behind);
        if behind.is_empty() {
            return found;
        }
        rest = trimmed(behind.strip_prefix(';')?);
    }
}

/// The value at the start of the text, without its quotes but as it was escaped, and what follows it.
fn value(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let bytes = quoted.as_bytes();
        let mut at = 0;
        while *bytes.get(at)? != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        return Some((&quoted[..at], &quoted[at + 1..]));
    }
    let end = text.bytes().position(|byte| !is_bare_byte(byte)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// What may stand in a name.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// What may stand in a value without quotes. Colons and brackets should be quoted, and are forgiven: nothing else could be meant.
fn is_bare_byte(byte: u8) -> bool {
    is_token_byte(byte) || b":[]".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(element: &str, expected: &str) {
        assert_eq!(address(element).map(|it| it.to_string()).unwrap_or_default(), expected, "{element}");
    }

    #[test]
    fn the_examples_of_rfc_7239_are_read() {
        check("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60");
        check("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17");
        check("for=\"192.0.2.43:47011\"", "192.0.2.43");
        check("FOR=192.0.2.43; host=\"a, \\\"b\\\"\" ;x=y", "192.0.2.43");
        check("proto=https;for=\"[fe80::1%eth0]\"", "fe80::1");
        for nobody in
            ["for=\"_gazonk\"", "for=_SEVKISEK", "for=unknown", "for=\"unknown:80\"", "for=\"_hidden:80\""]
        {
            check(nobody, "");
        }
    }

    #[test]
    fn an_element_with_anything_amiss_names_nobody() {
        let garbage = [
            "",
            "for",
            "for=",
            "=1.2.3.4",
            "for=\"\"",
            "for=\"1.2.3.4",
            "for=1.2.3.4\"",
            "for=1.2.3.4;",
            "for=1.2.3.4;;x=y",
            "for =1.2.3.4",
            "for= 1.2.3.4",
            "for=1.2.3.4 x=y",
            "for=1.2.3.4;for=1.2.3.4",
            "for=1.2.3.4;for=_x",
            "proto=https",
            "by=1.2.3.4",
            "1.2.3.4",
            "for=\"1.2.3.4\"x",
            "for=\"1.2.3.4\\\"",
            "for=\"1.2.3.\\4\"",
            "for=1.2.3.4;x=\\",
            "for=1.2.3.4;ü=x",
            "for=1.2.3.4;x=ü",
            "for='1.2.3.4'",
        ];
        for element in garbage {
            check(element, "");
        }
    }

    #[test]
    fn a_comma_in_quotes_parts_nothing() {
        let behind = |line: &str| {
            last_comma(line.as_bytes(), 100).map(|behind| &line[line.len() - behind..]).map(String::from)
        };
        assert_eq!(behind("a,for=1;host=\"x,y\"").as_deref(), Some("for=1;host=\"x,y\""));
        assert_eq!(
            behind("a,for=1;host=\"x\\\",\\\\\\\"y\\\\\"").as_deref(),
            Some("for=1;host=\"x\\\",\\\\\\\"y\\\\\"")
        );
        assert_eq!(
            behind("open=\", b").as_deref(),
            Some(" b"),
            "quotes left open on the left swallow nothing"
        );
        assert_eq!(behind("a=\"x,y\""), None);
        assert_eq!(behind(""), None);
    }
}
