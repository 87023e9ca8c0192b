//! How long a thread was ready to run but had no core: other work on the machine, or its own sibling on the same core.
//!
//! A round that waited measured the scheduler, not the limiter. Says nothing of time that a hypervisor took away.

use std::fs;

/// Nanoseconds that the calling thread has waited for a core so far. None where Linux keeps no such account.
pub(crate) fn nanos_so_far() -> Option<u64> {
    parse(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The second of `RAN_NS WAITED_NS TIMESLICES`.
fn parse(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_wait_is_the_second_number() {
        assert_eq!(parse("602480 39850 1\n"), Some(39_850));
        assert_eq!(parse(""), None);
    }
}
