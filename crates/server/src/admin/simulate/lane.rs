//! The limits that stand side by side, as they were sent.

use serde_json::Value;
use tollgate::policy::limit_text;
use tollgate::{FixedWindow, LeakyBucket, Limit, LimitError, SlidingCounter, SlidingLog, Window};
use tollgate_sim::playground::Limits;

use super::given::{Given, bad, engine_says};
use crate::http::Problem;

/// Most tiers of a lane.
const TIERS_MAX: usize = 4;
/// The algorithms, and which fields each has besides `name` and `algorithm`.
const ALGORITHMS: [(&str, &[&str]); 6] = [
    ("token_bucket", &["rate", "burst", "credit"]),
    ("leaky_bucket", &["rate", "queue"]),
    ("sliding_log", &["quota", "window"]),
    ("sliding_counter", &["quota", "window"]),
    ("fixed_window", &["quota", "window"]),
    ("tiers", &["tiers"]),
];
const EVERY_FIELD: [&str; 9] =
    ["name", "algorithm", "rate", "burst", "credit", "queue", "quota", "window", "tiers"];

/// One lane.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) name: String,
    /// As it was sent.
    pub(super) algorithm: &'static str,
    pub(super) limits: Limits,
    /// Of a lane of tiers, what each is called.
    pub(super) tiers: Vec<String>,
}

impl Lane {
    pub(super) fn read(place: &str, value: &Value) -> Result<Lane, Problem> {
        let given = Given::read(place, value, &EVERY_FIELD)?;
        let algorithm = given.word("algorithm", &ALGORITHMS.map(|(name, _)| name))?;
        let fields =
            ALGORITHMS.iter().find(|(name, _)| *name == algorithm).map_or(&[][..], |(_, fields)| fields);
        let given = Given::read(place, value, &[&["name", "algorithm"], fields].concat())?;
        let name = given.name()?.unwrap_or_else(|| algorithm.replace('_', " "));
        let mut tiers = Vec::new();
        let limits = match algorithm {
            "token_bucket" => Limits::One(bucket(&given)?.into()),
            "leaky_bucket" => {
                let limit = LeakyBucket::new(given.rate("rate")?, given.tokens("queue")?);
                Limits::One(limit.map_err(|error| refused(&given, "queue", &error))?.into())
            }
            "tiers" => {
                let mut limits = Vec::new();
                for (at, value) in given.list("tiers", 1, TIERS_MAX)?.iter().enumerate() {
                    let place = format!("{}[{at}]", given.place("tiers"));
                    let tier = Given::read(&place, value, &["name", "rate", "burst", "credit"])?;
                    tiers.push(tier.name()?.unwrap_or_else(|| format!("tier {}", at + 1)));
                    limits.push(bucket(&tier)?);
                }
                Limits::Tiers(limits)
            }
            _ => Limits::One(quota(&given, algorithm)?),
        };
        Ok(Lane { name, algorithm, limits, tiers })
    }

    /// The limit in a few words.
    pub(super) fn limit_text(&self) -> String {
        match &self.limits {
            Limits::One(limit) => limit_text(limit),
            Limits::Tiers(limits) => {
                let tier =
                    |(name, limit): (&String, &Limit)| format!("{name} {}", limit_text(&(*limit).into()));
                self.tiers.iter().zip(limits).map(tier).collect::<Vec<_>>().join("; ")
            }
        }
    }
}

/// A token bucket: its rate, and its burst or how long it saves.
pub(super) fn bucket(given: &Given<'_>) -> Result<Limit, Problem> {
    let rate = given.rate("rate")?;
    if !given.has("credit") {
        let limit = Limit::new(rate, given.tokens("burst")?);
        return limit.map_err(|error| refused(given, "burst", &error));
    }
    if given.has("burst") {
        return Err(bad(&given.place("credit"), "stands beside `burst`; give one of them"));
    }
    Limit::with_credit(rate, given.span("credit")?).map_err(|error| match error {
        LimitError::ZeroBurst => {
            bad(&given.place("credit"), "is so short that nothing is minted in it; use a longer one")
        }
        error => refused(given, "credit", &error),
    })
}

/// A quota per window.
fn quota(given: &Given<'_>, algorithm: &str) -> Result<tollgate::Algorithm, Problem> {
    let (quota, window) = (given.tokens("quota")?, given.span("window")?);
    let limit = match algorithm {
        "sliding_log" => SlidingLog::new(quota, window).map(Into::into),
        "sliding_counter" => SlidingCounter::new(quota, window).map(Into::into),
        _ => {
            let window = Window::every(window).map_err(|error| engine_says(&given.place("window"), error))?;
            FixedWindow::new(quota, window).map(Into::into)
        }
    };
    limit.map_err(|error| refused(given, "quota", &error))
}

/// What the engine says of a limit, by the field that it is about: `size` is what we call a burst.
fn refused(given: &Given<'_>, size: &str, error: &LimitError) -> Problem {
    let said = error.to_string();
    let field = match said.split('`').nth(1) {
        Some(field @ ("rate" | "window")) => field,
        _ => size,
    };
    engine_says(&given.place(field), said)
}
