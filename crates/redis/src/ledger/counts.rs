//! What a ledger has been through, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{BreakerState, Span};

use super::Inner;
use crate::{AskError, CoalescerCounts, LinkCounts};

/// Upper bounds of the latencies that are counted, in microseconds; what is slower is counted last.
pub const LATENCY_BOUNDS_MICROS: [u64; 10] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 15_000, 50_000, 250_000];

/// What a ledger has been through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerCounts {
    /// Checks that were decided by this node alone, since the store did not answer.
    pub fallbacks: u64,
    /// Those of them whose limits came with the call, without peeks.
    pub explicit_fallbacks: u64,
    /// Checks that were denied by what the store had said before.
    pub denials_remembered: u64,
    /// Buckets that a check held and gave back, in Cluster, since another denied or nobody waited any more.
    pub released: u64,
    /// Those that it could not give back: they stay charged until they have refilled.
    pub unreleased: u64,
    /// Questions that the store did not answer in time.
    pub timed_out: u64,
    /// Questions that failed otherwise.
    pub failed: u64,
    /// Answers by how long they took: those within each of [`LATENCY_BOUNDS_MICROS`] and not within the one before, and slower ones.
    pub latency: [u64; LATENCY_BOUNDS_MICROS.len() + 1],
    /// Microseconds that all answers took.
    pub latency_sum_micros: u64,
    /// Answers that came after their deadline, and were reconciled with what this node had decided meanwhile.
    pub late: u64,
    /// Buckets that were charged afterwards, for checks that this node admitted and the store denied or was not asked about.
    pub late_charges: u64,
    /// How many instances share the store, as far as it knows; 0 before this one was counted.
    pub instances: u32,
    /// The most that ever did: what shares are by where `instances_max` is not said.
    pub instances_most: u32,
    /// Checks that were decided by slices of leased buckets alone, without asking the store.
    pub lease_hits: u64,
    /// Asks for such slices, and for them to be taken back.
    pub lease_asks: u64,
    /// Micro-tokens of slices that were given back unspent.
    pub lease_returned_micros: u64,
    /// Micro-tokens of slices that ended unspent on this node.
    pub lease_stranded_micros: u64,
    /// Buckets that this node has slices of.
    pub leased_buckets: usize,
    /// Buckets that this node keeps by its share.
    pub local_buckets: usize,
    /// Rules of this node's policy that have another limit in force, which another node has declared since.
    pub limits_overruled: usize,
    /// Whether the store is asked, by what the checks of the last minute found.
    pub breaker: BreakerState,
    /// What gathered, and what was sent.
    pub coalescer: CoalescerCounts,
    /// The connections.
    pub link: LinkCounts,
}

/// A number that goes up.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long answers took.
#[derive(Debug, Default)]
pub(super) struct Latency {
    within: [Count; LATENCY_BOUNDS_MICROS.len() + 1],
    sum_micros: Count,
}

impl Latency {
    pub(super) fn note(&self, took: Span) {
        let micros = took.as_nanos() / 1_000;
        let at = LATENCY_BOUNDS_MICROS.iter().position(|bound| micros <= *bound);
        let at = at.unwrap_or(LATENCY_BOUNDS_MICROS.len());
        if let Some(count) = self.within.get(at) {
            count.add(1);
        }
        self.sum_micros.add(micros);
    }
}

/// What is counted as it happens.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) fallbacks: Count,
    pub(super) explicit_fallbacks: Count,
    pub(super) denials_remembered: Count,
    pub(super) released: Count,
    pub(super) unreleased: Count,
    pub(super) latency: Latency,
    pub(super) late: Count,
    pub(super) late_charges: Count,
    pub(super) lease_hits: Count,
    pub(super) lease_asks: Count,
    pub(super) lease_returned_micros: Count,
    pub(super) lease_stranded_micros: Count,
    timed_out: Count,
    failed: Count,
}

impl Counters {
    pub(super) fn note_failure(&self, error: &AskError) {
        match error {
            AskError::Link(crate::LinkError::TimedOut) => self.timed_out.add(1),
            _ => self.failed.add(1),
        }
    }

    pub(super) fn read(&self, inner: &Inner) -> LedgerCounts {
        LedgerCounts {
            fallbacks: self.fallbacks.get(),
            explicit_fallbacks: self.explicit_fallbacks.get(),
            denials_remembered: self.denials_remembered.get(),
            released: self.released.get(),
            unreleased: self.unreleased.get(),
            timed_out: self.timed_out.get(),
            failed: self.failed.get(),
            latency: std::array::from_fn(|at| self.latency.within[at].get()),
            latency_sum_micros: self.latency.sum_micros.get(),
            late: self.late.get(),
            late_charges: self.late_charges.get(),
            instances: inner.census.now(),
            instances_most: inner.census.most(),
            lease_hits: self.lease_hits.get(),
            lease_asks: self.lease_asks.get(),
            lease_returned_micros: self.lease_returned_micros.get(),
            lease_stranded_micros: self.lease_stranded_micros.get(),
            leased_buckets: inner.leases.len(),
            local_buckets: inner.locals.len(),
            limits_overruled: inner.rules.overruled(),
            breaker: inner.gate.state(inner.clock.now()),
            coalescer: inner.coalescer.counts(),
            link: inner.coalescer.link().counts(),
        }
    }
}
