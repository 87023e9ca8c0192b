//! What was done in about a second.

use serde::Serialize;

use super::store::OfStore;

/// One beat.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Beat {
    /// When it ended, in milliseconds since 1970.
    pub(super) at_ms: u64,
    /// How long it took, in milliseconds.
    pub(super) ms: u64,
    pub(super) total: Done,
    /// None if nothing was checked.
    pub(super) latency_us: Option<Latency>,
    /// Buckets that the tables hold.
    pub(super) keys: u64,
    /// Buckets that were not full and had to make room.
    pub(super) evicted: u64,
    pub(super) store: OfStore,
    /// Those that did anything, in the policy's order.
    pub(super) rules: Vec<OfRule>,
    /// Rules that did something and are left out.
    pub(super) left_out: usize,
}

/// What became of checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Done {
    pub(super) admitted: u64,
    pub(super) denied: u64,
    /// Those that a rule which only watches would have denied; whatever became of them, it is counted there, too.
    pub(super) shadow: u64,
    pub(super) refused: u64,
}

/// How long checks took, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Latency {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

/// What one rule did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct OfRule {
    pub(super) name: Box<str>,
    #[serde(flatten)]
    pub(super) done: Done,
}

impl Done {
    /// All of these checks.
    pub(super) fn checks(&self) -> u64 {
        self.admitted + self.denied + self.refused
    }

    pub(super) fn is_nothing(&self) -> bool {
        *self == Done::default()
    }

    /// What was done since another count. Who counts anew counts from 0.
    pub(super) fn since(&self, before: &Done) -> Done {
        let since = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        Done {
            admitted: since(self.admitted, before.admitted),
            denied: since(self.denied, before.denied),
            shadow: since(self.shadow, before.shadow),
            refused: since(self.refused, before.refused),
        }
    }
}
