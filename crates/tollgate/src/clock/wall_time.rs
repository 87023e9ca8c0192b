//! The wall clock for those who ask often: read now and then, and carried on by a clock that is cheaper to read.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{Moment, Span};

/// How long the wall clock is not read: one that is set meanwhile is noticed so late.
const READ_EVERY: Span = Span::from_millis(100);

/// What the wall clock said, and when.
#[derive(Debug, Default)]
pub(crate) struct WallTime {
    /// When it was read last, by the cheaper clock, in nanoseconds.
    read_at: AtomicU64,
    /// Nanoseconds from 1970 to that clock's origin, as it was then. Of another reading than `read_at` it is as good.
    origin: AtomicU64,
}

impl WallTime {
    /// Nanoseconds since 1970 at a moment that is about now. `read` reads the wall clock.
    #[inline]
    pub(crate) fn nanos_at(&self, now: Moment, read: impl FnOnce() -> u64) -> u64 {
        let now = now.as_nanos();
        let read_at = self.read_at.load(Ordering::Acquire);
        if read_at == 0 || now.abs_diff(read_at) >= READ_EVERY.as_nanos() {
            let wall = read();
            self.origin.store(wall.wrapping_sub(now), Ordering::Relaxed);
            // Whoever sees this may see the origin of before, which was as good a tenth of a second ago; but not the one of nobody.
            self.read_at.store(now, Ordering::Release);
            return wall;
        }
        self.origin.load(Ordering::Relaxed).wrapping_add(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_carried_on_and_read_again_after_a_while() {
        let (wall, mut reads) = (WallTime::default(), 0);
        let mut at = |now: u64, says: u64| {
            let nanos = wall.nanos_at(Moment::from_nanos(now), || {
                reads += 1;
                says
            });
            (nanos, reads)
        };
        assert_eq!(at(5_000_000_000, 77), (77, 1));
        assert_eq!(at(5_000_000_010, 0), (87, 1));
        assert_eq!(at(4_999_999_990, 0), (67, 1));
        assert_eq!(at(5_100_000_000, 1_000), (1_000, 2));
        assert_eq!(at(5_100_000_001, 0), (1_001, 2));
    }
}
