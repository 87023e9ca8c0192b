//! What is played, once nothing is left to object to: bounded, and sound.

use serde_json::Value;
use tollgate::{Limit, Moment, Span};
use tollgate_sim::playground::{Arrival, arrivals};

use super::given::{BODY, Given, bad};
use super::lane::{Lane, bucket};
use super::pattern;
use crate::http::Problem;

/// Most requests.
pub(super) const ARRIVALS_MAX: usize = 5_000;
/// Most patterns of them.
const PATTERNS_MAX: usize = 32;
/// Most lanes.
const LANES_MAX: usize = 8;
/// Most buckets of all lanes times requests; a lane of tiers has a bucket for each.
const CHECKS_MAX: usize = 20_000;
/// Longest run.
const LENGTH_MAX: Span = Span::from_secs(24 * 60 * 60);

/// A run.
#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) length: Span,
    /// Ascending.
    pub(super) arrivals: Vec<Arrival>,
    pub(super) lanes: Vec<Lane>,
    /// What all are measured by.
    pub(super) promise: Limit,
}

impl Simulation {
    pub(super) fn read(body: &Value) -> Result<Simulation, Problem> {
        let given = Given::read(BODY, body, &["length_ms", "arrivals", "lanes", "promise"])?;
        let length = given.millis("length_ms", LENGTH_MAX)?;
        if length == Span::ZERO {
            return Err(bad("length_ms", "is 0, and nothing could happen; use more"));
        }
        let promise = bucket(&given.object("promise", &["rate", "burst"])?)?;
        let lane = |(at, value): (usize, &Value)| Lane::read(&format!("lanes[{at}]"), value);
        let lanes = given.list("lanes", 1, LANES_MAX)?.iter().enumerate().map(lane);
        let lanes = lanes.collect::<Result<Vec<_>, _>>()?;
        let stream = |(at, value): (usize, &Value)| pattern::read(&format!("arrivals[{at}]"), value, length);
        let streams = given.list("arrivals", 0, PATTERNS_MAX)?.iter().enumerate().map(stream);
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        let arrivals = arrivals(&streams, ARRIVALS_MAX).map_err(|error| {
            Problem::field(format!("arrivals[{}]", error.stream), error.to_string()).because("bad_body")
        })?;
        let buckets: usize = lanes.iter().map(|lane| lane.limits.buckets()).sum();
        if buckets * arrivals.len() > CHECKS_MAX {
            let fault = format!(
                "have {buckets} buckets, and with {} requests that is {} checks; use at most {CHECKS_MAX}: fewer lanes, tiers or requests",
                arrivals.len(),
                buckets * arrivals.len()
            );
            return Err(bad("lanes", fault));
        }
        Ok(Simulation { length, arrivals, lanes, promise })
    }

    /// When it is over.
    pub(super) fn end(&self) -> Moment {
        Moment::default() + self.length
    }
}
