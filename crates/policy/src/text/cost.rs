//! What a request costs (P6): `cost_source`, `fixed_cost`, `default_cost`, `min_cost`, `max_cost`.

use tollgate_core::{Cost, Tokens};

use crate::{CostPlan, CostSource, MethodSet};

use super::fields::Fields;
use super::found::Found;
use super::tree::{Kind, Node, Place, cut};
use super::{condition, decimal, did_you_mean, key_source, tokens};

/// Bytes to a token, unless told otherwise: one.
const BYTES_PER_TOKEN: u64 = 1;
const SOURCES: [&str; 5] = ["fixed", "header:<name>", "query:<name>", "request_bytes", "method"];

/// An amount and where it stands.
type Placed = (Cost, Place);

/// Reads the cost of a rule whose bucket holds `full`, if the bucket is sound. `fallback` is where the cost comes from if
/// the rule does not say.
pub(super) fn read(
    fields: &mut Fields<'_, '_>,
    full: Option<Tokens>,
    fallback: CostSource,
    found: &mut Found,
) -> Option<CostPlan> {
    let faults = found.count();
    let per_method = fields.take("cost_per_method").map(|node| (node.head(), per_method(node, full, found)));
    let bytes = fields
        .take_with_place("bytes_per_token")
        .map(|(place, node)| (place, decimal::whole(node, "bytes_per_token", 1, u64::from(u32::MAX), found)));
    let source = fields.take("cost_source").map(|node| (node.place, source(node, found)));
    let mut amount = |name| {
        fields
            .take(name)
            .and_then(|node| Some((Cost::micros(tokens::micros(node, name, "1", found)?), node.place)))
    };
    let (fixed, default) = (amount("fixed_cost"), amount("default_cost"));
    let (min, max) = (amount("min_cost"), amount("max_cost"));

    let (source_place, source) = match source {
        Some((place, source)) => (place, source?),
        None if per_method.is_some() => (fields.head, CostSource::PerMethod(Vec::new())),
        None if bytes.is_some() => (fields.head, CostSource::RequestBytes { per_token: BYTES_PER_TOKEN }),
        None if fixed.is_some() => (fields.head, CostSource::Fixed),
        None => (fields.head, fallback),
    };
    let source = match (source, per_method, bytes) {
        (CostSource::PerMethod(_), Some((_, costs)), None) => CostSource::PerMethod(costs?),
        (CostSource::PerMethod(_), None, _) => {
            found.add(
                source_place,
                "`cost_source` is `method`, and no method has a cost",
                "add `cost_per_method: {GET: 1, POST: 5}`",
            );
            return None;
        }
        (CostSource::RequestBytes { .. }, None, Some((_, per_token))) => {
            CostSource::RequestBytes { per_token: per_token? }
        }
        (_, Some((place, _)), _) => {
            found.add(
                place,
                "`cost_per_method` has no effect with this `cost_source`",
                "delete one of the two",
            );
            return None;
        }
        (_, _, Some((place, _))) => {
            found.add(
                place,
                "`bytes_per_token` has no effect with this `cost_source`",
                "write `cost_source: request_bytes`, or delete it",
            );
            return None;
        }
        (source, None, None) => source,
    };
    let plan = plan(source, full, [fixed, default, min, max], found);
    (found.count() == faults).then_some(plan?)
}

/// Puts the amounts together, and holds them against each other and the bucket.
fn plan(
    source: CostSource,
    full: Option<Tokens>,
    amounts: [Option<Placed>; 4],
    found: &mut Found,
) -> Option<CostPlan> {
    let [fixed, default, min, max] = amounts;
    if let (Some((_, place)), false) = (fixed, source == CostSource::Fixed) {
        found.add(
            place,
            "`fixed_cost` has no effect with this `cost_source`",
            "write `default_cost`: what is charged when the source gives no number",
        );
    }
    if let (Some((least, _)), Some((most, place))) = (min, max)
        && least > most
    {
        found.add(place, format!("`max_cost` is {most}, below `min_cost`, which is {least}"), "swap them");
    }
    let default = match source {
        CostSource::Fixed => {
            fixed.map(|cost| ("fixed_cost", cost)).or(default.map(|cost| ("default_cost", cost)))
        }
        _ => default.map(|cost| ("default_cost", cost)),
    };
    for (name, (cost, place)) in default.into_iter().chain(min.map(|cost| ("min_cost", cost))) {
        above_full(name, cost, place, full, found);
    }
    if let Some((name, (cost, place))) = default {
        if max.is_some_and(|(most, _)| cost > most) {
            found.add(
                place,
                format!("`{name}` is {cost}, above `max_cost`"),
                format!("raise `max_cost`, or lower `{name}`"),
            );
        }
        if min.is_some_and(|(least, _)| cost < least) {
            found.add(
                place,
                format!("`{name}` is {cost}, below `min_cost`"),
                format!("lower `min_cost`, or raise `{name}`"),
            );
        }
    }
    let cost = default.map_or(Cost::ONE, |(_, (cost, _))| cost);
    let full = Cost::micros(full?.as_micros());
    if source == CostSource::Fixed {
        return Some(CostPlan { source, default: cost, min: cost, max: cost });
    }
    let cheapest = match &source {
        CostSource::PerMethod(costs) => costs.iter().map(|(_, cost)| *cost).fold(cost, Cost::min),
        _ => cost,
    };
    let max = max.map_or(full, |(most, _)| most);
    let min = min.map_or(cheapest.min(max), |(least, _)| least);
    Some(CostPlan { source, default: cost.clamp(min.min(max), max), min, max })
}

fn above_full(name: &str, cost: Cost, place: Place, full: Option<Tokens>, found: &mut Found) {
    if let Some(full) = full.filter(|full| Tokens::from(cost) > *full) {
        let what =
            format!("`{name}` is {cost}, and a full bucket holds {full}: no request would ever be admitted");
        found.add(place, what, "lower the cost, or let the bucket hold more");
    }
}

fn source(node: &Node<'_>, found: &mut Found) -> Option<CostSource> {
    let text = node.scalar().unwrap_or_default();
    let named = text.split_once(':');
    match (text, named) {
        ("fixed", _) => Some(CostSource::Fixed),
        ("request_bytes", _) => Some(CostSource::RequestBytes { per_token: BYTES_PER_TOKEN }),
        ("method", _) => Some(CostSource::PerMethod(Vec::new())),
        (_, Some(("header", name))) => match key_source::header_name(name) {
            Ok(name) => Some(CostSource::Header(name)),
            Err(cure) => {
                found.add(node.place, format!("`cost_source` names no header: `{}`", cut(text)), cure);
                None
            }
        },
        (_, Some(("query", name))) if !name.is_empty() && name.len() <= 128 => {
            Some(CostSource::Query(name.into()))
        }
        _ => {
            let kind = named
                .and_then(|(kind, name)| Some((did_you_mean::nearest(kind, ["header", "query"])?, name)));
            let cure = match (kind, did_you_mean::nearest(text, SOURCES)) {
                (Some((kind, name)), _) => format!("did you mean `{kind}:{}`?", cut(name)),
                (None, Some(word)) => format!("did you mean `{word}`?"),
                (None, None) => format!("write one of {}", did_you_mean::listed(&SOURCES)),
            };
            found.unfit(node, "cost_source", "where a cost can come from", cure);
            None
        }
    }
}

/// `{GET: 1, POST: 5}`, or several methods to one cost: `{"GET,HEAD": 1}`.
fn per_method(
    node: &Node<'_>,
    full: Option<Tokens>,
    found: &mut Found,
) -> Option<Vec<(crate::MethodSet, Cost)>> {
    let Kind::Map(entries) = &node.kind else {
        found.unfit(
            node,
            "cost_per_method",
            "a mapping",
            "write methods and their costs, as in `cost_per_method: {GET: 1, POST: 5}`",
        );
        return None;
    };
    if entries.is_empty() {
        found.add(
            node.place,
            "`cost_per_method` names no method",
            "write methods and their costs, as in `{GET: 1, POST: 5}`",
        );
        return None;
    }
    let mut costs = Vec::new();
    let has_head = entries.iter().any(|(key, _)| key.text.trim().eq_ignore_ascii_case("HEAD"));
    for (key, value) in entries {
        let set = condition::known_method(key.text.trim(), key.place, found);
        // `HEAD` costs as much as `GET` unless it has a cost of its own.
        let is_get = set == Some(MethodSet::of("GET"));
        let set = set.map(|set| if is_get && !has_head { set.with(MethodSet::of("HEAD")) } else { set });
        let cost = tokens::micros(value, "cost_per_method", "1", found).map(Cost::micros);
        if let Some(cost) = cost {
            above_full(&key.text, cost, value.place, full, found);
        }
        costs.push(set.zip(cost));
    }
    costs.into_iter().collect()
}
