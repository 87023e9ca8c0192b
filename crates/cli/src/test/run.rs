//! Plays one case on a limiter of its own.

use tollgate::policy::{Action, Case, Policy, Step};
use tollgate::{Algorithm, CHARGES_MAX, Clock, Decision, Limiter, Moment, PolicyLimiter, Refused, Span};

use super::comparison::{Came, Difference, differences};
use crate::problem::Problem;

/// Every case begins here: midnight of 1 January 2000, UTC, a Saturday. Windows of the calendar are counted from it.
pub(super) const BEGINNING: Moment = Moment::from_nanos(946_684_800_000_000_000);
/// Room for so many buckets, however few a case can touch.
const KEYS_MIN: usize = 1_024;

/// A case that was played.
pub(super) struct Tried<'c> {
    pub(super) case: &'c Case,
    /// The steps that did not go as expected, in order.
    pub(super) failures: Vec<Failure<'c>>,
}

/// A step that did not go as expected.
pub(super) struct Failure<'c> {
    pub(super) step: &'c Step,
    pub(super) differences: Vec<Difference>,
}

/// Plays all steps; one that fails does not end the case.
pub(super) fn run<'c>(case: &'c Case, policy: &Policy) -> Result<Tried<'c>, Problem> {
    let clock = Clock::manual(BEGINNING);
    let builder = Limiter::builder().keys_max(keys(case)).clock(clock.clone());
    let limiter = builder.build_with_policy(policy.clone())?;
    let takes_places =
        policy.rules.iter().any(|rule| matches!(rule.action, Action::Limit(Algorithm::Concurrency(_))));
    let mut failures = Vec::new();
    for step in &case.steps {
        clock.set(BEGINNING + step.at);
        let differences = differences(&step.expected, &came(step, &limiter, takes_places));
        if !differences.is_empty() {
            failures.push(Failure { step, differences });
        }
    }
    Ok(Tried { case, failures })
}

/// Room for every bucket that a case can touch, and as much to spare: nobody is crowded out of a test.
fn keys(case: &Case) -> usize {
    // Of the rules that only watch, as many may be charged as of those that enforce.
    let buckets = case.steps.len().saturating_mul(2 * CHARGES_MAX);
    buckets.saturating_mul(2).max(KEYS_MIN)
}

/// What comes of a step. Requests of one step are at work at the same time, so those that take places keep them until its end.
fn came(step: &Step, limiter: &PolicyLimiter, takes_places: bool) -> Came {
    let policy = limiter.policy();
    let seen = step.request.seen_by(&policy);
    let facts = seen.facts();
    let mut at_work = Vec::new();
    let mut came = Came { requests: step.times, ..Came::default() };
    for number in 1..=step.times {
        let before = (number == step.times).then(|| watched(limiter));
        let decision = limiter.check(&facts);
        came.admitted += u32::from(decision.is_admitted());
        if let Some(before) = before {
            let denied = watched(limiter).into_iter().zip(before).map(|(now, before)| now > before);
            let denied = policy.rules.iter().zip(denied).filter(|(_, has_denied)| *has_denied);
            came.would_deny = denied.map(|(rule, _)| rule.name.to_string()).collect();
            came.rules = decision.rules().map(|rule| rule.name.to_string()).collect();
            came.violated = violated(&decision);
            came.retry_after = decision.retry_after().map(Span::from);
        }
        if takes_places {
            at_work.push(decision);
        }
    }
    came
}

/// How often each rule would have denied, had it been enforced.
fn watched(limiter: &PolicyLimiter) -> Vec<u64> {
    let rules = 0..limiter.policy().rules.len();
    rules.map(|rule| limiter.rule_stats(rule).shadow_denied).collect()
}

/// Who did not admit it: rules, or a kill switch.
fn violated(decision: &Decision) -> Vec<String> {
    let policy = decision.policy();
    let rule = |at: usize| policy.rules.get(at).map(|rule| rule.name.to_string());
    match decision.refused() {
        None => decision.violated().map(|rule| rule.name.to_string()).collect(),
        Some(Refused::Blocked { rule: at } | Refused::KeyMissing { rule: at }) => Vec::from_iter(rule(at)),
        Some(Refused::Killed { switch }) => {
            policy.kill_switches.get(switch).map(|switch| switch.name.to_string()).into_iter().collect()
        }
        Some(_) => Vec::new(),
    }
}
