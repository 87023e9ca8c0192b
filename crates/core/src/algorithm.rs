//! Every way to limit, chosen for each rule.

use crate::{Concurrency, FixedWindow, LeakyBucket, Limit, SlidingCounter, SlidingLog, Tokens};

/// A limit together with the algorithm that keeps it. Each makes a promise of its own; when in doubt, a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Refills continuously, and saves up to a burst: at most `burst + rate · d` in every interval of length d.
    TokenBucket(Limit),
    /// Lets out evenly at a rate, and queues: at most `rate · d` leaves in every interval of length d, and one more.
    LeakyBucket(LeakyBucket),
    /// At most a quota per window of the calendar; up to twice the quota around the end of a window.
    FixedWindow(FixedWindow),
    /// At most a quota in about every window, in one word; up to twice the quota where the window before was spent late.
    SlidingCounter(SlidingCounter),
    /// At most a quota in every window, exactly; remembers every charge.
    SlidingLog(SlidingLog),
    /// At most so many at work at the same time.
    Concurrency(Concurrency),
}

impl Algorithm {
    /// The most that can be charged at once: what a full bucket holds.
    pub const fn full(&self) -> Tokens {
        match self {
            Algorithm::TokenBucket(limit) => limit.burst(),
            Algorithm::LeakyBucket(leaky) => leaky.queue(),
            Algorithm::FixedWindow(window) => window.quota(),
            Algorithm::SlidingCounter(counter) => counter.full(),
            Algorithm::SlidingLog(log) => log.quota(),
            Algorithm::Concurrency(concurrency) => {
                Tokens::from_micros(concurrency.places() as u64 * crate::tokens::MICROS_PER_TOKEN)
            }
        }
    }

    /// Its name in policies and messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Algorithm::TokenBucket(_) => "token_bucket",
            Algorithm::LeakyBucket(_) => "leaky_bucket",
            Algorithm::FixedWindow(_) => "fixed_window",
            Algorithm::SlidingCounter(_) => "sliding_window counter",
            Algorithm::SlidingLog(_) => "sliding_window log",
            Algorithm::Concurrency(_) => "concurrency",
        }
    }
}

macro_rules! from_its_limit {
    ($($limit:ident => $variant:ident),*) => {$(
        impl From<$limit> for Algorithm {
            fn from(limit: $limit) -> Algorithm {
                Algorithm::$variant(limit)
            }
        }
    )*};
}

from_its_limit!(
    Limit => TokenBucket,
    LeakyBucket => LeakyBucket,
    FixedWindow => FixedWindow,
    SlidingCounter => SlidingCounter,
    SlidingLog => SlidingLog,
    Concurrency => Concurrency
);
