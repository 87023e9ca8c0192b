//! A policy limiter on a manual clock, and requests to put to it.

use tollgate::policy::{Facts, Policy};
use tollgate::{Clock, Decision, Limiter, Moment, PolicyLimiter, Span};

/// A policy in force, and the time.
pub(crate) struct World {
    pub(crate) limiter: PolicyLimiter,
    pub(crate) clock: Clock,
}

impl World {
    pub(crate) fn of(policy: &str) -> World {
        // Any moment will do, but a calendar should not start at 1970.
        let clock = Clock::manual(Moment::from_nanos(1_800_000_000_000_000_000));
        let limiter = Limiter::builder().clock(clock.clone()).build_with_policy(parse(policy));
        World { limiter: limiter.unwrap(), clock }
    }

    /// How many of `requests` equal requests are admitted.
    pub(crate) fn admitted(&self, requests: usize, facts: &Facts<'_>) -> usize {
        (0..requests).filter(|_| self.limiter.check(facts).is_admitted()).count()
    }

    pub(crate) fn check(&self, facts: &Facts<'_>) -> Decision {
        self.limiter.check(facts)
    }

    pub(crate) fn pass(&self, millis: u64) {
        self.clock.advance(Span::from_millis(millis));
    }
}

pub(crate) fn parse(policy: &str) -> Policy {
    Policy::parse("policy.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// A `GET` of `/` from one address.
pub(crate) fn from_address(last: u8) -> Facts<'static> {
    Facts { address: Some([192, 0, 2, last].into()), ..Facts::new("GET", "/") }
}

/// A `GET` of `target` by a user on a plan.
pub(crate) fn by_user<'a>(user: &'a str, plan: &'a str, target: &'a str) -> Facts<'a> {
    Facts { user: Some(user), plan: Some(plan), ..Facts::new("GET", target) }
}

/// The names of the rules that denied.
pub(crate) fn violated(decision: &Decision) -> Vec<&str> {
    decision.violated().map(|rule| &*rule.name).collect()
}
