//! What must come of a step: `expect`, `rules`, `violated`, `would_deny` and `retry_after`.

use tollgate_core::Span;

use crate::text::fields::Fields;
use crate::text::found::Found;
use crate::text::tree::{Kind, Node, cut};
use crate::text::{choice, decimal, did_you_mean, span};
use crate::{Expected, ExpectedWait, Policy};

const CURE: &str = "write `admit`, `deny`, or how many: `{admitted: 10, denied: 1}`";

/// Takes the fields that say what is expected of a step of so many requests.
pub(super) fn read(fields: &mut Fields<'_, '_>, times: u32, policy: &Policy, found: &mut Found) -> Expected {
    let rules: Vec<&str> = policy.rules.iter().map(|rule| &*rule.name).collect();
    let killers: Vec<&str> = policy.kill_switches.iter().map(|switch| &*switch.name).collect();
    let all = [rules.as_slice(), killers.as_slice()].concat();
    let admitted = fields.take("expect").and_then(|node| admitted(node, times, found));
    Expected {
        admitted,
        rules: fields.take("rules").map(|node| names(node, "rules", &rules, found)),
        violated: fields.take("violated").map(|node| names(node, "violated", &all, found)),
        would_deny: fields.take("would_deny").map(|node| names(node, "would_deny", &rules, found)),
        retry_after: fields.take("retry_after").and_then(|node| wait(node, found)),
    }
}

/// How many are admitted: `admit`, `deny`, or counts.
fn admitted(node: &Node<'_>, times: u32, found: &mut Found) -> Option<u32> {
    let Kind::Map(_) = node.kind else {
        return match node.scalar() {
            Some("admit") => Some(times),
            Some("deny") => Some(0),
            _ => {
                found.unfit(node, "expect", "`admit`, `deny` or counts", CURE);
                None
            }
        };
    };
    let mut counts = Fields::of(node, "`expect`", CURE, found)?;
    let mut count = |name: &str, found: &mut Found| {
        let node = counts.take(name)?;
        let count = decimal::whole(node, name, 0, times.into(), found);
        count.and_then(|count| u32::try_from(count).ok())
    };
    let (admitted, denied) = (count("admitted", found), count("denied", found));
    let is_empty = node.entries().is_some_and(<[_]>::is_empty);
    counts.refuse_rest("`expect`", &["admitted", "denied"], found);
    match (admitted, denied) {
        (Some(admitted), Some(denied)) if admitted.checked_add(denied) != Some(times) => {
            let what = format!("{admitted} admitted and {denied} denied do not make up the step's {times}");
            found.add(node.head(), what, "correct one of them, or `times`");
            None
        }
        (Some(admitted), _) => Some(admitted),
        (None, Some(denied)) => times.checked_sub(denied),
        (None, None) => {
            if is_empty {
                found.add(node.place, "`expect` says nothing", CURE);
            }
            None
        }
    }
}

/// Names of rules, each of which must be known. None at all may be expected: `[]`.
fn names(node: &Node<'_>, field: &str, known: &[&str], found: &mut Found) -> Vec<Box<str>> {
    let items = match &node.kind {
        Kind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut names = Vec::new();
    for item in items {
        let Some(name) = choice::text(item, field, super::NAME_BYTES_MAX, found) else { continue };
        if !known.contains(&name) {
            let cure = did_you_mean::cure(name, known);
            found.add(item.place, format!("the policy has no rule `{}`", cut(name)), cure);
        }
        names.push(name.into());
    }
    names
}

/// A wait, with the worth of its last digit.
fn wait(node: &Node<'_>, found: &mut Found) -> Option<ExpectedWait> {
    let wait = span::read(node, "retry_after", "1.5s", found)?;
    let text = node.scalar()?;
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let places = number.trim_end().split_once('.').map_or(0, |(_, places)| places.len());
    let unit = span::unit_nanos(unit).unwrap_or(1);
    let precision = (0..places).fold(unit, |worth, _| worth / 10).max(1);
    Some(ExpectedWait { wait, precision: Span::from_nanos(precision) })
}
