//! Everything that was counted up to a moment; two of them make a beat.

use std::collections::HashMap;
use std::time::Duration;

use tollgate::Moment;

use super::RULES_MAX;
use super::beat::{Beat, Done, Latency, OfRule};
use super::store::{OfStore, StoreTally};
use crate::engine::Engine;
use crate::metrics::DurationCounts;

/// What was counted up to a moment.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) at: Moment,
    at_unix: Duration,
    total: Done,
    durations: DurationCounts,
    keys: u64,
    evicted: u64,
    store: Option<StoreTally>,
    /// Of rules that ever did anything.
    rules: HashMap<Box<str>, Done>,
    /// Which policy shadows are counted of: they begin with it.
    policy: usize,
}

impl Tally {
    pub(super) fn of(engine: &Engine) -> Tally {
        let limiter = &engine.limiter;
        let (policy, checks) = (limiter.policy(), &engine.metrics.checks);
        let mut rules = HashMap::new();
        // Orders are counted all together, and there may be thousands.
        for (at, rule) in policy.rules.iter().enumerate().filter(|(_, rule)| !rule.source.is_order()) {
            let counts = checks.of_rule(&rule.name);
            let shadow = limiter.rule_stats(at).shadow_denied;
            let (admitted, denied, refused) = (counts.admitted, counts.denied, counts.refused);
            let done = Done { admitted, denied, shadow, refused };
            if !done.is_nothing() {
                rules.insert(rule.name.clone(), done);
            }
        }
        let total = checks.total();
        let stats = limiter.limiter().stats();
        Tally {
            at: limiter.limiter().now(),
            at_unix: limiter.wall_time(),
            total: Done {
                admitted: total.admitted,
                denied: total.denied,
                shadow: limiter.checks_shadow_denied(),
                refused: total.refused,
            },
            durations: engine.metrics.durations(),
            keys: stats.keys(),
            evicted: stats.evicted + stats.explicit.evicted,
            store: engine.ledger.as_ref().map(|ledger| StoreTally::of(&ledger.counts())),
            rules,
            policy: std::ptr::from_ref(&*policy).addr(),
        }
    }

    /// What was done since an earlier one.
    pub(super) fn since(&self, before: &Tally, engine: &Engine) -> Beat {
        let is_same_policy = self.policy == before.policy;
        let since = |now: &Done, before: Done| {
            now.since(&if is_same_policy { before } else { Done { shadow: 0, ..before } })
        };
        let total = since(&self.total, before.total);
        let policy = engine.limiter.policy();
        let mut beat = Beat {
            at_ms: u64::try_from(self.at_unix.as_millis()).unwrap_or(u64::MAX),
            ms: self.at.since(before.at).as_nanos() / 1_000_000,
            latency_us: self.durations.since(&before.durations).latency(),
            keys: self.keys,
            evicted: self.evicted.saturating_sub(before.evicted),
            store: OfStore::between(before.store, self.store, &total, engine),
            total,
            rules: Vec::new(),
            left_out: 0,
        };
        for name in policy.rules.iter().map(|rule| &rule.name) {
            let Some(now) = self.rules.get(name) else { continue };
            let done = since(now, before.rules.get(name).copied().unwrap_or_default());
            if done.is_nothing() {
                continue;
            }
            if beat.rules.len() < RULES_MAX {
                beat.rules.push(OfRule { name: name.clone(), done });
            } else {
                beat.left_out += 1;
            }
        }
        beat
    }
}

impl DurationCounts {
    fn latency(&self) -> Option<Latency> {
        Some(Latency { p50: self.percentile_us(50)?, p99: self.percentile_us(99)? })
    }
}
