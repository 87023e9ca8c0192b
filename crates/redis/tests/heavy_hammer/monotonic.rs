//! The machine's monotonic clock, which all processes share. Read from the kernel itself, so that a library that pretends another time
//! does not reach it.

use rustix::time::{ClockId, clock_gettime};
use tollgate_core::Moment;

/// Now, in nanoseconds since the machine started.
pub(crate) fn now() -> Moment {
    Moment::from_nanos(nanos(ClockId::Monotonic))
}

/// What the machine's wall clock truly says, in nanoseconds since 1970.
pub(crate) fn true_wall_nanos() -> u64 {
    nanos(ClockId::Realtime)
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}
