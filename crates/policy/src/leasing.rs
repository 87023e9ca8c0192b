//! Which rules are large enough for leases (S4). Slices of a small bucket lie idle with instances that do not need them, so
//! such a rule stays exact, whatever it says.
//!
//! Judges figures alone. Whether there is a store, and how many instances share it, is the caller's to know.

use tollgate_core::{Algorithm, Limit, Span, Tokens};

use crate::{Action, Policy, Rule, StoreSettings};

/// A bucket must hold so many requests of the usual cost for each instance.
const BURST_REQUESTS_MIN: u128 = 50;
/// So many must come back for each instance in one epoch of leases.
const MINTED_REQUESTS_MIN: u128 = 100;

/// Why a rule cannot lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CannotLease {
    /// It has no token bucket.
    NoTokenBucket,
    /// Its figures are too small. At least one of these is there.
    TooSmall {
        /// What the bucket must hold, if it holds less.
        burst_min: Option<Tokens>,
        /// What must come back in one epoch, if less does.
        minted_min: Option<Tokens>,
    },
}

impl Policy {
    /// Whether a rule of this policy can lease, by what `store` says: the one instance that is there at least, if it says
    /// nothing of instances.
    pub fn can_lease(&self, rule: &Rule) -> Result<(), CannotLease> {
        rule.can_lease(self.instances_at_least(), self.lease())
    }

    /// The instances that `store` names; one if it names none.
    pub(crate) fn instances_at_least(&self) -> u32 {
        self.store.as_ref().and_then(|store| store.instances_max).unwrap_or(1)
    }

    /// The epoch of leases.
    pub(crate) fn lease(&self) -> Span {
        self.store.as_ref().map_or(StoreSettings::default().lease, |store| store.lease)
    }
}

impl Rule {
    /// Whether its buckets can be leased to so many instances in epochs of `lease`, whatever its `consistency` says. The cost
    /// that counts is the usual one: the fixed or the default cost.
    pub fn can_lease(&self, instances: u32, lease: Span) -> Result<(), CannotLease> {
        let limit = self.token_bucket().ok_or(CannotLease::NoTokenBucket)?;
        let needed = |requests: u128, there: Tokens| {
            let micros = requests * u128::from(instances) * u128::from(self.cost.default.as_micros());
            let needed = Tokens::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
            (there < needed).then_some(needed)
        };
        let burst_min = needed(BURST_REQUESTS_MIN, limit.burst());
        let minted_min = needed(MINTED_REQUESTS_MIN, limit.minted_in(lease));
        match (burst_min, minted_min) {
            (None, None) => Ok(()),
            _ => Err(CannotLease::TooSmall { burst_min, minted_min }),
        }
    }

    /// To how many instances its buckets can be leased at most, in epochs of `lease`.
    pub(crate) fn leasing_instances_max(&self, lease: Span) -> u64 {
        let Some(limit) = self.token_bucket() else { return 0 };
        let shares = |there: Tokens, requests: u128| {
            let share = requests * u128::from(self.cost.default.as_micros());
            u64::try_from(u128::from(there.as_micros()) / share.max(1)).unwrap_or(u64::MAX)
        };
        shares(limit.burst(), BURST_REQUESTS_MIN).min(shares(limit.minted_in(lease), MINTED_REQUESTS_MIN))
    }

    /// Its token bucket, if that is how it limits.
    pub(crate) fn token_bucket(&self) -> Option<Limit> {
        match self.action {
            Action::Limit(Algorithm::TokenBucket(limit)) => Some(limit),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::{Burst, Cost, Rate};

    use super::*;
    use crate::CostPlan;
    use crate::built_by_hand::{policy, rule};

    const EPOCH: Span = Span::from_millis(400);

    fn bucket(rate: Rate, burst: u64, cost: Cost) -> Rule {
        let cost = CostPlan { default: cost, ..CostPlan::ONE };
        let action = Action::Limit(Limit::new(rate, Burst::tokens(burst)).unwrap().into());
        Rule { action, cost, ..rule("r") }
    }

    #[test]
    fn a_rule_leases_exactly_from_fifty_in_the_bucket_and_a_hundred_per_epoch_on() {
        let four =
            |per_second, burst| bucket(Rate::per_second(per_second), burst, Cost::ONE).can_lease(4, EPOCH);
        let tokens = |tokens: u64| Some(Tokens::from_micros(tokens * 1_000_000));
        assert_eq!(four(1_000, 200), Ok(()));
        let small = CannotLease::TooSmall { burst_min: tokens(200), minted_min: None };
        assert_eq!(four(1_000, 199), Err(small));
        let slow = CannotLease::TooSmall { burst_min: None, minted_min: tokens(400) };
        assert_eq!(four(999, 200), Err(slow));
        let both = CannotLease::TooSmall { burst_min: tokens(200), minted_min: tokens(400) };
        assert_eq!(four(10, 20), Err(both));
    }

    #[test]
    fn the_usual_cost_the_instances_and_the_epoch_all_count() {
        let rule = |cost| bucket(Rate::per_second(1_000), 200, cost);
        assert!(rule(Cost::tokens(2)).can_lease(4, EPOCH).is_err());
        assert!(rule(Cost::tokens(2)).can_lease(2, EPOCH).is_ok());
        assert!(rule(Cost::micros(500_000)).can_lease(8, EPOCH).is_ok());
        assert!(rule(Cost::micros(500_000)).can_lease(9, EPOCH).is_err());
        assert!(rule(Cost::ONE).can_lease(4, Span::from_millis(399)).is_err());
    }

    #[test]
    fn the_most_instances_are_the_last_that_can_lease() {
        let mut rng = fastrand::Rng::with_seed(0x6c_65_61_73_65);
        for _ in 0..10_000 {
            let rate = Rate::new(rng.u64(1..1_000_000), Span::from_secs(rng.u64(1..100)));
            let (burst, cost) = (rng.u64(1..1_000_000), Cost::micros(rng.u64(1..10_000_000)));
            let (rule, epoch) = (bucket(rate, burst, cost), Span::from_millis(rng.u64(100..10_000)));
            let most = u32::try_from(rule.leasing_instances_max(epoch)).unwrap_or(u32::MAX - 1);
            assert!(most == 0 || rule.can_lease(most, epoch).is_ok(), "{rule:?} {most}");
            assert!(rule.can_lease(most + 1, epoch).is_err() || most == u32::MAX - 1, "{rule:?} {most}");
        }
    }

    #[test]
    fn the_largest_figures_are_judged_without_overflow() {
        let huge =
            bucket(Rate::per_second(1_000_000_000), 1_000_000_000_000, Cost::tokens(1_000_000_000_000));
        assert!(matches!(huge.can_lease(u32::MAX, EPOCH), Err(CannotLease::TooSmall { .. })));
        assert_eq!(huge.leasing_instances_max(EPOCH), 0);
    }

    #[test]
    fn a_policy_judges_by_what_it_says_of_its_store() {
        let rule = || bucket(Rate::per_second(1_000), 200, Cost::ONE);
        let mut policy = policy(vec![rule()]);
        assert_eq!(policy.can_lease(&rule()), Ok(()));
        let store = |instances| StoreSettings { instances_max: Some(instances), ..StoreSettings::default() };
        for (instances, can) in [(4, true), (5, false)] {
            policy.store = Some(store(instances));
            assert_eq!(policy.can_lease(&rule()).is_ok(), can, "{instances}");
        }
        let blocked = Rule { action: Action::Block, ..rule() };
        assert_eq!(policy.can_lease(&blocked), Err(CannotLease::NoTokenBucket));
    }
}
