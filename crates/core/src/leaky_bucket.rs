//! A shaper: what is admitted leaves one after the other at `rate`, and so much may queue.

use crate::{Burst, Limit, LimitError, Rate, Span, Tokens};

/// Lets out `rate` evenly, with no burst at all: every admitted check is told how long to wait before it leaves. In every
/// interval of length d at most `rate · d` leaves, and one more.
///
/// `queue` is how much may be on its way out at a time, the one that is leaving included.
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

    /// Denies whoever would have to wait longer than this, even if the queue has room.
    #[must_use]
    pub const fn max_wait(self, wait: Span) -> LeakyBucket {
        let drained = self.limit.minted_in(wait).as_micros();
        LeakyBucket { least: self.limit.burst.saturating_sub(drained), ..self }
    }

    /// How much may be on its way out.
    pub const fn queue(&self) -> Tokens {
        self.limit.burst()
    }
}
