//! What a decision is told to its client: where it stands with each rule, read from the buckets when it is asked for.

use std::time::Duration;

use arrayvec::ArrayVec;
use tollgate_core::{Algorithm, CHARGES_MAX, Span, Tokens};
use tollgate_policy::{Action, HeaderProfiles, KillSwitch, Policy, Rule as PolicyRule};

use super::PolicyLimiter;
use super::decision::Decision;
use super::refused::Refused;
use crate::ledger::BucketState;
use crate::{
    Answering, Charge, DraftFields, Limiter, Outcome, Refusal, RefusalKind, Standing, StoreMode, Verdict,
    Violation,
};

/// When to try again if a check was at fault, which no policy should bring about.
const FAULT_WAIT: Span = Span::from_secs(1);

impl PolicyLimiter {
    /// What the bucket of each enforced rule that was asked holds now, in the order of [`Decision::rules`].
    pub fn balances<'d>(&'d self, decision: &'d Decision) -> impl Iterator<Item = Tokens> + 'd {
        let charges = decision.asked.charges().iter().enumerate();
        charges.map(|(at, charge)| match decision.told_of(at) {
            Some(bucket) => bucket.remaining,
            None => self.inner.limiter.balance_of(charge),
        })
    }

    /// Where the client stands now with each enforced rule that was asked, in the order of [`Decision::rules`].
    pub fn standings<'d>(&'d self, decision: &'d Decision) -> impl Iterator<Item = Standing<'d>> + 'd {
        self.standings_at(decision, self.inner.limiter.wall_time())
    }

    fn standings_at<'d>(
        &'d self,
        decision: &'d Decision,
        now: Duration,
    ) -> impl Iterator<Item = Standing<'d>> + 'd {
        let asked = decision.rules().zip(decision.asked.charges()).enumerate();
        asked.filter_map(move |(at, (rule, charge))| {
            standing(&self.inner.limiter, rule, charge, decision.told_of(at), now)
        })
    }

    /// Shows `visit` the header fields of an admission: the same as [`Answering::each_header`] does, and faster.
    #[inline]
    pub fn each_header_of_admission(&self, decision: &Decision, visit: impl FnMut(&str, &str)) {
        let HeaderProfiles { draft, legacy, x } = decision.policy().answers.headers;
        if !(draft || legacy || x) {
            return;
        }
        match decision.draft_fields() {
            Some(fields) => fields.each(visit),
            None => self.answer(decision, |answering| answering.each_header(visit)),
        }
    }

    /// Shows `tell` what to tell the client, by the policy's settings: status, header fields, body. An admission allocates
    /// nothing.
    pub fn answer<T>(&self, decision: &Decision, tell: impl FnOnce(Answering<'_>) -> T) -> T {
        let limiter = &self.inner.limiter;
        let now = if needs_wall_time(decision) { limiter.wall_time() } else { Duration::ZERO };
        let mut violations = ArrayVec::<Violation<'_>, CHARGES_MAX>::new();
        let outcome = match (decision.refused, decision.verdict) {
            (Some(refused), _) => refusal(decision.policy(), refused, now),
            (None, Some(Verdict::Deny { wait, cause, .. })) => {
                violations.extend(violated(limiter, decision, now));
                // The buckets have filled a little since; but what was decided is told.
                if let Some(longest) = violations.iter_mut().max_by_key(|violation| violation.wait) {
                    longest.wait = wait;
                }
                Outcome::Denied { wait, cause, violated: &violations }
            }
            (None, Some(Verdict::Never { .. })) => {
                violations.extend(violated(limiter, decision, now));
                Outcome::Never { violated: &violations }
            }
            // A check that was at fault has let nobody through.
            (None, Some(Verdict::Invalid(_))) => Outcome::Unavailable { wait: FAULT_WAIT },
            (None, _) => Outcome::Admitted { tightest: self.tightest(decision, now) },
        };
        let client = decision.identity().to_le_bytes();
        tell(Answering::new(&decision.policy().answers, outcome, &client, now).in_mode(decision.mode()))
    }

    /// The bucket that an admission tells of; none if it tells nothing.
    fn tightest<'d>(&'d self, decision: &'d Decision, now: Duration) -> Option<Standing<'d>> {
        let HeaderProfiles { draft, legacy, x } = decision.policy().answers.headers;
        if !(draft || legacy || x) {
            return None;
        }
        Standing::tightest(self.standings_at(decision, now))
    }
}

impl Decision {
    /// What a shared ledger said of the bucket of a charge.
    fn told_of(&self, charge: usize) -> Option<&BucketState> {
        self.asked.told()?.0.get(charge)
    }

    /// The header fields of an admission by one token bucket under the draft's profile alone, of which most has been written
    /// before and what is left is known from the check itself. `None` of all others, which may have fields all the same:
    /// [`PolicyLimiter::each_header_of_admission`] shows any.
    #[inline]
    pub fn draft_fields(&self) -> Option<DraftFields> {
        let HeaderProfiles { draft: true, legacy: false, x: false } = self.policy().answers.headers else {
            return None;
        };
        let ([at], Some(Verdict::Admit { remaining, .. })) = (self.asked.rules(), self.verdict) else {
            return None;
        };
        // The text written before is of the whole limit.
        if self.mode() == StoreMode::Fallback {
            return None;
        }
        let (limit, text) = self.ruleset.token_bucket(*at)?;
        // More than the burst where another policy came into force meanwhile.
        let remaining = remaining.min(limit.burst());
        let missing = Tokens::from_micros(limit.burst().as_micros() - remaining.as_micros());
        Some(DraftFields::new(text, remaining, limit.time_to_mint(missing)))
    }
}

/// Whether the answer depends on the time of day: resets told as such, windows of the calendar, kill switches that expire.
fn needs_wall_time(decision: &Decision) -> bool {
    let is_calendar = |rule: &PolicyRule| matches!(rule.action, Action::Limit(Algorithm::FixedWindow(_)));
    decision.refused.is_some() || decision.policy().answers.headers.x || decision.rules().any(is_calendar)
}

/// Where the client stands with one rule.
fn standing<'d>(
    limiter: &Limiter,
    rule: &'d PolicyRule,
    charge: &Charge,
    told: Option<&BucketState>,
    now: Duration,
) -> Option<Standing<'d>> {
    let Action::Limit(algorithm) = &rule.action else { return None };
    if let Some(BucketState { remaining, time_to_full, instances, .. }) = told {
        let standing = Standing::new(&rule.name, rule.scope.name(), algorithm, *remaining, now);
        return Some(standing.full_again_in(*time_to_full).among(*instances));
    }
    let standing = Standing::new(&rule.name, rule.scope.name(), algorithm, limiter.balance_of(charge), now);
    // What a sliding window holds does not say when it will be full.
    let slides = matches!(algorithm, Algorithm::SlidingCounter(_) | Algorithm::SlidingLog(_));
    Some(if slides { standing.full_again_in(limiter.time_to_full(charge)) } else { standing })
}

/// The rules that denied, and how long each of them alone would have the client wait.
fn violated<'d>(
    limiter: &'d Limiter,
    decision: &'d Decision,
    now: Duration,
) -> impl Iterator<Item = Violation<'d>> {
    let denied = decision.denied();
    let asked = decision.rules().zip(decision.asked.charges()).enumerate();
    asked.filter(move |(at, _)| denied.contains(*at)).filter_map(move |(at, (rule, charge))| {
        let told = decision.told_of(at);
        let wait = match told {
            Some(bucket) => bucket.wait,
            None => match limiter.peek_all(&[*charge]) {
                Verdict::Deny { wait, .. } => wait,
                _ => Span::ZERO,
            },
        };
        let standing = standing(limiter, rule, charge, told, now)?;
        Some(Violation { standing, wait, reason: rule.reason.as_deref(), message: rule.message.as_deref() })
    })
}

/// What a client is told that was refused without asking a bucket.
fn refusal(policy: &Policy, refused: Refused, now: Duration) -> Outcome<'_> {
    let by_rule = |kind, rule: usize| {
        let rule = policy.rules.get(rule);
        Refusal {
            kind,
            by: rule.map_or("", |rule| &rule.name),
            reason: rule.and_then(|rule| rule.reason.as_deref()),
            message: rule.and_then(|rule| rule.message.as_deref()),
            expires_in_s: None,
        }
    };
    Outcome::Refused(match refused {
        Refused::LedgerDown { wait } => return Outcome::Unavailable { wait },
        Refused::NotAwaited => return Outcome::Unavailable { wait: FAULT_WAIT },
        Refused::Blocked { rule } => by_rule(RefusalKind::Blocked, rule),
        Refused::KeyMissing { rule } => by_rule(RefusalKind::KeyMissing, rule),
        Refused::Killed { switch } => {
            let switch: Option<&KillSwitch> = policy.kill_switches.get(switch);
            let until = switch.and_then(|switch| switch.until_unix_s);
            Refusal {
                kind: RefusalKind::KillSwitch,
                by: switch.map_or("", |switch| &switch.name),
                reason: None,
                message: switch.map(|switch| &*switch.reason),
                expires_in_s: until.map(|until| until.saturating_sub(now.as_secs()).max(1)),
            }
        }
        Refused::PathEncoded => {
            let kind = RefusalKind::PathEncoded;
            Refusal { kind, by: &policy.name, reason: None, message: None, expires_in_s: None }
        }
        Refused::TooManyRules => {
            let kind = RefusalKind::TooManyRules;
            Refusal { kind, by: &policy.name, reason: None, message: None, expires_in_s: None }
        }
    })
}

#[cfg(test)]
mod tests {
    use tollgate_policy::Facts;

    use super::*;
    use crate::CheckError;

    /// No request brings a check of a policy to this: keys are never empty or too long, no cost is 0. Were there a fault
    /// of ours, it would let nobody through.
    #[test]
    fn a_check_at_fault_is_503_with_a_wait_and_admits_nobody() {
        let policy = "{name: api, scope: ip, rate: 1/s, burst: 5}";
        let policy = Policy::parse("p.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let limiter = Limiter::from_policy(policy).unwrap_or_else(|error| panic!("{error}"));
        let mut decision = limiter.check(&Facts::new("GET", "/"));
        decision.verdict = Some(Verdict::Invalid(CheckError::ZeroCost));
        assert!(!decision.is_admitted());
        let told = limiter.answer(&decision, |answering| answering.render());
        assert_eq!(told.status, 503);
        let field = |name: &str| told.headers.iter().find(|(field, _)| &**field == name).map(|(_, it)| &**it);
        assert_eq!(field("Tollgate-Reason"), Some("store_unavailable"));
        assert!(field("Retry-After").is_some_and(|wait| ["1", "2"].contains(&wait)), "{told:?}");
        let (media, text) = told.body.unwrap_or_default();
        assert_eq!(media, "application/problem+json");
        assert!(text.contains("temporary-reduced-capacity"), "{text}");
        let grpc = limiter.answer(&decision, |answering| answering.grpc());
        assert!(grpc.is_some());
    }
}
