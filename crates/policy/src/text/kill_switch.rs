//! `kill_switches`: what is refused until further notice (P7).

use crate::{Condition, KillSwitch, Source};

use super::fields::Fields;
use super::found::Found;
use super::rule_name::{self, Names};
use super::tree::{Kind, Node};
use super::{choice, date, short_form};

const FIELDS: [&str; 11] = [
    "name",
    "reason",
    "until",
    "match",
    "plan",
    "path",
    "method",
    "host",
    "case_sensitive",
    "strict_slash",
    "strict_method",
];
/// Most kill switches in a policy.
const SWITCHES_MAX: usize = 256;
/// Longest reason.
const REASON_BYTES_MAX: usize = 512;

/// Reads the list of kill switches; `None` after a mistake.
pub(super) fn read(node: &Node<'_>, found: &mut Found) -> Option<Vec<KillSwitch>> {
    let Kind::List(items) = &node.kind else {
        let cure =
            "write a list, as in `kill_switches: [{name: stop-exports, path: /export, reason: overload}]`";
        found.unfit(node, "kill_switches", "a list", cure);
        return None;
    };
    if items.len() > SWITCHES_MAX {
        found.add(
            node.head(),
            format!("there are {} kill switches", items.len()),
            format!("use at most {SWITCHES_MAX}"),
        );
        return None;
    }
    let mut names = Names::default();
    let switches: Vec<Option<KillSwitch>> = items.iter().map(|item| one(item, &mut names, found)).collect();
    switches.into_iter().collect()
}

fn one(node: &Node<'_>, names: &mut Names, found: &mut Found) -> Option<KillSwitch> {
    let mut fields = Fields::of(
        node,
        "a kill switch",
        "write `{name: stop-exports, path: /export, reason: overload}`",
        found,
    )?;
    let name_node = fields.need("name", "this kill switch", "add `name`", found);
    let name = name_node.and_then(|node| rule_name::read_own(node, "name", found));
    if let (Some(name), Some(node)) = (&name, name_node) {
        names.take(name, "kill switch", true, node.place, found);
    }
    let cure = "add why, for those who are refused, as in `reason: maintenance`";
    let reason = fields.need("reason", "this kill switch", cure, found);
    let reason = reason.and_then(|node| choice::text(node, "reason", REASON_BYTES_MAX, found));
    let until = fields.take("until").map(|node| date::read(node, "until", found));
    let condition: Option<Condition> = short_form::read(&mut fields, found);
    fields.refuse_rest("a kill switch", &FIELDS, found);
    let until_unix_s = match until {
        Some(until) => Some(until?),
        None => None,
    };
    Some(KillSwitch {
        name: name?,
        condition: condition?,
        reason: reason?.into(),
        until_unix_s,
        trusts_upstream_claims: false,
        source: Source::File,
        line: node.head().line,
    })
}
