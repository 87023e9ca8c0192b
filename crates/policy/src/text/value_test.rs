//! What a value must be: one, a list, `{regex: …}`, `{cidr: …}` or `{present: true}`.

use std::net::IpAddr;

use crate::regex::Refusal;
use crate::{Condition, KeySource, Regex, ValueTest};

use super::fields::Fields;
use super::found::{Found, PATTERNS_FIX};
use super::tree::{Kind, Node, cut};
use super::{choice, network};

/// Longest regex, as text.
const REGEX_TEXT_BYTES_MAX: usize = 1_024;
/// Longest value to compare with.
const VALUE_BYTES_MAX: usize = 512;

const KINDS: [&str; 3] = ["regex", "cidr", "present"];
const CURE: &str = "write a value, a list of values, `{regex: …}`, `{cidr: […]}` or `{present: true}`";

/// The test that a source's value must pass, or a mistake.
pub(super) fn read(source: &KeySource, node: &Node<'_>, found: &mut Found) -> Option<Condition> {
    let field = source.to_string();
    if let Kind::Map(_) = &node.kind {
        return spelt_out(source, &field, node, found);
    }
    if matches!(source, KeySource::Prefix { .. }) {
        found.add(
            node.head(),
            format!("`{field}` cannot be compared with a value"),
            "write `ip:address: {cidr: [10.0.0.0/8]}`",
        );
        return None;
    }
    let items = choice::items(node, &field, found);
    let values: Vec<Option<Box<str>>> = items.iter().map(|item| value(source, &field, item, found)).collect();
    let values = values.into_iter().collect::<Option<Vec<_>>>().filter(|values| !values.is_empty())?;
    Some(Condition::Value(source.clone(), ValueTest::OneOf(values)))
}

fn value(source: &KeySource, field: &str, node: &Node<'_>, found: &mut Found) -> Option<Box<str>> {
    let Some(text) = node.scalar().filter(|_| !node.is_null()) else {
        found.unfit(node, field, "a value", CURE);
        return None;
    };
    if text.len() > VALUE_BYTES_MAX {
        found.add(
            node.place,
            format!("the value is {} bytes long", text.len()),
            format!("use at most {VALUE_BYTES_MAX}"),
        );
        return None;
    }
    let is_trimmed = matches!(source, KeySource::Header(_) | KeySource::Cookie(_));
    let seen = if is_trimmed { text.trim_ascii() } else { text };
    if seen.is_empty() {
        let what = format!("`{field}` can never be empty: what is empty counts as missing");
        let cure = format!("write a value; for requests without it, `{field}: {{present: false}}`");
        found.add(node.place, what, cure);
        return None;
    }
    if seen != text {
        let what = format!("`{field}` is seen without the blanks around it, so it is never `{}`", cut(text));
        found.add(node.place, what, format!("write `{}`", cut(seen)));
        return None;
    }
    if *source != KeySource::Address {
        return Some(text.into());
    }
    match text.parse::<IpAddr>() {
        // As requests' addresses are compared: IPv4 is IPv4 however it was written.
        Ok(address) => Some(address.to_canonical().to_string().into()),
        Err(_) if text.contains('/') => {
            found.add(
                node.place,
                format!("`{}` is a network, not an address", cut(text)),
                format!("write `{field}: {{cidr: [{}]}}`", cut(text)),
            );
            None
        }
        Err(_) => {
            found.unfit(node, field, "an address", "write an address, as in `192.0.2.7` or `2001:db8::7`");
            None
        }
    }
}

fn spelt_out(source: &KeySource, field: &str, node: &Node<'_>, found: &mut Found) -> Option<Condition> {
    let mut fields = Fields::of(node, field, CURE, found)?;
    let given: Vec<_> =
        KINDS.iter().filter_map(|kind| fields.take(kind).map(|value| (*kind, value))).collect();
    fields.refuse_rest(&format!("the test of `{field}`"), &KINDS, found);
    let [(kind, value)] = given[..] else {
        if given.len() > 1 || node.entries().is_some_and(<[_]>::is_empty) {
            let what = format!("the test of `{field}` has {} kinds", given.len());
            found.add(
                node.head(),
                what,
                "write one of `regex`, `cidr` or `present`; several tests go into `all: […]`",
            );
        }
        return None;
    };
    let test = |test| Condition::Value(source.clone(), test);
    match kind {
        "regex" => regex(value, found).map(|regex| test(ValueTest::Matches(regex))),
        "cidr" => network::read(value, "cidr", found).map(|networks| test(ValueTest::Within(networks))),
        _ => {
            let present = test(ValueTest::Present);
            let is_meant = choice::truth(value, "present", found)?;
            Some(if is_meant { present } else { Condition::Not(Box::new(present)) })
        }
    }
}

fn regex(node: &Node<'_>, found: &mut Found) -> Option<Regex> {
    let text = choice::text(node, "regex", REGEX_TEXT_BYTES_MAX, found)?;
    match found.patterns.compile(text) {
        Ok(regex) => return Some(regex),
        Err(Refusal::Fault(fault)) => found.add(node.place, fault.what(), fault.fix()),
        Err(Refusal::Spent(what)) => found.add_once(node.place, what, PATTERNS_FIX),
        Err(Refusal::Stopped) => found.note_stop(node.place),
    }
    None
}
