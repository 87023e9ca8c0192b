//! What came of it, as JSON has it: times in milliseconds of at most three places, tokens exactly.

use serde::Serialize;
use serde::ser::Serializer;
use tollgate::policy::rate_text;
use tollgate::{BuildError, Limit, Moment, Span, Tokens};
use tollgate_sim::playground::{Limits, Outcome, Point, Told, Trace};

use super::lane::Lane;
use super::simulation::Simulation;

/// The answer.
#[derive(Debug, Serialize)]
pub(super) struct Answer<'s> {
    length_ms: Number,
    arrivals: usize,
    engine: &'static str,
    promise: Promised,
    lanes: Vec<Played<'s>>,
}

/// What all lanes are measured by.
#[derive(Debug, Serialize)]
struct Promised {
    text: String,
    rate_per_s: f64,
    burst: Number,
}

/// One lane and its trace.
#[derive(Debug, Serialize)]
struct Played<'s> {
    name: &'s str,
    algorithm: &'static str,
    limit: String,
    capacity: Number,
    admitted: usize,
    denied: usize,
    admitted_tokens: Number,
    longest_delay_ms: Number,
    over_promise: Number,
    most_in_window: Busiest,
    /// When, what it cost, what became of it, what is left, how long to wait, and which tier denied.
    events: Vec<(Number, Number, u8, Number, Number, Option<usize>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<Vec<(Number, Number)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tiers: Option<Vec<Tier<'s>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<Vec<Vec<(Number, Number)>>>,
}

/// One tier of a lane.
#[derive(Debug, Serialize)]
struct Tier<'s> {
    name: &'s str,
    limit: String,
    capacity: Number,
}

/// The most that left in any window of this length.
#[derive(Debug, Serialize)]
struct Busiest {
    window_ms: Number,
    tokens: Number,
}

/// `parts / unit`, without a point if it is whole.
#[derive(Debug, Clone, Copy)]
struct Number {
    parts: u64,
    unit: u32,
}

impl Serialize for Number {
    #[expect(clippy::cast_precision_loss, reason = "the nearest double prints as the decimal that is meant")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (parts, unit) = (self.parts, u64::from(self.unit));
        if parts.is_multiple_of(unit) {
            return serializer.serialize_u64(parts / unit);
        }
        serializer.serialize_f64(parts as f64 / f64::from(self.unit))
    }
}

impl<'s> Answer<'s> {
    /// Plays it.
    pub(super) fn of(simulation: &'s Simulation) -> Result<Answer<'s>, BuildError> {
        let played = |lane: &'s Lane| Played::of(lane, simulation);
        Ok(Answer {
            length_ms: millis(simulation.length),
            arrivals: simulation.arrivals.len(),
            engine: env!("CARGO_PKG_VERSION"),
            promise: Promised::of(simulation.promise),
            lanes: simulation.lanes.iter().map(played).collect::<Result<_, _>>()?,
        })
    }
}

impl Promised {
    #[expect(clippy::cast_precision_loss, reason = "for a scale; the text has it exactly")]
    fn of(promise: Limit) -> Promised {
        let [micros, nanos, _] = promise.terms();
        Promised {
            text: format!("{} + {} · d", promise.burst(), rate_text(&promise)),
            rate_per_s: micros as f64 * 1_000.0 / nanos as f64,
            burst: tokens(promise.burst()),
        }
    }
}

impl<'s> Played<'s> {
    fn of(lane: &'s Lane, simulation: &Simulation) -> Result<Played<'s>, BuildError> {
        let trace = Trace::play(&lane.limits, &simulation.arrivals, simulation.end())?;
        let (passages, promise) = (trace.passages(), simulation.promise);
        let window = lane.limits.window().unwrap_or_else(|| promise.time_to_full());
        let mut levels = trace.levels.iter().map(|points| points.iter().map(point).collect());
        let (level, levels, tiers) = match &lane.limits {
            Limits::One(_) => (levels.next(), None, None),
            Limits::Tiers(limits) => {
                let tier = |(name, limit): (&'s String, &Limit)| Tier {
                    name,
                    limit: tollgate::policy::limit_text(&(*limit).into()),
                    capacity: tokens(limit.burst()),
                };
                (None, Some(levels.collect()), Some(lane.tiers.iter().zip(limits).map(tier).collect()))
            }
        };
        Ok(Played {
            name: &lane.name,
            algorithm: lane.algorithm,
            limit: lane.limit_text(),
            capacity: tokens(lane.limits.capacity()),
            admitted: trace.admitted(),
            denied: trace.told.len() - trace.admitted(),
            admitted_tokens: tokens(trace.admitted_tokens()),
            longest_delay_ms: millis_up(passages.longest_delay()),
            over_promise: tokens(passages.over(promise)),
            most_in_window: Busiest {
                window_ms: millis(window),
                tokens: tokens(passages.most_within(window)),
            },
            events: trace.told.iter().map(event).collect(),
            level,
            tiers,
            levels,
        })
    }
}

fn event(told: &Told) -> (Number, Number, u8, Number, Number, Option<usize>) {
    let (outcome, wait) = match told.outcome {
        Outcome::Denied(wait) => (0, wait),
        Outcome::Admitted(Span::ZERO) => (1, Span::ZERO),
        Outcome::Admitted(delay) => (2, delay),
        Outcome::Never => (3, Span::ZERO),
    };
    let cost = Tokens::from(told.arrival.cost);
    (moment(told.arrival.at), tokens(cost), outcome, tokens(told.balance), millis_up(wait), told.tier)
}

fn point(point: &Point) -> (Number, Number) {
    (moment(point.at), tokens(point.level))
}

fn tokens(tokens: Tokens) -> Number {
    Number { parts: tokens.as_micros(), unit: 1_000_000 }
}

fn moment(at: Moment) -> Number {
    millis(at.since(Moment::default()))
}

/// Rounded to the nearest microsecond.
fn millis(span: Span) -> Number {
    Number { parts: span.as_nanos() / 1_000 + u64::from(span.as_nanos() % 1_000 >= 500), unit: 1_000 }
}

/// Rounded up: who waits so long has waited long enough.
fn millis_up(span: Span) -> Number {
    Number { parts: span.as_nanos().div_ceil(1_000), unit: 1_000 }
}
