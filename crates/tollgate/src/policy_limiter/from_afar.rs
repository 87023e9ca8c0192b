//! Requests that another program asks about: reserved now and settled by name later, or retried without being charged twice.

use arrayvec::ArrayVec;
use tollgate_core::{Algorithm, Span};
use tollgate_policy::{Action, Facts, Rule as PolicyRule, SHADOW_HITS_MAX};

use super::decision::Decision;
use super::in_force::InForce;
use crate::{Charge, Key, Reservation, ReserveError};

impl InForce<'_> {
    /// Decides a request and charges it, to be settled by the reservation's name within `timeout`: committed at its true cost, or
    /// cancelled, which gives places at work back too. Without a reservation nothing was charged: the request is refused or
    /// denied, or no rule applies to it. Rules that only watch are charged their estimate for good.
    pub fn reserve(
        self,
        facts: &Facts<'_>,
        timeout: Span,
    ) -> Result<(Decision, Option<Reservation>), ReserveError> {
        let InForce { limiter: by_policy, ruleset } = self;
        let limiter = &by_policy.inner.limiter;
        let mut watched = ArrayVec::<(usize, Charge), SHADOW_HITS_MAX>::new();
        let mut decision = Decision::undecided(ruleset);
        decision.gather(by_policy, facts, |rule, charge| _ = watched.try_push((rule, charge)));
        let mut reservation = None;
        if !decision.asked.charges().is_empty() && decision.refused.is_none() {
            match limiter.reserve(decision.asked.charges(), timeout) {
                Ok(made) => {
                    decision.verdict = made.verdict();
                    reservation = Some(made);
                }
                Err(ReserveError::Denied(verdict)) => {
                    decision.verdict = Some(verdict);
                    decision.note_denied();
                }
                Err(error) => return Err(error),
            }
        }
        decision.watch(by_policy, &watched);
        decision.note_client(facts);
        Ok((decision, reservation))
    }

    /// [`InForce::check`], once: a retry of the very same request with the same `idempotency_key` within `lifetime` of its admission
    /// is told the same and costs nothing; see [`crate::Limiter::check_once`]. Rules that only watch are charged once, too. A
    /// request that takes places at work is not remembered: it holds none once it was answered. For the same reason a rule of
    /// places that only watches is looked at and takes none.
    pub fn check_once(self, facts: &Facts<'_>, idempotency_key: impl Key, lifetime: Span) -> Decision {
        let InForce { limiter: by_policy, ruleset } = self;
        let limiter = &by_policy.inner.limiter;
        let mut watched = ArrayVec::<(usize, Charge), SHADOW_HITS_MAX>::new();
        let mut decision = Decision::undecided(ruleset);
        decision.gather(by_policy, facts, |rule, charge| _ = watched.try_push((rule, charge)));
        let holds_places = decision.rules().any(takes_places);
        if decision.asked.charges().is_empty() || decision.refused.is_some() {
            // There is nothing to charge.
        } else if holds_places {
            decision.charge(limiter);
        } else {
            let verdict = limiter.check_once(&idempotency_key, lifetime, decision.asked.charges());
            decision.verdict = Some(verdict);
            decision.note_denied();
        }
        if holds_places {
            decision.watch(by_policy, &watched);
        } else if let Some(shadow) = by_policy.inner.shadow.get() {
            let mut is_any_denied = false;
            for (rule, charge) in watched {
                let is_charged =
                    decision.is_admitted() && !decision.policy().rules.get(rule).is_some_and(takes_places);
                let verdict = if is_charged {
                    shadow.check_once(&idempotency_key, lifetime, &[charge])
                } else {
                    shadow.peek_all(&[charge])
                };
                if !verdict.is_admitted() {
                    decision.ruleset.note_shadow_denied(rule);
                    is_any_denied = true;
                }
            }
            if is_any_denied {
                decision.ruleset.note_check_shadow_denied();
            }
        }
        decision.note_client(facts);
        decision
    }
}

/// Whether a rule takes places at work.
fn takes_places(rule: &PolicyRule) -> bool {
    matches!(rule.action, Action::Limit(Algorithm::Concurrency(_)))
}

#[cfg(test)]
mod tests {
    use tollgate_core::{Cost, Moment};
    use tollgate_policy::Policy;

    use super::*;
    use crate::{Clock, Limiter, PolicyLimiter};

    fn limiter(policy: &str) -> PolicyLimiter {
        let policy = Policy::parse("p.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let clock = Clock::manual(Moment::from_nanos(1));
        Limiter::builder().clock(clock).keys_max(64).build_with_policy(policy).unwrap()
    }

    fn left(limiter: &PolicyLimiter, facts: &Facts<'_>) -> u64 {
        let decision = limiter.peek(facts);
        limiter.balances(&decision).next().unwrap().whole()
    }

    const MINUTE: Span = Span::from_secs(60);

    #[test]
    fn a_reserved_request_is_settled_at_its_true_cost_or_cancelled() {
        let limiter = limiter("{name: all, scope: global, rate: 1/s, burst: 10, fixed_cost: 5}");
        let facts = Facts::new("GET", "/");
        let (decision, reservation) = limiter.policy().reserve(&facts, MINUTE).unwrap();
        assert!(decision.is_admitted());
        assert_eq!(left(&limiter, &facts), 5);
        reservation.unwrap().commit(Cost::tokens(2)).unwrap();
        assert_eq!(left(&limiter, &facts), 8);
        let (_, reservation) = limiter.policy().reserve(&facts, MINUTE).unwrap();
        reservation.unwrap().cancel().unwrap();
        assert_eq!(left(&limiter, &facts), 8);
        let _ = limiter.check(&facts);
        let (denied, reservation) = limiter.policy().reserve(&facts, MINUTE).unwrap();
        assert!(!denied.is_admitted() && reservation.is_none());
        assert_eq!((left(&limiter, &facts), limiter.rule_stats(0).denied), (3, 1));
    }

    #[test]
    fn a_place_is_taken_by_a_reservation_and_given_back_when_it_is_cancelled() {
        let limiter = limiter("{name: jobs, scope: global, algorithm: concurrency, places: 1, timeout: 1h}");
        let facts = Facts::new("GET", "/");
        let (_, reservation) = limiter.policy().reserve(&facts, MINUTE).unwrap();
        assert!(!limiter.check(&facts).is_admitted());
        reservation.unwrap().cancel().unwrap();
        assert!(limiter.check(&facts).is_admitted());
    }

    #[test]
    fn a_retried_request_is_charged_once_by_enforced_and_by_watching_rules() {
        let limiter = limiter(
            "rules: [{name: all, scope: global, rate: 1/h, burst: 2}, {name: w, scope: global, rate: 1/h, burst: 1, mode: shadow}]",
        );
        let facts = Facts::new("GET", "/");
        for _ in 0..5 {
            assert!(limiter.policy().check_once(&facts, "order-7", MINUTE).is_admitted());
        }
        assert_eq!((left(&limiter, &facts), limiter.rule_stats(1).shadow_denied), (1, 0));
        assert!(limiter.policy().check_once(&facts, "order-8", MINUTE).is_admitted());
        assert!(!limiter.policy().check_once(&facts, "order-9", MINUTE).is_admitted());
        assert_eq!((limiter.rule_stats(0).denied, limiter.rule_stats(1).shadow_denied), (1, 2));
        assert_eq!(limiter.checks_shadow_denied(), 2);
    }

    #[test]
    fn a_retry_takes_no_place_of_a_rule_that_only_watches_and_is_no_denial_by_it() {
        let limiter = limiter(
            "{rules: [{name: jobs, scope: global, algorithm: concurrency, places: 1, timeout: 1h, mode: shadow},
              {name: all, scope: global, rate: 1/s, burst: 10}]}",
        );
        let facts = Facts::new("GET", "/");
        for _ in 0..3 {
            assert!(limiter.policy().check_once(&facts, "order-7", MINUTE).is_admitted());
        }
        assert_eq!((left(&limiter, &facts), limiter.rule_stats(0).shadow_denied), (9, 0));
    }
}
