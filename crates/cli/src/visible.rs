//! Text that somebody else wrote, as it may be shown: what a terminal would obey, or would hide, stands there in letters.
//!
//! Promises that no key, name or reason can move the cursor, colour the screen or turn the line round. Loses nothing: every character can
//! still be told from every other.

use std::borrow::Cow;
use std::fmt::Write;

use tollgate_records::is_unseen;

/// The text as one line: controls, line ends among them, are written out as in Rust, `\n`, `\x1b` or `\u{202e}`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c.is_ascii() && is_unseen(c) => {
                let _ = write!(shown, "\\x{:02x}", u32::from(c));
            }
            c if is_unseen(c) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// The same of a text that may have several lines: its line ends stay.
pub(crate) fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// The same of a JSON document, which stays one: escapes of JSON, and none outside of strings, where there is nothing to escape.
pub(crate) fn visible_json(document: &str) -> String {
    let mut shown = String::with_capacity(document.len());
    for c in document.chars() {
        if c == '\n' || !is_unseen(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\nc\r\t\u{7f}\0"), "a\\x1b[31mb\\nc\\r\\t\\x7f\\x00");
        assert_eq!(visible("\u{9b}2J"), "\\u{9b}2J", "the short way to begin an escape");
        assert_eq!(visible("\u{1b}]0;title\u{7}"), "\\x1b]0;title\\x07");
    }

    #[test]
    fn a_text_cannot_hide_or_turn_itself_round() {
        assert_eq!(visible("user\u{202e}nimda\u{200b}"), "user\\u{202e}nimda\\u{200b}");
        assert_eq!(visible("\u{feff}a\u{2028}b\u{e0041}"), "\\u{feff}a\\u{2028}b\\u{e0041}");
    }

    #[test]
    fn what_is_seen_anyhow_stays_as_it_is() {
        for text in ["user:42", "Zoë 日本 🦀", "C:\\keys", ""] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn lines_stay_lines_where_they_are_meant() {
        assert_eq!(visible_lines("a\n  ^ b\u{1b}"), "a\n  ^ b\\x1b");
    }

    #[test]
    fn a_document_means_the_same_and_steers_nothing() {
        let value = serde_json::json!({ "key": "a\u{1b}[0m\u{9b}\u{202e}\u{e0041}\u{7f}é" });
        let shown = visible_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!shown.contains(|c| c != '\n' && is_unseen(c)), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
