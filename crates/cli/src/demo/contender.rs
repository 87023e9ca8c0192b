//! The algorithms that stand side by side in a scene, each with its limit in words.
//!
//! Promises that a name always means the same algorithm and has the same colour in every picture.
//! Does not know what is played.

use tollgate::{Algorithm, Burst, FixedWindow, LeakyBucket, Limit, Rate, SlidingCounter, SlidingLog};
use tollgate::{Span, Window};

use crate::problem::Problem;

use super::amounts;
use super::figure::Hue;

/// One algorithm and its limit.
#[derive(Debug, Clone)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// The limit in a few words: `burst 100`.
    pub(crate) terms: String,
    pub(crate) hue: Hue,
    pub(crate) limit: Algorithm,
}

impl Contender {
    /// A bucket with a burst of its own.
    pub(crate) fn token_bucket(rate: Rate, burst: u64) -> Result<Contender, Problem> {
        let limit = Limit::new(rate, Burst::tokens(burst))?;
        Ok(Contender::new("token bucket", format!("burst {burst}"), Hue::Blue, limit))
    }

    /// A bucket that holds what is minted in `credit`.
    pub(crate) fn burst_credit(rate: Rate, credit: Span) -> Result<Contender, Problem> {
        let limit = Limit::with_credit(rate, credit)?;
        Ok(Contender::new("token bucket", format!("credit of {}", amounts::span(credit)), Hue::Pink, limit))
    }

    /// A queue that drains at `rate`.
    pub(crate) fn leaky_bucket(rate: Rate, queue: u64) -> Result<Contender, Problem> {
        let limit = LeakyBucket::new(rate, Burst::tokens(queue))?;
        Ok(Contender::new("leaky bucket", format!("queue {queue}"), Hue::Teal, limit))
    }

    /// A quota per window of the calendar.
    pub(crate) fn fixed_window(quota: u64, window: Span) -> Result<Contender, Problem> {
        let limit = FixedWindow::new(Burst::tokens(quota), Window::every(window)?)?;
        Ok(Contender::new("fixed window", per(quota, window), Hue::Red, limit))
    }

    /// A quota per window that slides, counted in one word.
    pub(crate) fn sliding_counter(quota: u64, window: Span) -> Result<Contender, Problem> {
        let limit = SlidingCounter::new(Burst::tokens(quota), window)?;
        Ok(Contender::new("sliding counter", per(quota, window), Hue::Amber, limit))
    }

    /// A quota per window that slides, exactly.
    pub(crate) fn sliding_log(quota: u64, window: Span) -> Result<Contender, Problem> {
        let limit = SlidingLog::new(Burst::tokens(quota), window)?;
        Ok(Contender::new("sliding log", per(quota, window), Hue::Violet, limit))
    }

    fn new(name: &'static str, terms: String, hue: Hue, limit: impl Into<Algorithm>) -> Contender {
        Contender { name, terms, hue, limit: limit.into() }
    }

    /// The same in another colour, where two of a kind stand side by side.
    pub(crate) fn in_hue(self, hue: Hue) -> Contender {
        Contender { hue, ..self }
    }

    /// `token bucket, burst 100`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}, {}", self.name, self.terms)
    }
}

fn per(quota: u64, window: Span) -> String {
    format!("{quota} per {}", amounts::span(window))
}
