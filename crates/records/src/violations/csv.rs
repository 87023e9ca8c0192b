//! A violation as a line of CSV (RFC 4180), harmless in a spreadsheet.
//!
//! Every text stands in quotes, and those within are doubled; lines end in CRLF. A text that a spreadsheet could take for a formula, because it begins
//! with one of `= + - @`, their wide forms, a tab or a line break, gets a `'` before it. What a terminal would obey, or would hide, is written out as
//! in Rust: `\x1b`, `\u{202e}`; tabs and line breaks stay. Numbers and times are ours, and stand as they are.

use std::fmt::Write as _;

use super::ViolationRecord;
use crate::is_unseen;

/// The first line.
pub(super) const HEADER: &str = "violation_id,requested_at,rule,bucket_key,user,address,endpoint,tokens_at_time,cost,reason,\
    door,sampled_for\r\n";

/// What makes a formula of a text.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Appends one line.
pub(super) fn push_line(csv: &mut String, violation: &ViolationRecord) {
    let id = violation.violation_id.unwrap_or_default();
    // Writing to a text cannot fail.
    let _ = write!(csv, "{id},{},", violation.requested_at);
    for text in [Some(&violation.rule), Some(&violation.bucket_key)] {
        push_text(csv, text);
        csv.push(',');
    }
    for text in [&violation.user, &violation.address, &violation.endpoint] {
        push_text(csv, text.as_ref());
        csv.push(',');
    }
    let _ = write!(csv, "{},{},", violation.tokens_at_time, violation.cost);
    for text in [&violation.reason, &violation.door] {
        push_text(csv, Some(text));
        csv.push(',');
    }
    let _ = write!(csv, "{}\r\n", violation.sampled_for);
}

/// A text in quotes; nothing at all for none.
fn push_text(csv: &mut String, text: Option<&String>) {
    let Some(text) = text else { return };
    csv.push('"');
    if text.trim_start_matches(' ').starts_with(FORMULA) {
        csv.push('\'');
    }
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => csv.push_str("\"\""),
            '\n' | '\t' => csv.push(character),
            '\r' if characters.peek() == Some(&'\n') => csv.push(character),
            '\r' => csv.push_str("\\r"),
            _ if is_unseen(character) && character.is_ascii() => {
                let _ = write!(csv, "\\x{:02x}", u32::from(character));
            }
            _ if is_unseen(character) => {
                let _ = write!(csv, "\\u{{{:x}}}", u32::from(character));
            }
            _ => csv.push(character),
        }
    }
    csv.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(text: &str, expected: &str) {
        let mut csv = String::new();
        push_text(&mut csv, Some(&text.to_owned()));
        assert_eq!(csv, expected);
    }

    #[test]
    fn quotes_separators_and_line_breaks_stay_within_their_field() {
        shown("plain", "\"plain\"");
        shown("a,b", "\"a,b\"");
        shown("say \"hi\"", "\"say \"\"hi\"\"\"");
        shown("two\r\nlines", "\"two\r\nlines\"");
        shown("", "\"\"");
    }

    #[test]
    fn a_formula_is_made_a_text() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=1", "\n=1", "  =1", "＝1", "－1"] {
            shown(formula, &format!("\"'{formula}\""));
        }
        shown("=HYPERLINK(\"http://x\")", "\"'=HYPERLINK(\"\"http://x\"\")\"");
        shown("user:=1", "\"user:=1\"");
    }

    #[test]
    fn a_text_cannot_steer_the_terminal_or_turn_itself_round() {
        shown("a\u{1b}[31mb\u{9b}2J\0", "\"a\\x1b[31mb\\u{9b}2J\\x00\"");
        shown("user\u{202e}nimda\u{200b}", "\"user\\u{202e}nimda\\u{200b}\"");
        shown("\r=1", "\"'\\r=1\"");
        shown("Zoë 日本 🦀", "\"Zoë 日本 🦀\"");
    }
}
