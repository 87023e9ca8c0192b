//! A client as an operator reads it, and may type it: on one line, and no longer than a line.

use std::fmt::Write as _;

use tollgate::policy::Rule;

/// Longest text of a client, in characters.
pub(super) const CLIENT_CHARS_MAX: usize = 128;

/// Stands for what was cut off.
const CUT: char = '…';

/// The key of a bucket of the rule as [`Rule::key_of`] reads it, cut off where it is longer than a line; a hash of many parts in hex digits.
pub(super) fn client_text(rule: &Rule, key: &[u8]) -> String {
    let text = rule.keys_text(key).unwrap_or_else(|| hex(key));
    match text.char_indices().nth(CLIENT_CHARS_MAX) {
        None => text,
        Some(_) => text.chars().take(CLIENT_CHARS_MAX - 1).chain([CUT]).collect(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use tollgate::policy::{Facts, Policy, RuleBook};

    use super::*;

    /// The text of a client's key, and whether it is read as that key again.
    fn text_of(keys: &str, facts: &Facts<'_>) -> (String, bool) {
        let policy = format!("{{name: r, limit_keys: {keys}, rate: 1/s, burst: 1}}");
        let policy = Policy::parse("p.yaml", &policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let (mut told, rule) = (None, policy.rules[0].clone());
        RuleBook::new(policy).rule_on(facts, 0, |hit| {
            let text = client_text(&rule, hit.key);
            let is_read = rule.key_of(&text).is_ok_and(|read| read == hit.key);
            told = Some((text, is_read));
        });
        told.unwrap()
    }

    #[test]
    fn a_client_is_shown_as_an_operator_types_it() {
        let facts = Facts {
            address: Some([203, 0, 113, 9].into()),
            user: Some("42"),
            ..Facts::new("GET", "/search?q=1")
        };
        for (keys, said) in [
            ("[user]", "user:42"),
            ("['ip:address']", "ip:203.0.113.9"),
            ("['ip:prefix/24']", "ip:203.0.113.0/24"),
            ("[user, path]", "user=42,path=/search"),
            ("['header:x-api-key']", "anonymous"),
        ] {
            assert_eq!(text_of(keys, &facts), (said.to_owned(), true), "{keys}");
        }
    }

    #[test]
    fn nothing_a_client_sends_breaks_the_line_or_makes_it_long() {
        let evil = Facts { user: Some("a\u{1b}[2Jb\nc"), ..Facts::new("GET", "/") };
        let (text, is_read) = text_of("[user]", &evil);
        assert!(is_read && !text.chars().any(char::is_control), "{text:?}");
        let long = "x".repeat(400);
        let (text, _) = text_of("[user]", &Facts { user: Some(&long), ..Facts::new("GET", "/") });
        assert!(text.starts_with("user:xxx") && text.ends_with(CUT), "{text}");
        assert_eq!(text.chars().count(), CLIENT_CHARS_MAX);
    }
}
