//! `tollgate audit`: who changed what, when and why.

use clap::Args;
use serde::Deserialize;

use crate::admin::{self, AdminDoor, Asking, Target};
use crate::format::{self, Format};
use crate::listing::Listing;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};
use crate::when;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  tollgate audit
  tollgate audit --who ann --action rules.apply
  tollgate audit --target 'order 12' -o json

What was before and what is now stands in `-o json`. Lines about tokens are for admins alone. {}", admin::HELP))]
pub(crate) struct AuditFlags {
    /// By whoever has a token of this name, or by one token, as in 'ann (af8883bcff9c2958)'
    #[arg(long, value_name = "WHO", help_heading = "Which")]
    who: Option<String>,
    /// Of this kind, as in rules.apply or order.give
    #[arg(long, value_name = "ACTION", help_heading = "Which")]
    action: Option<String>,
    /// To this, as in 'order 12' or 'version 7'
    #[arg(long, value_name = "TARGET", help_heading = "Which")]
    target: Option<String>,
    /// How many, the newest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// Go on where the list before ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<i64>,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AuditTold {
    lines: Vec<LineTold>,
    cursor: Option<i64>,
}

/// A line of the trail, as the server tells it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LineTold {
    at: String,
    who: String,
    action: String,
    target: String,
    reason: Option<String>,
    source_address: Option<String>,
}

/// Does what was asked.
pub(crate) fn page(flags: &AuditFlags, screen: &Screen) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    let target = Target::new(&["audit"])
        .with("who", flags.who.as_deref())
        .with("action", flags.action.as_deref())
        .with("target", flags.target.as_deref())
        .with("cursor", flags.cursor)
        .with("limit", Some(flags.limit));
    let answer = door.get(&target)?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => table(&admin::read(&answer)?, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

fn table(told: &AuditTold, ink: Ink) -> String {
    let mut listing = Listing::new(&["WHEN", "WHO", "ACTION", "TARGET", "FROM", "WHY"]);
    for line in &told.lines {
        let when = when::shown(&line.at);
        let (from, why) = (line.source_address.as_deref(), line.reason.as_deref());
        let cells = [&when, &line.who, &line.action, &line.target];
        listing.push(cells.map(String::as_str).into_iter().chain([from, why].map(Option::unwrap_or_default)));
    }
    if listing.is_empty() {
        return "Nothing is in the audit trail that fits.\n".to_owned();
    }
    let mut text = listing.text(ink);
    if let Some(cursor) = told.cursor {
        text.push_str(&ink.faint(&format!("Earlier ones: the same with --cursor {cursor}")));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_says_who_did_what_to_what_from_where_and_why() {
        let told: AuditTold = serde_json::from_value(json!({
            "lines": [{
                "audit_id": 7, "at": "2026-11-16T05:00:00.000000Z", "who": "ann (af8883bcff9c2958)", "action": "order.give",
                "target": "order 12", "before": null, "after": "block ip:192.0.2.7", "reason": "ticket\u{1b}[2J",
                "source_address": "127.0.0.1"
            }, {
                "audit_id": 6, "at": "2026-11-16T04:00:00.000000Z", "who": "ann", "action": "policy.reload", "target": "the policy",
                "before": "version 3, 171d7ec45d79", "after": null, "reason": null, "source_address": null
            }],
            "cursor": 6
        }))
        .unwrap();
        let expected = "\
WHEN                  WHO                     ACTION         TARGET      FROM       WHY
2026-11-16T05:00:00Z  ann (af8883bcff9c2958)  order.give     order 12    127.0.0.1  ticket\\x1b[2J
2026-11-16T04:00:00Z  ann                     policy.reload  the policy
Earlier ones: the same with --cursor 6
";
        assert_eq!(table(&told, Ink::Plain), expected);
        assert_eq!(table(&AuditTold::default(), Ink::Plain), "Nothing is in the audit trail that fits.\n");
    }
}
