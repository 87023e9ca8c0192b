//! What the shared store has been through, read when somebody asks.

use std::fmt;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tollgate_core::BreakerState;
use tollgate_redis::{LATENCY_BOUNDS_MICROS, LedgerCounts, RedisLedger};

/// Registers the figures of this moment.
pub(super) fn register(ledger: &RedisLedger, registry: &mut Registry) {
    let counts = ledger.counts();
    for (name, help, count) in [
        (
            "store_operations",
            "Questions and operations that were sent to the shared store",
            counts.coalescer.operations,
        ),
        (
            "store_round_trips",
            "Round trips to the shared store for questions and operations",
            counts.link.round_trips,
        ),
        (
            "store_upkeep_round_trips",
            "Round trips to the shared store for records of limits and reservations, and to count instances",
            counts.link.upkeep_round_trips,
        ),
        ("store_timeouts", "Questions that the shared store did not answer in time", counts.timed_out),
        ("store_failures", "Questions that the shared store did not answer otherwise", counts.failed),
        ("store_fallbacks", "Checks that were decided without the shared store", counts.fallbacks),
        (
            "store_denials_remembered",
            "Checks that were denied by what the store had said before",
            counts.denials_remembered,
        ),
        ("store_released", "Buckets that a check over several slots held and gave back", counts.released),
        (
            "store_unreleased",
            "Buckets that a check over several slots held and could not give back",
            counts.unreleased,
        ),
        ("store_lease_hits", "Checks that slices of leased buckets decided", counts.lease_hits),
        ("store_lease_asks", "Asks for slices of leased buckets", counts.lease_asks),
        ("store_late_answers", "Answers of the shared store that came after their deadline", counts.late),
        (
            "store_late_charges",
            "Buckets charged late for checks that this instance admitted without the store's reply",
            counts.late_charges,
        ),
    ] {
        registry.register(name, help, ConstCounter::new(count));
    }
    let breaker = match counts.breaker {
        BreakerState::Closed => 0,
        BreakerState::HalfOpen => 1,
        BreakerState::Open => 2,
    };
    registry.register(
        "store_breaker",
        "Whether the shared store is asked: 0 yes, 1 it is tried, 2 no",
        ConstGauge::new(i64::from(breaker)),
    );
    registry.register(
        "store_instances",
        "Instances that share the store, as far as it knows",
        ConstGauge::new(i64::from(counts.instances)),
    );
    for (name, help, micros) in [
        (
            "store_lease_returned_tokens",
            "Tokens of slices that were given back unspent",
            counts.lease_returned_micros,
        ),
        (
            "store_lease_stranded_tokens",
            "Tokens of slices that ended unspent on this instance",
            counts.lease_stranded_micros,
        ),
    ] {
        registry.register(name, help, ConstCounter::new(tokens(micros)));
    }
    registry.register(
        "store_leased_buckets",
        "Buckets that this instance has slices of",
        ConstGauge::new(i64::try_from(counts.leased_buckets).unwrap_or(i64::MAX)),
    );
    registry.register(
        "store_duration_seconds",
        "How long the shared store took to answer",
        Latency::of(&counts),
    );
    registry.register(
        "store_limits_overruled",
        "Rules that have another limit in force, which another instance has declared",
        ConstGauge::new(i64::try_from(counts.limits_overruled).unwrap_or(i64::MAX)),
    );
    registry.register(
        "store_local_buckets",
        "Buckets that this instance keeps by its share",
        ConstGauge::new(i64::try_from(counts.local_buckets).unwrap_or(i64::MAX)),
    );
}

/// Micro-tokens as tokens.
#[expect(clippy::cast_precision_loss, reason = "a page for people; sums of micro-tokens round above 2^53")]
fn tokens(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// How long the store took to answer, up to this moment.
#[derive(Debug)]
struct Latency {
    within: [u64; LATENCY_BOUNDS_MICROS.len() + 1],
    sum_micros: u64,
}

impl Latency {
    fn of(counts: &LedgerCounts) -> Latency {
        Latency { within: counts.latency, sum_micros: counts.latency_sum_micros }
    }
}

impl EncodeMetric for Latency {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a page for people; sums of microseconds round above 2^53"
    )]
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let seconds = |micros: u64| micros as f64 / 1e6;
        let bounds = LATENCY_BOUNDS_MICROS.map(seconds).into_iter().chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(self.within).collect();
        let count = self.within.iter().sum();
        encoder.encode_histogram::<NoLabelSet>(seconds(self.sum_micros), count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}
