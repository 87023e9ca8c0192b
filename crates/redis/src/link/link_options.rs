//! What a link may take: times and numbers.

use std::time::Duration;

/// Most calls that may ever be under way.
const CALLS_MAX: usize = 65_536;

/// What a link may take. What is too short or too few to work is raised to what is not. The defaults suit a store within 50 ms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkOptions {
    /// Most calls that are under way at once, over all nodes, those whose caller gave up included. Beyond it a call is refused at once.
    pub calls_max: usize,
    /// Longest that one attempt to connect takes, names, TLS and login included. Raise it where the store is further than 100 ms.
    pub dial_timeout: Duration,
    /// How often each connection is asked whether it lives.
    pub heartbeat: Duration,
    /// A connection that answered nothing for so long is replaced.
    pub silence_max: Duration,
    /// How often sentinels are asked who is master, and nodes which slots they have.
    pub poll: Duration,
    /// Shortest pause between two attempts to connect; each further one is twice as long.
    pub back_off_min: Duration,
    /// Longest pause between two attempts to connect.
    pub back_off_max: Duration,
}

/// Shortest time that is waited for anything: what is said to be shorter would keep a processor busy.
const SPAN_MIN: Duration = Duration::from_millis(5);

impl LinkOptions {
    /// The same, with nothing too short or too few to work.
    pub(crate) fn bounded(&self) -> LinkOptions {
        let back_off_min = self.back_off_min.max(SPAN_MIN);
        LinkOptions {
            calls_max: self.calls_max.clamp(1, CALLS_MAX),
            dial_timeout: self.dial_timeout.max(SPAN_MIN),
            heartbeat: self.heartbeat.max(SPAN_MIN),
            silence_max: self.silence_max.max(SPAN_MIN),
            poll: self.poll.max(SPAN_MIN),
            back_off_min,
            back_off_max: self.back_off_max.max(back_off_min),
        }
    }
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions {
            calls_max: 1_024,
            dial_timeout: Duration::from_millis(500),
            heartbeat: Duration::from_millis(150),
            silence_max: Duration::from_secs(1),
            poll: Duration::from_millis(500),
            back_off_min: Duration::from_millis(10),
            back_off_max: Duration::from_millis(200),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_zero_still_work_and_the_defaults_are_as_they_are() {
        let zero = Duration::ZERO;
        let nothing = LinkOptions {
            calls_max: 0,
            dial_timeout: zero,
            heartbeat: zero,
            silence_max: zero,
            poll: zero,
            back_off_min: zero,
            back_off_max: zero,
        };
        let bounded = nothing.bounded();
        assert_eq!((bounded.calls_max, bounded.heartbeat, bounded.back_off_max), (1, SPAN_MIN, SPAN_MIN));
        assert_eq!(LinkOptions::default().bounded(), LinkOptions::default());
    }
}
