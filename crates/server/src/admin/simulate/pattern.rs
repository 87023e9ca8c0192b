//! When requests come, as it was sent.

use serde_json::Value;
use tollgate::{Moment, Span};
use tollgate_sim::playground::{Pace, Pattern, Stream};

use super::given::{Given, bad, engine_says, millis};
use super::simulation::ARRIVALS_MAX;
use crate::http::Problem;

/// Largest cost of a request, in tokens: so that the costs of all requests together can be counted.
const COST_MAX: u64 = 1_000_000_000;
/// The patterns, and which fields each has besides `pattern` and `cost`.
const PATTERNS: [(&str, &[&str]); 5] = [
    ("steady", &["per_second", "from_ms", "to_ms"]),
    ("burst", &["at_ms", "count"]),
    ("poisson", &["per_second", "from_ms", "to_ms", "seed"]),
    ("waves", &["per_second", "on_ms", "off_ms", "from_ms", "to_ms"]),
    ("list", &["at_ms"]),
];
const EVERY_FIELD: [&str; 10] =
    ["pattern", "cost", "per_second", "from_ms", "to_ms", "at_ms", "count", "seed", "on_ms", "off_ms"];
/// What decides a pattern of chance unless it says so.
const SEED_USUAL: u64 = 1;

/// The requests of one pattern in a run of this length.
pub(super) fn read(entry: &str, value: &Value, length: Span) -> Result<Stream, Problem> {
    let given = Given::read(entry, value, &EVERY_FIELD)?;
    let pattern = given.word("pattern", &PATTERNS.map(|(name, _)| name))?;
    let fields = PATTERNS.iter().find(|(name, _)| *name == pattern).map_or(&[][..], |(_, fields)| fields);
    let given = Given::read(entry, value, &[&["pattern", "cost"], fields].concat())?;
    let moment = |span: Span| Moment::default() + span;
    let pattern = match pattern {
        "burst" => Pattern::Burst {
            at: moment(given.millis("at_ms", length)?),
            count: given.count("count", ARRIVALS_MAX as u64)?,
        },
        "list" => {
            let list = given.list("at_ms", 0, ARRIVALS_MAX)?;
            let read = |(at, value): (usize, &Value)| {
                millis(&format!("{}[{at}]", given.place("at_ms")), value, length).map(moment)
            };
            Pattern::List(list.iter().enumerate().map(read).collect::<Result<_, _>>()?)
        }
        _ => {
            let (from, to) = from_to(&given, length)?;
            let (from, to) = (moment(from), moment(to));
            let pace = Pace::new(given.rate("per_second")?);
            let pace = pace.map_err(|error| engine_says(&given.place("per_second"), error))?;
            match pattern {
                "poisson" => {
                    let seed = if given.has("seed") { given.count("seed", u64::MAX)? } else { SEED_USUAL };
                    Pattern::Poisson { pace, from, to, seed }
                }
                "waves" => {
                    let (on, off) = (given.millis("on_ms", length)?, given.millis("off_ms", length)?);
                    if on == Span::ZERO {
                        return Err(bad(&given.place("on_ms"), "is 0, and no wave would last; use more"));
                    }
                    Pattern::Waves { pace, on, off, from, to }
                }
                _ => Pattern::Steady { pace, from, to },
            }
        }
    };
    Ok(Stream { pattern, cost: given.cost(COST_MAX)? })
}

/// From when to when: all the time unless something else is said.
fn from_to(given: &Given<'_>, length: Span) -> Result<(Span, Span), Problem> {
    let from = if given.has("from_ms") { given.millis("from_ms", length)? } else { Span::ZERO };
    let to = if given.has("to_ms") { given.millis("to_ms", length)? } else { length };
    if from > to {
        return Err(bad(&given.place("to_ms"), "is before `from_ms`; let it be later"));
    }
    Ok((from, to))
}
