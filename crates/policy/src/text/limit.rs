//! What a rule's bucket allows: the algorithm (A10) and its figures, in `algorithm_config` or in the rule itself.

use tollgate_core::{
    Algorithm, Burst, Concurrency, FixedWindow, LeakyBucket, Limit, SlidingCounter, SlidingLog, Span,
};

use crate::presets::Preset;

use super::fields::Fields;
use super::found::Found;
use super::limit_fault::{self, Figures};
use super::rate::{self, TypedRate};
use super::tree::{Node, Place};
use super::{choice, decimal, fixed_window, span, tokens};

/// Every field that describes a bucket or a cost: what `algorithm_config` may hold.
pub(super) const FIELDS: [&str; 20] = [
    "rate",
    "rps",
    "tokens_per_second",
    "burst",
    "burst_hint",
    "queue",
    "max_wait",
    "quota",
    "window",
    "variant",
    "utc_offset",
    "places",
    "timeout",
    "cost_source",
    "fixed_cost",
    "default_cost",
    "min_cost",
    "max_cost",
    "cost_per_method",
    "bytes_per_token",
];

/// The fields of buckets, and which algorithms have them.
const OWNERS: [(&str, &[Kind]); 13] = [
    ("rate", &[Kind::TokenBucket, Kind::LeakyBucket]),
    ("rps", &[Kind::TokenBucket, Kind::LeakyBucket]),
    ("tokens_per_second", &[Kind::TokenBucket, Kind::LeakyBucket]),
    ("burst", &[Kind::TokenBucket]),
    ("burst_hint", &[Kind::TokenBucket]),
    ("queue", &[Kind::LeakyBucket]),
    ("max_wait", &[Kind::LeakyBucket]),
    ("quota", &[Kind::SlidingWindow, Kind::FixedWindow]),
    ("window", &[Kind::SlidingWindow, Kind::FixedWindow]),
    ("variant", &[Kind::SlidingWindow]),
    ("utc_offset", &[Kind::FixedWindow]),
    ("places", &[Kind::Concurrency]),
    ("timeout", &[Kind::Concurrency]),
];

/// The algorithms, as policies name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    TokenBucket,
    LeakyBucket,
    SlidingWindow,
    FixedWindow,
    Concurrency,
}

pub(super) const KINDS: [(&str, Kind); 5] = [
    ("token_bucket", Kind::TokenBucket),
    ("leaky_bucket", Kind::LeakyBucket),
    ("sliding_window", Kind::SlidingWindow),
    ("fixed_window", Kind::FixedWindow),
    ("concurrency", Kind::Concurrency),
];

/// How a rule gives its burst in multiples of its rate (P8): the name, and of how many seconds of the rate it is.
pub(super) const BURST_HINTS: [(&str, u64); 5] =
    [("interactive", 5), ("strict", 1), ("batch", 10), ("llm-tools", 1), ("burst-credit", 300)];

impl Kind {
    fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// Reads the bucket of a rule, or adds what is wrong with it.
pub(super) fn read(
    fields: &mut Fields<'_, '_>,
    kind: Kind,
    preset: Option<&Preset>,
    found: &mut Found,
) -> Option<Algorithm> {
    let algorithm = match kind {
        Kind::TokenBucket => token_bucket(fields, preset, found),
        Kind::LeakyBucket => leaky_bucket(fields, found),
        Kind::SlidingWindow => sliding_window(fields, found),
        Kind::FixedWindow => fixed_window::read(fields, found),
        Kind::Concurrency => concurrency(fields, found),
    };
    refuse_strangers(fields, kind, found)?;
    algorithm
}

/// Fields of other algorithms.
fn refuse_strangers(fields: &mut Fields<'_, '_>, kind: Kind, found: &mut Found) -> Option<()> {
    let names: Vec<&'static str> = OWNERS.iter().map(|(name, _)| *name).collect();
    let strangers = fields.take_left(&names);
    for (name, place) in &strangers {
        let owners: Vec<&str> = OWNERS
            .iter()
            .filter(|(field, _)| field == name)
            .flat_map(|(_, kinds)| kinds.iter().map(|kind| kind.name()))
            .collect();
        let what = format!("`{name}` is no part of a {}", kind.name());
        let cure = match (kind, *name) {
            (Kind::LeakyBucket, "burst") => "write `queue`: how many may wait".to_owned(),
            (Kind::SlidingWindow | Kind::FixedWindow, "burst" | "rate" | "rps" | "tokens_per_second") => {
                format!(
                    "write `quota` and `window`, as in `quota: 1000` and `window: 1h`; or delete `algorithm: {}`",
                    kind.name()
                )
            }
            _ => format!("delete it, or write `algorithm: {}`", owners.join("` or `algorithm: ")),
        };
        found.add(*place, what, cure);
    }
    strangers.is_empty().then_some(())
}

/// The one rate among its three names. `Err` after a mistake, `Ok(None)` if there is none.
fn typed_rate(fields: &mut Fields<'_, '_>, found: &mut Found) -> Result<Option<TypedRate>, ()> {
    let mut given: Vec<(&'static str, Place, &Node<'_>)> = Vec::new();
    for name in ["rate", "rps", "tokens_per_second"] {
        if let Some((place, node)) = fields.take_with_place(name) {
            given.push((name, place, node));
        }
    }
    given.sort_by_key(|(_, place, _)| place.start);
    match given[..] {
        [] => Ok(None),
        [(name, _, node)] => rate::read(node, name, found).map(Some).ok_or(()),
        [(first, ..), (second, place, _), ..] => {
            let what = format!("`{second}` and `{first}` both give the rate");
            found.add(place, what, "keep one of them; they mean the same");
            Err(())
        }
    }
}

fn token_bucket(
    fields: &mut Fields<'_, '_>,
    preset: Option<&Preset>,
    found: &mut Found,
) -> Option<Algorithm> {
    let rate = typed_rate(fields, found);
    let burst_node = fields.take_with_place("burst");
    let hint_node = fields.take_with_place("burst_hint");
    if let (Some((first, _)), Some((second, _))) = (burst_node, hint_node) {
        let place = if first.start > second.start { first } else { second };
        found.add(place, "`burst` and `burst_hint` both give the burst", "keep one of them");
        return None;
    }
    let burst = burst_node
        .map(|(_, node)| tokens::micros(node, "burst", "50", found).map(|micros| (micros, node.place)));
    let hint = hint_node.map(|(_, node)| choice::one_of(node, "burst_hint", &BURST_HINTS, found));
    let has_burst = burst.is_some() || hint.is_some() || preset.is_some();
    if !has_burst {
        fields.lacks(
            "burst",
            "this token_bucket",
            "add how many tokens a full bucket holds, as in `burst: 50`, or `burst_hint: interactive`",
            found,
        );
    }
    let rate = match (rate, preset) {
        (Ok(Some(rate)), _) => (rate.rate, Some(rate)),
        (Ok(None), Some(preset)) => (preset.rate(), None),
        (Ok(None), None) => {
            let cure = "add how many tokens it gets, as in `rate: 10/s`";
            fields.lacks("rate", "this token_bucket", cure, found);
            return None;
        }
        (Err(()), _) => return None,
    };
    let figures = Figures {
        rate: rate.1.as_ref(),
        amount: burst.flatten().map(|(_, place)| ("burst", place)),
        head: fields.head,
    };
    // One token stands in for a burst that was none, so that a bad rate is found as well.
    let (limit, is_sound) = match (burst, hint, preset) {
        (Some(Some((micros, _))), _, _) => (Limit::new(rate.0, Burst::micros(micros)), true),
        (None, Some(Some(seconds)), _) => (hinted(rate.0, seconds), true),
        (None, None, Some(preset)) => (Limit::new(rate.0, Burst::tokens(preset.burst)), true),
        _ => (Limit::new(rate.0, Burst::tokens(1)), false),
    };
    limit_fault::sound(limit, figures, found).filter(|_| is_sound).map(Algorithm::TokenBucket)
}

/// A burst of so many seconds of the rate, and at least one token, so that a slow rate still admits.
fn hinted(rate: tollgate_core::Rate, seconds: u64) -> Result<Limit, tollgate_core::LimitError> {
    let one = Limit::new(rate, Burst::tokens(1))?;
    if one.minted_in(Span::from_secs(seconds)) <= one.burst() {
        Ok(one)
    } else {
        Limit::with_credit(rate, Span::from_secs(seconds))
    }
}

fn leaky_bucket(fields: &mut Fields<'_, '_>, found: &mut Found) -> Option<Algorithm> {
    let rate = typed_rate(fields, found);
    let queue = fields.need("queue", "this leaky_bucket", "add how many may wait, as in `queue: 100`", found);
    let queue = queue.and_then(|node| Some((tokens::micros(node, "queue", "100", found)?, node.place)));
    let max_wait = fields.take("max_wait").map(|node| span::read(node, "max_wait", "2s", found));
    if matches!(rate, Ok(None)) {
        fields.lacks("rate", "this leaky_bucket", "add how many it lets out, as in `rate: 10/s`", found);
    }
    let (rate, (micros, place)) = (rate.ok().flatten()?, queue?);
    let figures = Figures { rate: Some(&rate), amount: Some(("queue", place)), head: fields.head };
    let bucket = limit_fault::sound(LeakyBucket::new(rate.rate, Burst::micros(micros)), figures, found)?;
    match max_wait {
        Some(wait) => Some(Algorithm::LeakyBucket(bucket.max_wait(wait?))),
        None => Some(Algorithm::LeakyBucket(bucket)),
    }
}

fn sliding_window(fields: &mut Fields<'_, '_>, found: &mut Found) -> Option<Algorithm> {
    let quota = quota(fields, "this sliding_window", found);
    let window =
        fields.need("window", "this sliding_window", "add how far it looks back, as in `window: 1h`", found);
    let window = window.and_then(|node| Some((span::read(node, "window", "1h", found)?, node.place)));
    let variant = fields
        .take("variant")
        .map(|node| choice::one_of(node, "variant", &[("log", true), ("counter", false)], found));
    let ((micros, place), (window, window_place)) = (quota?, window?);
    let figures = Figures { rate: None, amount: Some(("quota", place)), head: window_place };
    let quota = Burst::micros(micros);
    if variant.unwrap_or(Some(true))? {
        limit_fault::sound(SlidingLog::new(quota, window), figures, found).map(Into::into)
    } else {
        limit_fault::sound(SlidingCounter::new(quota, window), figures, found).map(Into::into)
    }
}

/// The quota in micro-tokens and where it stands.
pub(super) fn quota(fields: &mut Fields<'_, '_>, owner: &str, found: &mut Found) -> Option<(u64, Place)> {
    let node = fields.need("quota", owner, "add how much one window admits, as in `quota: 1000`", found)?;
    Some((tokens::micros(node, "quota", "1000", found)?, node.place))
}

fn concurrency(fields: &mut Fields<'_, '_>, found: &mut Found) -> Option<Algorithm> {
    let places = fields.need(
        "places",
        "this concurrency rule",
        "add how many may be at work at a time, as in `places: 10`",
        found,
    );
    let places = places
        .and_then(|node| decimal::whole(node, "places", 1, u64::from(tollgate_core::PLACES_MAX), found));
    let timeout = fields.need(
        "timeout",
        "this concurrency rule",
        "add after what time a place is free again whatever happened, as in `timeout: 60s`",
        found,
    );
    let timeout = timeout.and_then(|node| Some((span::read(node, "timeout", "60s", found)?, node.place)));
    let (timeout, place) = timeout?;
    let figures = Figures { rate: None, amount: None, head: place };
    // One place stands in for places that were no number, so that a bad timeout is found as well.
    let count = places.and_then(|places| u32::try_from(places).ok());
    let limit = limit_fault::sound(Concurrency::new(count.unwrap_or(1), timeout), figures, found);
    count.and(limit).map(Into::into)
}

/// A fixed window of this quota.
pub(super) fn fixed(
    quota: (u64, Place),
    window: tollgate_core::Window,
    found: &mut Found,
) -> Option<Algorithm> {
    let figures = Figures { rate: None, amount: Some(("quota", quota.1)), head: quota.1 };
    limit_fault::sound(FixedWindow::new(Burst::micros(quota.0), window), figures, found).map(Into::into)
}
