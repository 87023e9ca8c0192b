//! Admissions after which little is left: `tollgate_near_limit_total`. Whoever watches it sees denials coming.
//!
//! Counts for the rule whose bucket holds least, once it is known for the answer; it looks nothing up for itself.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tollgate::policy::Policy;
use tollgate::{Decision, Standing, Tokens, Verdict};

use super::checks::label_of;

/// Less than this part of a full bucket is near the limit, in percent.
const NEAR_LIMIT_PERCENT: u128 = 10;
const MICROS_PER_TOKEN: u128 = 1_000_000;

type RuleLabel = [(&'static str, String); 1];

/// The counters.
pub(crate) struct NearLimit {
    family: Family<RuleLabel, Counter>,
    /// Those of the rules in force, so that a check builds no labels.
    of_rules: ArcSwap<HashMap<Box<str>, Counter>>,
}

impl NearLimit {
    pub(super) fn registered(registry: &mut Registry) -> NearLimit {
        let family = Family::<RuleLabel, Counter>::default();
        registry.register(
            "near_limit",
            "Admissions after which the tightest bucket holds less than 10 % of its burst",
            family.clone(),
        );
        NearLimit { family, of_rules: ArcSwap::default() }
    }

    /// Makes counters for the rules of a policy, and drops those of rules that are gone.
    pub(super) fn follow_policy(&self, policy: &Policy) {
        let counter = |name: &str| self.family.get_or_create(&label(name)).clone();
        let of_rules = policy.rules.iter().map(|rule| (rule.name.clone(), counter(label_of(rule)))).collect();
        let before = self.of_rules.swap(Arc::new(of_rules));
        let now = self.of_rules.load();
        for rule in before.keys().filter(|name| !now.contains_key(*name)) {
            self.family.remove(&label(rule));
        }
    }

    /// Counts an admission whose tightest bucket is nearly empty; then it says whose that is.
    pub(crate) fn note<'r>(&self, decision: &Decision, tightest: Option<Standing<'r>>) -> Option<&'r str> {
        if let (Some(Verdict::Admit { remaining, .. }), Some(tightest)) = (decision.verdict(), tightest)
            && is_near(remaining, tightest.quota())
        {
            if let Some(counter) = self.of_rules.load().get(tightest.rule()) {
                counter.inc();
            }
            return Some(tightest.rule());
        }
        None
    }
}

fn is_near(remaining: Tokens, quota: u64) -> bool {
    u128::from(remaining.as_micros()) * 100 < u128::from(quota) * MICROS_PER_TOKEN * NEAR_LIMIT_PERCENT
}

fn label(rule: &str) -> RuleLabel {
    [("rule", rule.to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_tenth_is_near_and_a_tenth_is_not() {
        let near = |micros: u64, quota: u64| is_near(Tokens::from_micros(micros), quota);
        assert!(near(0, 1) && near(99_999, 1) && !near(100_000, 1));
        assert!(near(9_999_999, 100) && !near(10_000_000, 100));
        assert!(!near(u64::MAX, u64::MAX / 1_000_000) && near(0, u64::MAX));
    }
}
