//! A shaper: what is admitted leaves one after the other at `rate`, and so much may queue.

use crate::{Burst, Limit, LimitError, Rate, Span, Tokens};

/// Lets out `rate` evenly, with no burst at all: every admitted check is told how long to wait before it leaves. In every
/// interval of length d at most `rate · d` leaves, and one more; and, as they leave at whole nanoseconds, what `rate` lets out
/// in one of those. They leave in the order in which they were admitted, a micro-token's time early at the most.
///
/// `queue` is how much may be on its way out at a time, the one that is leaving included. A live change keeps what is queued.
/// Whoever was admitted before leaves when it was told: after a raise of the rate, later ones may leave before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeakyBucket {
    pub(crate) limit: Limit,
    /// Micro-tokens of the queue that must be free before anyone is let in: what takes longer than the longest wait to drain.
    pub(crate) least: u64,
}

impl LeakyBucket {
    /// A queue that drains at `rate` and holds up to `queue`.
    pub const fn new(rate: Rate, queue: Burst) -> Result<LeakyBucket, LimitError> {
        match Limit::new(rate, queue) {
            Ok(limit) => Ok(LeakyBucket { limit, least: 0 }),
            Err(error) => Err(error),
        }
    }

    /// Denies whoever would have to wait longer than this, even if the queue has room; and who would wait just that long, by
    /// less than a micro-token's time.
    #[must_use]
    pub const fn max_wait(self, wait: Span) -> LeakyBucket {
        let drained = self.limit.minted_in(wait).as_micros();
        LeakyBucket { least: self.limit.burst.saturating_sub(drained), ..self }
    }

    /// The rate, with the queue for a burst.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// How much of the queue must be free before anyone is let in: none, unless the wait is bounded.
    pub const fn least(&self) -> Tokens {
        Tokens::from_micros(self.least)
    }

    /// How much may be on its way out.
    pub const fn queue(&self) -> Tokens {
        self.limit.burst()
    }
}
