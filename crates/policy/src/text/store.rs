//! `store`, and `consistency` and `on_store_failure` of rules: what a store needs to know that several instances share.

use tollgate_core::Span;

use crate::store_settings::{AWAY_AFTER, DEADLINE, INSTANCES_MAX, LEASE};
use crate::{Consistency, LocalStart, OnStoreFailure, StoreSettings};

use super::fields::Fields;
use super::found::Found;
use super::tree::Node;
use super::{choice, decimal, did_you_mean, span};

pub(super) const FIELDS: [&str; 6] =
    ["deadline", "away_after", "instances_max", "local_start", "lease", "hash_tag"];
/// What rules say of the store.
pub(super) const FIELDS_OF_RULES: [&str; 2] = ["consistency", "on_store_failure"];

/// Longest hash tag: it is in every key.
const HASH_TAG_BYTES_MAX: usize = 64;

/// Reads the settings; `None` after a mistake.
pub(super) fn read(node: &Node<'_>, found: &mut Found) -> Option<StoreSettings> {
    let cure = "write `store: {deadline: 15ms, instances_max: 8}`";
    let mut fields = Fields::of(node, "`store`", cure, found)?;
    let usual = StoreSettings::default();
    let deadline = fields
        .take("deadline")
        .map_or(Some(usual.deadline), |node| within(node, "deadline", "15ms", DEADLINE, found));
    let away_after = match fields.take("away_after") {
        Some(node) => away_after(node, deadline.unwrap_or(usual.deadline), found),
        None => Some(usual.away_after.max(deadline.unwrap_or(usual.deadline))),
    };
    let instances = fields.take("instances_max").map(|node| instances(node, found));
    let starts = [LocalStart::Full, LocalStart::Empty].map(|start| (start.name(), start));
    let local_start = fields
        .take("local_start")
        .map_or(Some(usual.local_start), |node| choice::one_of(node, "local_start", &starts, found));
    let lease =
        fields.take("lease").map_or(Some(usual.lease), |node| within(node, "lease", "400ms", LEASE, found));
    let hash_tag = fields.take("hash_tag").map(|node| hash_tag(node, found));
    refuse_fields_of_rules(&mut fields, "`store`", found);
    fields.refuse_rest("`store`", &FIELDS, found);
    Some(StoreSettings {
        deadline: deadline?,
        away_after: away_after?,
        instances_max: match instances {
            Some(instances) => Some(instances?),
            None => None,
        },
        local_start: local_start?,
        lease: lease?,
        hash_tag: match hash_tag {
            Some(tag) => Some(tag?),
            None => None,
        },
    })
}

/// What each rule says for itself stands nowhere else.
pub(super) fn refuse_fields_of_rules(fields: &mut Fields<'_, '_>, owner: &str, found: &mut Found) {
    for (name, place) in fields.take_left(&FIELDS_OF_RULES) {
        let cure = format!("move `{name}` into the rules that it is meant for");
        found.add(place, format!("{owner} has no field `{name}`"), cure);
    }
}

/// `exact` or `leased`, or a mistake.
pub(super) fn consistency(node: &Node<'_>, found: &mut Found) -> Option<Consistency> {
    let words = [Consistency::Exact, Consistency::Leased].map(|word| (word.name(), word));
    let cure = match flat(node).as_str() {
        "strong" | "strict" | "linearizable" | "sync" | "synchronous" | "global" => {
            "write `consistency: exact`, or delete the field: it is the default"
        }
        "eventual" | "weak" | "approximate" | "async" | "local" | "cached" | "batched" => {
            "write `consistency: leased`: fewer round trips, and the same bound"
        }
        _ => return choice::one_of(node, "consistency", &words, found),
    };
    found.add(node.place, format!("`consistency` cannot be {}", node.described()), cure);
    None
}

/// `open`, `closed` or `local`, or a mistake.
pub(super) fn on_store_failure(node: &Node<'_>, found: &mut Found) -> Option<OnStoreFailure> {
    use OnStoreFailure::{Closed, Local, Open};
    let words = [Open, Closed, Local].map(|word| (word.name(), word));
    let cure = match flat(node).as_str() {
        "failopen" | "allow" | "admit" | "pass" | "ignore" | "skip" => "write `on_store_failure: open`",
        "failclosed" | "failclose" | "close" | "deny" | "block" | "reject" | "refuse" | "error" => {
            "write `on_store_failure: closed`"
        }
        "memory" | "inmemory" | "fallback" | "degrade" => {
            "write `on_store_failure: local`, or delete the field: it is the default"
        }
        _ => return choice::one_of(node, "on_store_failure", &words, found),
    };
    found.add(node.place, format!("`on_store_failure` cannot be {}", node.described()), cure);
    None
}

/// The word without capitals, dashes and underscores.
fn flat(node: &Node<'_>) -> String {
    let text = node.scalar().filter(|text| text.len() <= HASH_TAG_BYTES_MAX).unwrap_or_default();
    did_you_mean::flat(text).into_iter().collect()
}

/// A length of time between two others, or a mistake.
fn within(
    node: &Node<'_>,
    field: &str,
    example: &str,
    (least, most): (Span, Span),
    found: &mut Found,
) -> Option<Span> {
    let span = span::read(node, field, example, found)?;
    if span < least || span > most {
        let side = if span < least { "less than" } else { "more than" };
        let bound = if span < least { least } else { most };
        let what = format!("`{field}` is {}, {side} {bound}", node.described());
        found.add(node.place, what, format!("write {least} to {most}, as in `{field}: {example}`"));
        return None;
    }
    Some(span)
}

/// The time without any reply after which the store counts as unreachable: no shorter than one call may take.
fn away_after(node: &Node<'_>, deadline: Span, found: &mut Found) -> Option<Span> {
    let span = within(node, "away_after", "250ms", AWAY_AFTER, found)?;
    if span < deadline {
        let what = format!("`away_after` is {}, less than the `deadline` of {deadline}", node.described());
        found.add(
            node.place,
            what,
            format!("write `away_after: {deadline}` or longer, or a shorter `deadline`"),
        );
        return None;
    }
    Some(span)
}

fn instances(node: &Node<'_>, found: &mut Found) -> Option<u32> {
    let whole = decimal::whole(node, "instances_max", 1, u64::from(INSTANCES_MAX), found)?;
    u32::try_from(whole).ok()
}

/// A text that can stand between the braces of a key.
fn hash_tag(node: &Node<'_>, found: &mut Found) -> Option<Box<str>> {
    let text = choice::text(node, "hash_tag", HASH_TAG_BYTES_MAX, found)?;
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    if !text.bytes().all(is_fit) {
        let bare = text.trim_start_matches('{').trim_end_matches('}');
        let cure = if !bare.is_empty() && bare.bytes().all(is_fit) {
            format!("write it without braces: `hash_tag: {bare}`")
        } else {
            "use letters, digits, `-`, `_`, `.` and `:`, as in `hash_tag: shop`".to_owned()
        };
        found.unfit(node, "hash_tag", "a hash tag", cure);
        return None;
    }
    Some(text.into())
}
