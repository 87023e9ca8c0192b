//! Wall time, and the clocks that peers make their caller read. The only file of the bench that reads a clock.
#![expect(clippy::disallowed_methods, reason = "a bench measures time on the wall")]

use std::time::{Duration, Instant, SystemTime};

/// What a caller hands to a limiter that wants a monotonic time.
#[inline]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// What a caller hands to a limiter that wants a calendar time.
#[inline]
pub(crate) fn system_time() -> SystemTime {
    SystemTime::now()
}

/// When a piece of work began and ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lap {
    began: Instant,
    ended: Instant,
}

impl Lap {
    /// Does the work and keeps the time.
    pub(crate) fn of<R>(work: impl FnOnce() -> R) -> (Lap, R) {
        let began = Instant::now();
        let result = work();
        (Lap { began, ended: Instant::now() }, result)
    }

    /// From the first beginning to the last end. None for no laps.
    pub(crate) fn span(laps: &[Lap]) -> Option<Duration> {
        let began = laps.iter().map(|lap| lap.began).min()?;
        let ended = laps.iter().map(|lap| lap.ended).max()?;
        Some(ended - began)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Lap};

    #[test]
    fn laps_side_by_side_are_measured_from_the_first_start_to_the_last_end() {
        let start = Instant::now();
        let lap = |from: u64, to: u64| Lap {
            began: start + Duration::from_millis(from),
            ended: start + Duration::from_millis(to),
        };
        assert_eq!(Lap::span(&[lap(3, 9), lap(1, 7)]), Some(Duration::from_millis(8)));
        assert_eq!(Lap::span(&[]), None);
    }
}
