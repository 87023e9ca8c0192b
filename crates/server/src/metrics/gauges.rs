//! What the limiter counts itself: read when somebody asks.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use tollgate::policy::Policy;

use super::checks::{EXPLICIT, label_of};
use crate::engine::Engine;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabel {
    rule: Box<str>,
}

/// Registers the figures of this moment.
pub(super) fn register(engine: &Arc<Engine>, registry: &mut Registry) {
    let stats = engine.limiter.limiter().stats();
    let explicit = stats.explicit;
    let gauge = |count: u64| ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
    let size = |count: usize| gauge(count as u64);
    registry.register("keys", "Buckets that the tables hold, at most keys_max", gauge(stats.keys()));
    registry.register(
        "keys_max",
        "Buckets that the tables have room for",
        size(stats.keys_max + explicit.keys_max),
    );
    registry.register(
        "evictions",
        "Active buckets evicted for a new client",
        ConstCounter::new(stats.evicted + explicit.evicted),
    );
    registry.register(
        "newcomers_denied",
        "Checks of new clients denied because no slot was free",
        ConstCounter::new(stats.denied_new + explicit.denied_new),
    );
    registry.register(
        "reservations_open",
        "Reservations that are not settled yet",
        size(stats.reservations_open),
    );
    registry.register(
        "idempotency_keys",
        "Idempotency keys that are remembered",
        size(stats.idempotency_keys),
    );

    let loaded = engine.loaded();
    let policy = engine.limiter.policy();
    registry.register(
        "policy_version",
        "Policies that came into force since the start",
        gauge(loaded.version),
    );
    registry.register("policy_rules", "Rules of the policy in force", size(policy.rules.len()));
    registry.register(
        "policy_outdated",
        "1 if something later was refused: a text of the policy, or what the database says",
        gauge(u64::from(loaded.refused.is_some())),
    );
    let labels = [("name", policy.name.to_string()), ("hash", loaded.hash.clone())];
    registry.register("policy", "The policy in force", Info::new(labels));
    let (keys, outdated) = engine.tokens.figures();
    registry.register("token_keys", "Keys that tokens are verified with", size(keys));
    registry.register(
        "jwks_outdated",
        "Key sets that have not come yet, or could not be fetched the last time",
        size(outdated),
    );
    register_rules(engine, &policy, registry);
}

/// Registers the figures that each rule has of its own.
fn register_rules(engine: &Engine, policy: &Policy, registry: &mut Registry) {
    let shadow_denied = Family::<RuleLabel, Counter>::default();
    let unusable_costs = Family::<RuleLabel, Counter>::default();
    let log_entries = Family::<RuleLabel, Gauge>::default();
    let log_entries_max = Family::<RuleLabel, Gauge>::default();
    let fallbacks = Family::<RuleLabel, Counter>::default();
    for (at, rule) in policy.rules.iter().enumerate() {
        let stats = engine.limiter.rule_stats(at);
        let label = RuleLabel { rule: label_of(rule).into() };
        shadow_denied.get_or_create(&label).inc_by(stats.shadow_denied);
        unusable_costs.get_or_create(&label).inc_by(stats.unusable_costs);
        // The logs of a shared store are not here, nor is their bound.
        if engine.ledger.is_none() && stats.log_entries_max > 0 {
            let clamped = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
            log_entries.get_or_create(&label).set(clamped(stats.log_entries));
            log_entries_max.get_or_create(&label).set(clamped(stats.log_entries_max));
        }
        if engine.ledger.is_some() {
            fallbacks.get_or_create(&label).inc_by(stats.fallbacks);
        }
    }
    if engine.ledger.is_none() {
        registry.register(
            "log_entries",
            "Entries in the logs of exact sliding windows, by rule",
            log_entries,
        );
        registry.register(
            "log_entries_max",
            "Maximum number of entries in the logs of exact sliding windows, by rule",
            log_entries_max,
        );
    }
    registry.register(
        "policy_shadow_denials",
        "Checks that a rule would have denied, had it been enforced, since the policy came into force",
        shadow_denied,
    );
    if let Some(ledger) = &engine.ledger {
        let explicit = RuleLabel { rule: EXPLICIT.into() };
        fallbacks.get_or_create(&explicit).inc_by(ledger.counts().explicit_fallbacks);
        registry.register(
            "policy_fallbacks",
            "Checks decided without a reply of the shared store, by rule, since the policy was loaded (`(explicit)`: since the start)",
            fallbacks,
        );
    }
    registry.register(
        "policy_unusable_costs",
        "Requests whose own cost was of no use to a rule, since the policy came into force",
        unusable_costs,
    );
}
