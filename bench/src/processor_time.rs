//! Processor time of this process, all threads together: what work costs, however long it waits in between.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time used so far.
pub(crate) fn so_far() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::from_secs(used.tv_sec.unsigned_abs()) + Duration::from_nanos(used.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::so_far;

    #[test]
    fn work_takes_processor_time() {
        let before = so_far();
        assert!((0..1_000_000_u64).map(std::hint::black_box).sum::<u64>() > 0);
        assert!(so_far() > before);
    }
}
