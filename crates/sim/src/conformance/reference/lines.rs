//! Token bucket, leaky bucket and fixed window: marks on a line.
//!
//! What a rate mints is the arithmetic of `tollgate-core`, which is compared with the exact model in its own tests; what
//! becomes of it in a queue or a window is stated here anew.

use tollgate_core::{FixedWindow, LeakyBucket, Limit, Mark, Meter, Moment, Span};

use super::calendar::window_number;
use super::law::{Line, first};

/// Where meters start: far enough from the end of the count that no mark comes near the reserved word.
const METER_OFFSET: u64 = 1 << 62;

/// Refills continuously and saves up to a burst.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenBucket(pub(super) Meter);

impl TokenBucket {
    pub(super) fn new(limit: Limit, now: Moment) -> TokenBucket {
        TokenBucket(Meter::new(limit, now, METER_OFFSET))
    }
}

impl Line for TokenBucket {
    fn burst(&self) -> i128 {
        i128::from(self.0.limit().burst().as_micros())
    }

    fn capacity(&self, now: Moment) -> i128 {
        let level = self.0.level(now);
        i128::from(level.balance(level.full_mark()))
    }

    fn balance_at(&self, mark: i128, now: Moment) -> i128 {
        i128::from(self.0.level(now).balance(Mark::from_word(u64::try_from(mark).unwrap_or(0))))
    }

    fn mark_of(&self, balance: i128, now: Moment) -> i128 {
        let balance = i64::try_from(balance).unwrap_or(i64::MIN);
        i128::from(self.0.level(now).mark_of(balance).word())
    }

    fn wait_at(&self, mark: i128, need: i128, now: Moment) -> Span {
        let missing = need - self.balance_at(mark, now);
        self.0.wait_for(u64::try_from(missing).unwrap_or(0), now)
    }
}

/// Lets out evenly. The line is what has left by now; the mark is where the tail of the queue will leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeakyQueue {
    leaky: LeakyBucket,
    /// Mints what leaves.
    meter: Meter,
}

impl LeakyQueue {
    pub(super) fn new(leaky: LeakyBucket, now: Moment) -> LeakyQueue {
        LeakyQueue { leaky, meter: Meter::new(leaky.limit(), now, METER_OFFSET) }
    }

    /// What is queued stays queued, and leaves at the new rate from now on.
    pub(super) fn change(&self, leaky: LeakyBucket, now: Moment) -> LeakyQueue {
        LeakyQueue { leaky, meter: self.meter.change(leaky.limit(), now) }
    }

    /// In whole micro-tokens.
    fn left(&self, now: Moment) -> i128 {
        let level = self.meter.level(now);
        i128::from(level.full_mark().word()) + i128::from(level.balance(level.full_mark()))
    }

    pub(super) fn queued(&self, mark: i128, now: Moment) -> i128 {
        (mark - self.left(now)).max(0)
    }
}

impl Line for LeakyQueue {
    fn burst(&self) -> i128 {
        i128::from(self.leaky.queue().as_micros())
    }

    fn capacity(&self, _now: Moment) -> i128 {
        self.burst()
    }

    fn balance_at(&self, mark: i128, now: Moment) -> i128 {
        self.burst() - self.queued(mark, now)
    }

    fn mark_of(&self, balance: i128, now: Moment) -> i128 {
        self.left(now) + self.burst() - balance
    }

    fn is_queue(&self) -> bool {
        true
    }

    /// Whoever would wait longer than the longest wait is denied.
    fn threshold(&self) -> i128 {
        i128::from(self.leaky.least().as_micros())
    }

    fn delay_at(&self, mark: i128, now: Moment) -> Span {
        first(|span| self.queued(mark, now + span) == 0)
    }
}

/// A quota at the beginning of each window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quota {
    window: FixedWindow,
    base: Moment,
    /// Granted by `base`.
    granted: i128,
    /// What a bucket never charged held at `base`.
    head: i128,
}

impl Quota {
    pub(super) fn new(window: FixedWindow, now: Moment) -> Quota {
        let quota = i128::from(window.quota().as_micros());
        Quota { window, base: now, granted: 0, head: quota }
    }

    /// What was granted was granted; a larger quota is there from the next window on, a smaller one at once.
    pub(super) fn change(&self, window: FixedWindow, now: Moment) -> Quota {
        let (granted, head) = (self.granted(now), self.capacity(now));
        Quota { window, base: self.base.max(now), granted, head }
    }

    fn granted(&self, now: Moment) -> i128 {
        let windows = window_number(self.window.window(), now.max(self.base))
            - window_number(self.window.window(), self.base);
        self.granted + self.burst() * windows
    }
}

impl Line for Quota {
    fn burst(&self) -> i128 {
        i128::from(self.window.quota().as_micros())
    }

    fn capacity(&self, now: Moment) -> i128 {
        (self.head + self.granted(now) - self.granted).min(self.burst())
    }

    fn balance_at(&self, mark: i128, now: Moment) -> i128 {
        (self.granted(now) - mark).min(self.capacity(now))
    }

    fn mark_of(&self, balance: i128, now: Moment) -> i128 {
        self.granted(now) - balance
    }
}
