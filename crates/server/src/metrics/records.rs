//! What is on record, and what became of violations, read when somebody asks.

use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::engine::Engine;

/// Registers the figures of this moment.
pub(super) fn register(engine: &Engine, registry: &mut Registry) {
    let loaded = engine.loaded();
    let gauge = |number: i64| ConstGauge::new(number);
    let orders = i64::try_from(loaded.parts.orders.len()).unwrap_or(i64::MAX);
    registry.register("orders_standing", "Standing orders in force", gauge(orders));
    if let Some(records) = &engine.records {
        let up = gauge(i64::from(records.status().is_ready()));
        registry.register("records_up", "1 if the database answers", up);
        let version = gauge(loaded.parts.rules.version);
        registry.register("records_rules_version", "Version of the database's rules in force", version);
    }
    let Some(violations) = &engine.violations else { return };
    let status = violations.status();
    for (name, help, count) in [
        ("violations_denied", "Denials that were noted", status.counts.denied),
        ("violations_stored", "Denials that are rows of the database", status.counts.stored),
        (
            "violations_sampled_out",
            "Denials that are counted and no rows, on purpose",
            status.counts.sampled_out,
        ),
        ("violations_dropped", "Denials that should have become rows and did not", status.counts.dropped),
    ] {
        registry.register(name, help, ConstCounter::new(count));
    }
    let queued = i64::try_from(status.counts.queued).unwrap_or(i64::MAX);
    registry.register("violations_queued", "Denials that are about to become rows", gauge(queued));
    let failing = gauge(i64::from(status.failing.is_some()));
    registry.register("violations_failing", "1 if nothing can be stored at the moment", failing);
}
