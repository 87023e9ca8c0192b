//! What a turnstile has seen.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a layer and all of its clones have seen since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnstileStats {
    /// Requests answered here.
    pub denied: u64,
    /// Requests whose peer is no trusted proxy, and that named a client all the same. They were not believed.
    pub untrusted_forwarding: u64,
    /// Requests of which the peer's address is unknown.
    pub without_peer: u64,
    /// Tokens that did not verify: forged, expired, or of a key that is not known. Their requests count as those of nobody.
    pub refused_tokens: u64,
}

/// A count, and whether it has been warned of.
#[derive(Debug, Default)]
pub(crate) struct Count {
    events: AtomicU64,
    is_warned_of: AtomicBool,
}

/// The counts of one turnstile.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) denied: Count,
    pub(crate) untrusted_forwarding: Count,
    pub(crate) without_peer: Count,
    pub(crate) refused_tokens: Count,
}

impl Count {
    pub(crate) fn add(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one, and does what is to be done only once.
    pub(crate) fn add_and(&self, once: impl FnOnce()) {
        self.add();
        if !self.is_warned_of.load(Ordering::Relaxed) && !self.is_warned_of.swap(true, Ordering::Relaxed) {
            once();
        }
    }

    fn read(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }
}

impl Counts {
    pub(crate) fn read(&self) -> TurnstileStats {
        TurnstileStats {
            denied: self.denied.read(),
            untrusted_forwarding: self.untrusted_forwarding.read(),
            without_peer: self.without_peer.read(),
            refused_tokens: self.refused_tokens.read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_counts_and_one_warns() {
        let (count, mut warnings) = (Count::default(), 0);
        for _ in 0..3 {
            count.add_and(|| warnings += 1);
        }
        assert_eq!((count.read(), warnings), (3, 1));
    }
}
