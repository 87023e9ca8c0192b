//! Violations as lines.

use serde::Deserialize;
use serde_json::Value;

use super::ViolationsFlags;
use crate::admin::{self, AdminDoor};
use crate::format::{self, Format};
use crate::listing::Listing;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};
use crate::visible::visible;
use crate::when;

/// What the server lists.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ViolationsTold {
    pub(super) violations: Vec<ViolationTold>,
    cursor: Option<String>,
}

/// One of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ViolationTold {
    pub(super) violation_id: i64,
    pub(super) requested_at: String,
    rule: String,
    bucket_key: String,
    user: Option<String>,
    address: Option<String>,
    endpoint: Option<String>,
    tokens_at_time: Value,
    reason: String,
    sampled_for: u64,
}

pub(super) fn page(door: &AdminDoor, flags: &ViolationsFlags, screen: &Screen) -> Result<Page, Problem> {
    let target = flags.target(&["violations"]).with("cursor", flags.cursor.as_deref());
    let answer = door.get(&target.with("limit", Some(flags.limit)))?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => table(&admin::read(&answer)?, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

fn table(list: &ViolationsTold, ink: Ink) -> String {
    if list.violations.is_empty() {
        return "No violation is on record that fits.\n".to_owned();
    }
    let mut text = lines(list.violations.iter()).text(ink);
    if let Some(cursor) = &list.cursor {
        text.push_str(&ink.faint(&format!("Earlier ones: the same with --cursor {}", visible(cursor))));
        text.push('\n');
    }
    text
}

/// Violations in columns.
pub(super) fn lines<'v>(violations: impl Iterator<Item = &'v ViolationTold>) -> Listing {
    let mut listing =
        Listing::new(&["WHEN", "RULE", "KEY", "USER", "ADDRESS", "ENDPOINT", "LEFT#", "STANDS FOR#", "WHY"]);
    for violation in violations {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let left = match &violation.tokens_at_time {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let cells = [
            when::shown(&violation.requested_at),
            violation.rule.clone(),
            violation.bucket_key.clone(),
            text(&violation.user),
            text(&violation.address),
            text(&violation.endpoint),
            left,
            violation.sampled_for.to_string(),
            violation.reason.clone(),
        ];
        listing.push(cells.iter().map(String::as_str));
    }
    listing
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_cannot_steer_the_terminal_of_who_looks_at_it() {
        let list: ViolationsTold = serde_json::from_value(json!({
            "violations": [{
                "violation_id": 1, "bucket_key": "user:\u{1b}]0;x\u{7}", "user": "\u{202e}nimda", "address": "192.0.2.7",
                "endpoint": "/a\r\n/b", "requested_at": "2026-11-16T05:00:00.000000Z", "tokens_at_time": 0.5, "rule": "api",
                "cost": 1, "reason": "rate_limited", "door": "http", "sampled_for": 3
            }],
            "cursor": "abc"
        }))
        .unwrap();
        let expected = "\
WHEN                  RULE  KEY                  USER           ADDRESS    ENDPOINT    LEFT  STANDS FOR  WHY
2026-11-16T05:00:00Z  api   user:\\x1b]0;x\\x07  \\u{202e}nimda  192.0.2.7  /a\\r\\n/b   0.5           3  rate_limited
Earlier ones: the same with --cursor abc
";
        let text = table(&list, Ink::Plain);
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&text), squeezed(expected));
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}
