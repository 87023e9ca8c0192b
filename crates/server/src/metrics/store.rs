//! What the shared store has been through, read when somebody asks.

use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tollgate_core::BreakerState;
use tollgate_redis::RedisLedger;

/// Registers the figures of this moment.
pub(super) fn register(ledger: &RedisLedger, registry: &mut Registry) {
    let counts = ledger.counts();
    for (name, help, count) in [
        (
            "store_operations",
            "Questions and operations that were sent to the shared store",
            counts.coalescer.operations,
        ),
        ("store_round_trips", "Round trips to the shared store", counts.link.round_trips),
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
        ("store_late_answers", "Answers of the shared store that came after their deadline", counts.late),
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
    registry.register(
        "store_local_buckets",
        "Buckets that this instance keeps by its share",
        ConstGauge::new(i64::try_from(counts.local_buckets).unwrap_or(i64::MAX)),
    );
}
