//! A client as an operator reads it, and may type it: on one line, and no longer than a line.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Longest text of a client, in characters.
pub(super) const CLIENT_CHARS_MAX: usize = 128;

/// Stands for what was cut off.
const CUT: char = '…';

/// The key of a bucket (K1), in words: `user:42`, `203.0.113.9`, `203.0.113.9,path:/search`. Control characters are shown as escapes.
pub(super) fn client_text(key: &[u8]) -> String {
    let parts = match key.split_first() {
        Some((0, [])) => return "anonymous".to_owned(),
        Some((1, [])) => return "all".to_owned(),
        Some((1, parts)) => parts,
        _ => return cut(&hex(key)),
    };
    let (mut text, mut rest) = (String::new(), parts);
    while let [kind, high, low, after @ ..] = rest {
        let Some((bytes, after)) = after.split_at_checked(usize::from(u16::from_be_bytes([*high, *low])))
        else {
            return cut(&hex(key));
        };
        if !text.is_empty() {
            text.push(',');
        }
        write_part(&mut text, *kind, bytes);
        rest = after;
    }
    cut(&text)
}

fn write_part(text: &mut String, kind: u8, bytes: &[u8]) {
    let name = match kind {
        1 | 2 | 15 => "",
        3 => "header:",
        4 => "query:",
        5 => "cookie:",
        6..=8 => "claim:",
        9 | 10 => "path:",
        11 | 12 => "method:",
        13 => "host:",
        14 => "user:",
        16 => "plan:",
        17 => "fingerprint:",
        18 => "constant:",
        _ => "sha256:",
    };
    text.push_str(name);
    let is_address = name.is_empty();
    let _ = match (bytes, std::str::from_utf8(bytes)) {
        (&[a, b, c, d], _) if is_address => write!(text, "{}", Ipv4Addr::new(a, b, c, d)),
        (&[a, b, c, d, 32], _) if is_address => write!(text, "{}", Ipv4Addr::new(a, b, c, d)),
        (&[a, b, c, d, bits], _) if is_address => write!(text, "{}/{bits}", Ipv4Addr::new(a, b, c, d)),
        _ if is_address => write_v6(text, bytes),
        (_, Ok(words)) if kind < 17 || kind == 18 => write!(text, "{}", words.escape_debug()),
        _ => write!(text, "{}", hex(bytes)),
    };
}

fn write_v6(text: &mut String, bytes: &[u8]) -> std::fmt::Result {
    match bytes
        .split_at_checked(16)
        .and_then(|(address, bits)| Some((<[u8; 16]>::try_from(address).ok()?, bits)))
    {
        Some((address, [] | [128])) => write!(text, "{}", Ipv6Addr::from(address)),
        Some((address, [bits])) => write!(text, "{}/{bits}", Ipv6Addr::from(address)),
        _ => write!(text, "{}", hex(bytes)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CLIENT_CHARS_MAX) {
        None => text.to_owned(),
        Some(_) => text.chars().take(CLIENT_CHARS_MAX - 1).chain([CUT]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use tollgate::policy::{Facts, Policy, RuleBook};

    use super::*;

    fn text_of(keys: &str, facts: &Facts<'_>) -> String {
        let policy = format!("{{name: r, limit_keys: {keys}, rate: 1/s, burst: 1}}");
        let policy = Policy::parse("p.yaml", &policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let mut text = String::new();
        RuleBook::new(policy).rule_on(facts, 0, |hit| text = client_text(hit.key));
        text
    }

    #[test]
    fn a_client_is_shown_as_an_operator_would_type_it() {
        let facts = Facts {
            address: Some([203, 0, 113, 9].into()),
            user: Some("42"),
            ..Facts::new("GET", "/search?q=1")
        };
        for (keys, said) in [
            ("[user]", "user:42"),
            ("['ip:address']", "203.0.113.9"),
            ("['ip:prefix']", "203.0.113.9"),
            ("['ip:prefix/24']", "203.0.113.0/24"),
            ("[user, path, method]", "user:42,path:/search,method:GET"),
            ("['query:q']", "query:1"),
            ("['header:x-api-key']", "anonymous"),
        ] {
            assert_eq!(text_of(keys, &facts), said, "{keys}");
        }
        let v6 = Facts { address: "2001:db8::7".parse().ok(), ..Facts::new("GET", "/") };
        assert_eq!(text_of("['ip:address']", &v6), "2001:db8::7");
        assert_eq!(text_of("[user]", &v6), "2001:db8::/64");
        assert_eq!(client_text(&[1]), "all");
    }

    #[test]
    fn nothing_a_client_sends_breaks_the_line_or_makes_it_long() {
        let evil = Facts { user: Some("a\u{1b}[2Jb\nc"), ..Facts::new("GET", "/") };
        assert_eq!(text_of("[user]", &evil), "user:a\\u{1b}[2Jb\\nc");
        let long = "x".repeat(400);
        let text = text_of("[user]", &Facts { user: Some(&long), ..Facts::new("GET", "/") });
        assert!(text.starts_with("user:xxx") && text.ends_with(CUT), "{text}");
        assert_eq!(text.chars().count(), CLIENT_CHARS_MAX);
        let longer = "x".repeat(4_000);
        let text = text_of("[user]", &Facts { user: Some(&longer), ..Facts::new("GET", "/") });
        assert!(text.starts_with("sha256:"), "{text}");
        for end in 0..40 {
            let bytes: Vec<u8> = (0..end).map(|at: u8| at.wrapping_mul(37)).collect();
            assert!(client_text(&bytes).chars().count() <= CLIENT_CHARS_MAX);
        }
    }
}
