//! What was done in each of the last 15 minutes' seconds: overall, and by rule.
//!
//! Memory is bounded: a rule has 11 KB while it has done anything in that time, and there are [`RULES_MAX`] of them.

use std::collections::HashMap;

use serde::Serialize;
use tollgate::Moment;

use super::RULES_MAX;
use super::beat::{Beat, Done, Latency};
use super::ring::{Ring, SECONDS_MAX};

/// Most figures of rules in one answer: of 200 rules five minutes, of fewer all that there is.
const CELLS_MAX: usize = 60_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The last seconds.
#[derive(Debug)]
pub(super) struct History {
    /// When it began; seconds are numbered from here, the first is 1.
    begun: Moment,
    /// The last second that is noted; 0 before the first.
    last: u64,
    /// When that was, in milliseconds since 1970.
    last_ms: u64,
    total: Ring<Cell>,
    /// None where nothing was checked.
    latency: Ring<Option<Latency>>,
    /// Rules that did something and are not among these.
    left_out: Ring<u32>,
    rules: HashMap<Box<str>, OfRule>,
}

/// What was done in a second. A second without a beat is none.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    is_known: bool,
    done: Counts,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    admitted: u32,
    denied: u32,
    shadow: u32,
}

#[derive(Debug)]
struct OfRule {
    counts: Ring<Counts>,
    /// The last second in which it did anything.
    active: u64,
}

/// A part of it, in columns: the oldest first, `null` where nobody beat.
#[derive(Debug, Serialize)]
pub(crate) struct Past {
    step_ms: u64,
    end_ms: u64,
    seconds: usize,
    total: Columns,
    latency_us: Latencies,
    rules: Vec<PastOfRule>,
    left_out: usize,
}

#[derive(Debug, Serialize)]
struct Columns {
    admitted: Vec<Option<u32>>,
    denied: Vec<Option<u32>>,
    shadow: Vec<Option<u32>>,
}

#[derive(Debug, Serialize)]
struct Latencies {
    p50: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
}

#[derive(Debug, Serialize)]
struct PastOfRule {
    name: Box<str>,
    #[serde(flatten)]
    columns: Columns,
}

impl Default for History {
    fn default() -> History {
        History {
            begun: Moment::from_nanos(0),
            last: 0,
            last_ms: 0,
            total: Ring::filled(Cell::default()),
            latency: Ring::filled(None),
            left_out: Ring::filled(0),
            rules: HashMap::new(),
        }
    }
}

impl History {
    /// Numbers seconds from here.
    pub(super) fn begin(&mut self, now: Moment) {
        self.begun = now;
    }

    /// Notes a beat that ended now: in the second that is nearest, together with one that is there already.
    pub(super) fn note(&mut self, beat: &Beat, now: Moment) {
        let nanos = now.since(self.begun).as_nanos();
        let second = (nanos.saturating_add(NANOS_PER_SECOND / 2) / NANOS_PER_SECOND).max(self.last).max(1);
        self.clear_up_to(second);
        (self.last, self.last_ms) = (second, beat.at_ms);
        let cell = self.total.at(second);
        cell.is_known = true;
        cell.done.add(&beat.total);
        if let Some(latency) = beat.latency_us {
            *self.latency.at(second) = Some(latency);
        }
        let mut left_out = beat.left_out;
        self.forget_idle();
        for rule in &beat.rules {
            if self.rules.len() >= RULES_MAX && !self.rules.contains_key(&rule.name) {
                left_out += 1;
                continue;
            }
            let new = || OfRule { counts: Ring::filled(Counts::default()), active: second };
            let of_rule = self.rules.entry(rule.name.clone()).or_insert_with(new);
            of_rule.active = second;
            of_rule.counts.at(second).add(&rule.done);
        }
        let noted = self.left_out.at(second);
        *noted = (*noted).max(u32::try_from(left_out).unwrap_or(u32::MAX));
    }

    /// Empties the places of the seconds since the last one.
    fn clear_up_to(&mut self, second: u64) {
        let first = (self.last + 1).max((second + 1).saturating_sub(SECONDS_MAX as u64));
        for second in first..=second {
            *self.total.at(second) = Cell::default();
            *self.latency.at(second) = None;
            *self.left_out.at(second) = 0;
            for rule in self.rules.values_mut() {
                *rule.counts.at(second) = Counts::default();
            }
        }
    }

    /// Forgets rules of which nothing is remembered any more.
    fn forget_idle(&mut self) {
        let oldest = (self.last + 1).saturating_sub(SECONDS_MAX as u64);
        self.rules.retain(|_, rule| rule.active >= oldest);
    }

    /// The last so many seconds, at most [`SECONDS_MAX`]. The busiest rules come first; those that are too many are left out.
    pub(super) fn past(&self, seconds: usize) -> Past {
        let seconds = seconds.clamp(1, SECONDS_MAX);
        let is_known = |second: &u64| *second > 0 && self.total.get(*second).is_known;
        let numbers: Vec<Option<u64>> =
            (0..seconds as u64).rev().map(|ago| self.last.checked_sub(ago).filter(is_known)).collect();
        let sum = |rule: &OfRule| numbers.iter().flatten().map(|second| rule.counts.get(*second).sum()).sum();
        let mut rules: Vec<(u64, &str, &OfRule)> = self
            .rules
            .iter()
            .map(|(name, rule)| (sum(rule), &**name, rule))
            .filter(|(sum, ..)| *sum > 0)
            .collect();
        rules
            .sort_unstable_by(|(sum, name, _), (other, its_name, _)| other.cmp(sum).then(name.cmp(its_name)));
        let shown = rules.len().min(CELLS_MAX / seconds);
        let left_out = numbers.iter().flatten().map(|second| self.left_out.get(*second)).max().unwrap_or(0);
        let of_rule = |(_, name, rule): &(u64, &str, &OfRule)| PastOfRule {
            name: (*name).into(),
            columns: Columns::of(&numbers, |second| rule.counts.get(second)),
        };
        let latency = |of: fn(Latency) -> f64| {
            numbers.iter().map(|second| second.and_then(|second| self.latency.get(second)).map(of)).collect()
        };
        Past {
            step_ms: 1_000,
            end_ms: self.last_ms,
            seconds,
            total: Columns::of(&numbers, |second| self.total.get(second).done),
            latency_us: Latencies { p50: latency(|it| it.p50), p99: latency(|it| it.p99) },
            rules: rules.iter().take(shown).map(of_rule).collect(),
            left_out: rules.len() - shown + left_out as usize,
        }
    }
}

impl Columns {
    fn of(numbers: &[Option<u64>], of: impl Fn(u64) -> Counts) -> Columns {
        let column = |pick: fn(Counts) -> u32| {
            numbers.iter().map(|second| second.map(|second| pick(of(second)))).collect()
        };
        Columns {
            admitted: column(|it| it.admitted),
            denied: column(|it| it.denied),
            shadow: column(|it| it.shadow),
        }
    }
}

impl Counts {
    fn add(&mut self, done: &Done) {
        let add = |to: &mut u32, more: u64| *to = to.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        add(&mut self.admitted, done.admitted);
        add(&mut self.denied, done.denied);
        add(&mut self.shadow, done.shadow);
    }

    fn sum(self) -> u64 {
        u64::from(self.admitted) + u64::from(self.denied) + u64::from(self.shadow)
    }
}
