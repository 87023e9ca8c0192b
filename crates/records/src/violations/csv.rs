//! A violation as a line of CSV (RFC 4180), harmless in a spreadsheet.
//!
//! Every text stands in quotes, and those within are doubled; lines end in CRLF. A text that a spreadsheet could take for a formula, because it begins
//! with one of `= + - @`, their wide forms, a tab or a line break, gets a `'` before it. Numbers and times are ours, and stand as they are.

use std::fmt::Write as _;

use super::ViolationRecord;

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
    for character in text.chars() {
        if character == '"' {
            csv.push('"');
        }
        csv.push(character);
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
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1", "－1"] {
            shown(formula, &format!("\"'{formula}\""));
        }
        shown("=HYPERLINK(\"http://x\")", "\"'=HYPERLINK(\"\"http://x\"\")\"");
        shown("user:=1", "\"user:=1\"");
    }
}
