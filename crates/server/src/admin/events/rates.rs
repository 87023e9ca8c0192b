//! What each rule did since somebody last looked.

use std::collections::HashMap;

use serde::Serialize;
use tollgate::Moment;

use crate::engine::Engine;
use crate::metrics::RuleCounts;

/// Most rules of one event; of the others it is said how many there are.
const RULES_MAX: usize = 200;

/// What was counted when somebody last looked.
#[derive(Debug)]
pub(super) struct Rates {
    before: HashMap<Box<str>, RuleCounts>,
    at: Moment,
}

/// What was counted since.
#[derive(Debug, Serialize)]
pub(super) struct Counted {
    /// How long it took, in milliseconds.
    ms: u64,
    /// Those that did anything.
    rules: Vec<OfRule>,
    /// Rules that did something and are left out.
    left_out: usize,
    /// Violations that nobody was told of.
    violations_left_out: u64,
}

#[derive(Debug, Serialize)]
struct OfRule {
    name: Box<str>,
    admitted: u64,
    denied: u64,
    refused: u64,
}

impl Rates {
    pub(super) fn begin(engine: &Engine) -> Rates {
        let mut rates = Rates { before: HashMap::new(), at: engine.limiter.limiter().now() };
        rates.since_last(engine, 0);
        rates
    }

    /// What was counted since the last time.
    pub(super) fn since_last(&mut self, engine: &Engine, violations_left_out: u64) -> Counted {
        let now = engine.limiter.limiter().now();
        let ms = now.since(self.at).as_nanos() / 1_000_000;
        let mut counted = Counted { ms, rules: Vec::new(), left_out: 0, violations_left_out };
        let policy = engine.limiter.policy();
        let mut after = HashMap::with_capacity(policy.rules.len());
        for rule in &policy.rules {
            let counts = engine.metrics.checks.of_rule(&rule.name);
            // A rule that is new to the policy may count from 0 again.
            let before = self.before.get(&rule.name).copied().unwrap_or_default();
            let of_rule = OfRule {
                name: rule.name.clone(),
                admitted: counts.admitted.saturating_sub(before.admitted),
                denied: counts.denied.saturating_sub(before.denied),
                refused: counts.refused.saturating_sub(before.refused),
            };
            after.insert(rule.name.clone(), counts);
            if of_rule.admitted + of_rule.denied + of_rule.refused == 0 {
                continue;
            }
            if counted.rules.len() < RULES_MAX {
                counted.rules.push(of_rule);
            } else {
                counted.left_out += 1;
            }
        }
        (self.before, self.at) = (after, now);
        counted
    }
}
