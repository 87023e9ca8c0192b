//! `match`: which requests are meant (P3). Several fields all have to hold.

use crate::{Condition, HostPattern, KeySource, MethodSet};

use super::fields::Fields;
use super::found::Found;
use super::path::Strictness;
use super::tree::{Kind, Node, Place, cut};
use super::{choice, did_you_mean, foreign_names, key_source, path, value_test};

const FIELDS: [&str; 6] = ["path", "method", "host", "any", "all", "not"];
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
const CURE: &str = "write fields and what they must be, as in `match: {path: /api/*, method: POST}`";

/// The condition that a mapping describes. An empty one is every request.
pub(super) fn read(node: &Node<'_>, strictness: Strictness, found: &mut Found) -> Option<Condition> {
    if node.is_null() {
        return Some(Condition::Always);
    }
    let cure = match node.kind {
        Kind::List(_) => {
            "write `match: {any: […]}` if one of them is enough, `match: {all: […]}` if all must hold"
        }
        _ => CURE,
    };
    let fields = Fields::of(node, "`match`", cure, found)?;
    let tests: Vec<Option<Condition>> =
        fields.rest().map(|(key, value)| field(&key.text, key.place, value, strictness, found)).collect();
    tests.into_iter().collect::<Option<Vec<_>>>().map(all_of)
}

/// All of them; without needless nesting.
pub(super) fn all_of(mut tests: Vec<Condition>) -> Condition {
    tests.retain(|test| !matches!(test, Condition::Always));
    match tests.len() {
        0 => Condition::Always,
        1 => tests.remove(0),
        _ => Condition::All(tests),
    }
}

fn field(
    name: &str,
    place: Place,
    value: &Node<'_>,
    strictness: Strictness,
    found: &mut Found,
) -> Option<Condition> {
    match name {
        "path" => path::read(value, strictness, found),
        "method" => method(value, strictness, found),
        "host" => host(value, found),
        "any" => several(value, name, strictness, found).map(Condition::Any),
        "all" => several(value, name, strictness, found).map(all_of),
        "not" => match read(value, strictness, found)? {
            Condition::Always => {
                found.add(value.head(), "`not` holds no test, so nothing would ever match", CURE);
                None
            }
            test => Some(Condition::Not(Box::new(test))),
        },
        _ => {
            let source = source(name, place, found)?;
            value_test::read(&source, value, found)
        }
    }
}

fn source(name: &str, place: Place, found: &mut Found) -> Option<KeySource> {
    if name.starts_with("constant:") {
        found.add(place, "a constant is the same for every request", "delete the test");
        return None;
    }
    if key_source::looks_like_one(name) {
        return key_source::read(name, place, found);
    }
    let what = format!("`match` has no field `{}`", cut(name));
    let cure = match foreign_names::ours(name, &FIELDS) {
        Some(cure) => cure.to_owned(),
        None if did_you_mean::nearest(name, FIELDS).is_some() => did_you_mean::cure(name, &FIELDS),
        None => return key_source::read(name, place, found),
    };
    found.add(place, what, cure);
    None
}

fn several(
    node: &Node<'_>,
    field: &str,
    strictness: Strictness,
    found: &mut Found,
) -> Option<Vec<Condition>> {
    let Kind::List(items) = &node.kind else {
        found.unfit(
            node,
            field,
            "a list",
            format!("write a list of tests, as in `{field}: [{{path: /a}}, {{path: /b}}]`"),
        );
        return None;
    };
    if items.is_empty() {
        found.add(node.place, format!("`{field}` is an empty list"), "write at least one test, or delete it");
        return None;
    }
    let mut tests = Vec::new();
    for item in items {
        match read(item, strictness, found) {
            Some(Condition::Always) => {
                found.add(item.head(), format!("an entry of `{field}` holds no test"), CURE);
                tests.push(None);
            }
            test => tests.push(test),
        }
    }
    tests.into_iter().collect()
}

/// `POST`, or a list of methods. `GET` covers `HEAD`, which servers answer by the same handler, unless the rule says
/// `strict_method: true`.
pub(super) fn method(node: &Node<'_>, strictness: Strictness, found: &mut Found) -> Option<Condition> {
    let items = choice::items(node, "method", found);
    let sets: Vec<Option<MethodSet>> = items.iter().map(|item| method_name(item, found)).collect();
    let sets = sets.into_iter().collect::<Option<Vec<_>>>().filter(|sets| !sets.is_empty())?;
    let set = sets.into_iter().fold(MethodSet::NONE, MethodSet::with);
    let covers_head = set.meets(MethodSet::of("GET")) && !strictness.tells_head_from_get;
    Some(Condition::Method(if covers_head { set.with(MethodSet::of("HEAD")) } else { set }))
}

fn method_name(node: &Node<'_>, found: &mut Found) -> Option<MethodSet> {
    let text = choice::text(node, "method", 64, found)?;
    known_method(text, node.place, found)
}

/// The set of one method, in any case, or a mistake.
pub(super) fn known_method(text: &str, place: Place, found: &mut Found) -> Option<MethodSet> {
    let upper = text.to_ascii_uppercase();
    if MethodSet::is_known(&upper) {
        return Some(MethodSet::of(&upper));
    }
    found.add(
        place,
        format!("`{}` is no method that can be told apart", cut(text)),
        did_you_mean::cure(text, &METHODS),
    );
    None
}

/// A host, `*.example.com`, or a list of them.
pub(super) fn host(node: &Node<'_>, found: &mut Found) -> Option<Condition> {
    let items = choice::items(node, "host", found);
    let hosts: Vec<Option<Condition>> = items.iter().map(|item| host_name(item, found)).collect();
    let mut hosts = hosts.into_iter().collect::<Option<Vec<_>>>().filter(|hosts| !hosts.is_empty())?;
    Some(if hosts.len() == 1 { hosts.remove(0) } else { Condition::Any(hosts) })
}

fn host_name(node: &Node<'_>, found: &mut Found) -> Option<Condition> {
    let text = choice::text(node, "host", 253, found)?;
    let lower = text.trim_end_matches('.').to_ascii_lowercase();
    let (name, is_wild) = lower.strip_prefix("*.").map_or((lower.as_str(), false), |name| (name, true));
    let is_address = name.starts_with('[') && name.ends_with(']') && !is_wild;
    let is_name = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    if !is_address && !name.split('.').all(is_name) {
        let cure = match name {
            "*" => "delete `host`: every host is meant then".to_owned(),
            _ if name.contains("://") => "write the host alone, without `https://`".to_owned(),
            _ if name.contains(':') => "write the host without its port".to_owned(),
            _ if name.contains('*') => {
                "write the star as the first label alone, as in `*.example.com`".to_owned()
            }
            _ => "write a host in ASCII, as in `api.example.com` or `*.example.com`".to_owned(),
        };
        found.unfit(node, "host", "a host", cure);
        return None;
    }
    let below = || HostPattern::Below(format!(".{name}").into());
    Some(Condition::Host(if is_wild { below() } else { HostPattern::Exact(name.into()) }))
}
