//! The number of a limit within one limiter.

use std::num::NonZeroU16;

/// Which meter a bucket is read against. 0 is left for slots that were never taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LimitId(NonZeroU16);

impl LimitId {
    pub(crate) const fn new(number: u16) -> Option<LimitId> {
        match NonZeroU16::new(number) {
            Some(number) => Some(LimitId(number)),
            None => None,
        }
    }

    /// The one that a limiter is made with.
    pub(crate) const FIRST: LimitId = LimitId(NonZeroU16::MIN);
    /// How many there can be.
    pub(crate) const COUNT_MAX: usize = u16::MAX as usize;

    pub(crate) const fn get(self) -> u16 {
        self.0.get()
    }
}
