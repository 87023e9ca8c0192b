//! The limits under which every subject is measured, in numbers that all four can express.
//!
//! Chosen so that the verdict is known beforehand; a round whose verdicts differ is refused as worthless.

/// `tokens` every `period_s` seconds, up to `burst` at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) tokens: u32,
    pub(crate) period_s: u32,
    pub(crate) burst: u32,
}

impl Quota {
    /// Admits everything in a suite, and leaves a bucket once touched less than full for 150 s: a full bucket may be
    /// reclaimed, which would be another measurement. 142 years to fill is near the most that Tollgate accepts (146)
    /// and within the 64-bit nanoseconds that throttlecrab adds to the calendar date.
    pub(crate) const MANY_KEYS: Quota = Quota { tokens: 1, period_s: 150, burst: 30_000_000 };

    /// Admits everything that one hot key is asked in a suite.
    pub(crate) const ONE_KEY: Quota = Quota { tokens: 1_000, period_s: 1, burst: 1_000_000_000 };

    /// Empty after a few checks, and for the rest of the day. Not a burst of 1: throttlecrab never limits that.
    pub(crate) const SOON_EMPTY: Quota = Quota { tokens: 1, period_s: 86_400, burst: 10 };
}
