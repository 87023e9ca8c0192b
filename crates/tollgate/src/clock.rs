//! The one place where a monotonic clock is read.
//!
//! A [`Clock`] turns the machine's time into [`Moment`]s. Its readings may differ between threads by up to
//! [`CLOCK_ERROR_MAX`]; nothing in Tollgate relies on more. Time spent suspended does not count.

mod anchor;
#[cfg(feature = "tokio")]
mod follow_tokio;
mod tsc;
#[cfg(feature = "policy")]
mod wall_time;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::{Moment, Span};

use self::anchor::AnchoredTsc;
#[cfg(feature = "policy")]
pub(crate) use self::wall_time::WallTime;

/// How far two readings of one [`Clock`] at the same instant may lie apart.
pub const CLOCK_ERROR_MAX: Span = Span::from_micros(100);

/// Moments start here rather than at 0, ten years on, so that what happened before a restart has a moment, too.
const ORIGIN: Moment = Moment::from_nanos(10 * 365 * 86_400_000_000_000);

/// Where a limiter takes its time from. Clones read the same clock.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
#[repr(u8)]
enum Source {
    Tsc(Arc<AnchoredTsc>),
    Monotonic(Monotonic),
    Manual(Arc<AtomicU64>),
    #[cfg(feature = "tokio")]
    Tokio(follow_tokio::TokioTime),
}

/// How long to wait before a clock that somebody else moves is looked at again.
const LOOK_AGAIN: Span = Span::from_millis(1);

impl Clock {
    /// The machine's monotonic clock: read through the processor's time-stamp counter where the kernel itself trusts
    /// that counter, otherwise through [`Instant`].
    pub fn system() -> Clock {
        let real = Monotonic::start();
        if tsc::is_trusted() {
            Clock(Source::Tsc(Arc::new(AnchoredTsc::new(real))))
        } else {
            Clock(Source::Monotonic(real))
        }
    }

    /// The machine's monotonic clock, always through [`Instant`].
    pub fn instant() -> Clock {
        Clock(Source::Monotonic(Monotonic::start()))
    }

    /// A clock that stands still until it is told otherwise; for tests and simulations.
    pub fn manual(start: Moment) -> Clock {
        Clock(Source::Manual(Arc::new(AtomicU64::new(start.as_nanos()))))
    }

    /// A clock that stands still at what the wall clock says now, until it is told otherwise; for tools that explain.
    pub fn stopped() -> Clock {
        Clock::manual(Moment::from_nanos(wall_nanos()))
    }

    /// What time it is.
    #[inline]
    pub fn now(&self) -> Moment {
        match &self.0 {
            Source::Tsc(tsc) => tsc.now(),
            other => other.now_without_tsc(),
        }
    }

    /// Nanoseconds from 1970 to this clock's origin, as the wall clock has it now. A manual clock's origin is 1970 itself.
    pub fn wall_origin(&self) -> u64 {
        match self.0 {
            Source::Manual(_) => 0,
            _ => wall_nanos().saturating_sub(self.now().as_nanos()),
        }
    }

    /// The time since 1970 by the wall clock; by a manual clock, its own.
    #[cfg(feature = "policy")]
    pub(crate) fn wall_time(&self) -> Duration {
        Duration::from_nanos(match self.0 {
            Source::Manual(_) => self.now().as_nanos(),
            _ => wall_nanos(),
        })
    }

    /// The same at a moment of this clock that is about now, to a tenth of a second if somebody sets the wall clock; cheaper, for those who
    /// ask often.
    #[cfg(feature = "policy")]
    #[inline]
    pub(crate) fn wall_time_at(&self, now: Moment, wall: &WallTime) -> Duration {
        Duration::from_nanos(match self.0 {
            Source::Manual(_) => now.as_nanos(),
            _ => wall.nanos_at(now, wall_nanos),
        })
    }

    /// Sets a manual clock, forwards or back. The machine's clock cannot be set: there it does nothing.
    pub fn set(&self, now: Moment) {
        if let Source::Manual(cell) = &self.0 {
            cell.store(now.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Moves a manual clock forwards. The machine's clock cannot be moved: there it does nothing.
    pub fn advance(&self, by: Span) {
        if let Source::Manual(cell) = &self.0 {
            let later = |now: u64| Some(now.saturating_add(by.as_nanos()));
            let _ = cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        }
    }

    /// For how long to wait, by the machine's clock, until `wait` may have passed by this one.
    pub(crate) fn time_to_wait(&self, wait: Span) -> Duration {
        match &self.0 {
            Source::Manual(_) => wait.min(LOOK_AGAIN).into(),
            _ => wait.into(),
        }
    }
}

impl Source {
    #[inline(never)]
    fn now_without_tsc(&self) -> Moment {
        match self {
            Source::Tsc(tsc) => tsc.now(),
            Source::Monotonic(clock) => clock.now(),
            Source::Manual(now) => Moment::from_nanos(now.load(Ordering::Relaxed)),
            #[cfg(feature = "tokio")]
            Source::Tokio(time) => time.now(),
        }
    }
}

/// [`Instant`], counted from when this clock was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Monotonic {
    start: Instant,
}

impl Monotonic {
    #[expect(clippy::disallowed_methods, reason = "this file is where the clock is read")]
    fn start() -> Self {
        Self { start: Instant::now() }
    }

    #[expect(clippy::disallowed_methods, reason = "this file is where the clock is read")]
    fn now(&self) -> Moment {
        ORIGIN + Span::from(self.start.elapsed())
    }
}

/// Nanoseconds since 1970 by the wall clock: for carrying a table over a restart, and for what expires on a date. 0 before 1970.
#[expect(clippy::disallowed_methods, reason = "this file is where the clock is read")]
pub(crate) fn wall_nanos() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Span::from(since_1970).as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stands_still_until_told() {
        let clock = Clock::manual(Moment::from_nanos(5));
        let same = clock.clone();
        assert_eq!(clock.now(), Moment::from_nanos(5));
        same.advance(Span::from_nanos(7));
        assert_eq!(clock.now(), Moment::from_nanos(12));
        same.set(Moment::from_nanos(1));
        assert_eq!(clock.now(), Moment::from_nanos(1));
    }

    #[test]
    fn the_machine_clock_cannot_be_set() {
        let clock = Clock::instant();
        let before = clock.now();
        clock.set(Moment::from_nanos(u64::MAX));
        clock.advance(Span::from_secs(1_000_000));
        assert!(clock.now().since(before) < Span::from_secs(1_000));
    }
}
