//! What a link may take: times and numbers.

use std::time::Duration;

/// What a link may take. The defaults suit a store within 50 ms.
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

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions {
            calls_max: 1_024,
            dial_timeout: Duration::from_millis(500),
            heartbeat: Duration::from_millis(250),
            silence_max: Duration::from_secs(1),
            poll: Duration::from_millis(500),
            back_off_min: Duration::from_millis(10),
            back_off_max: Duration::from_millis(500),
        }
    }
}
