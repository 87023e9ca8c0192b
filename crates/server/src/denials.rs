//! Denials go on record (R3): who was denied, by which rule, what the bucket held, and why.
//!
//! The log decides first whether a denial is stored or only counted; what is stored is put together only then. No check waits for it.

use std::net::IpAddr;

use tollgate::policy::Facts;
use tollgate::{Cause, Cost, Decision, Moment, Refused, RuleClient, Tokens, Verdict};
use tollgate_records::{MicroTokens, Sampled, Timestamp, Violation, ViolationLog};

use crate::door::Door;
use crate::engine::Engine;

/// What stands for the rule of checks whose limits came with the call, and of kill switches.
const EXPLICIT: &str = "(explicit)";
const KILL_SWITCH: &str = "(kill switch)";
/// Why, where nobody says more.
const DENIED: &str = "denied";

/// Who asked, and for what, as far as the door knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) user: Option<String>,
    pub(crate) address: Option<IpAddr>,
    /// The path, without its query.
    pub(crate) endpoint: Option<String>,
}

impl Asker {
    /// As a door has understood it.
    pub(crate) fn of(facts: &Facts<'_>) -> Asker {
        let path = facts.target.split(['?', '#']).next().unwrap_or_default();
        Asker { user: facts.user.map(str::to_owned), address: facts.address, endpoint: Some(path.to_owned()) }
    }

    /// The client for people, where there is no bucket to name it.
    fn client(&self) -> String {
        match (&self.user, self.address) {
            (Some(user), _) => format!("user:{user}"),
            (None, Some(address)) => address.to_string(),
            (None, None) => "anonymous".to_owned(),
        }
    }

    /// A denial of this asker, without its figures.
    fn violation<'a>(&'a self, rule: &'a str, key: &'a str, at: Timestamp, door: Door) -> Violation<'a> {
        Violation {
            rule,
            key,
            user: self.user.as_deref(),
            address: self.address,
            endpoint: self.endpoint.as_deref(),
            at,
            tokens: MicroTokens(0),
            cost: MicroTokens(0),
            reason: DENIED,
            door: door.name(),
        }
    }
}

impl Engine {
    /// Puts a decision on record that is a denial; `asker` is asked for only if it is stored.
    #[inline]
    pub(crate) fn note_denial(
        &self,
        door: Door,
        decision: &Decision,
        now: Moment,
        asker: impl Fn() -> Asker,
    ) {
        if let Some(log) = self.violations.as_ref().filter(|_| !decision.is_admitted()) {
            self.file_denial(log, (door, self.date(now)), decision, &asker);
        }
    }

    /// When that was by the wall clock.
    fn date(&self, now: Moment) -> Timestamp {
        Timestamp::from_unix(self.limiter.wall_time_at(now))
    }

    fn file_denial(
        &self,
        log: &ViolationLog,
        (door, at): (Door, Timestamp),
        decision: &Decision,
        asker: &dyn Fn() -> Asker,
    ) {
        let rules = &decision.policy().rules;
        let refused = match decision.refused() {
            Some(Refused::Blocked { rule } | Refused::KeyMissing { rule }) => {
                rules.get(rule).map(|rule| &*rule.name)
            }
            Some(Refused::Killed { .. }) => Some(KILL_SWITCH),
            // A store that is away is nobody's violation, nor is a policy that asks too much.
            Some(_) => return,
            None => None,
        };
        if let Some(rule) = refused {
            if let Some(sampled) = log.sample(rule, decision.identity(), at) {
                let asker = asker();
                let key = asker.client();
                self.store(sampled, decision, asker.violation(rule, &key, at, door));
            }
            return;
        }
        let tokens = match decision.verdict() {
            Some(Verdict::Deny { remaining, .. }) => held(remaining),
            _ => MicroTokens(0),
        };
        for client in decision.clients().filter(|client| client.is_denied) {
            let RuleClient { rule, key, identity, cost, .. } = client;
            let Some(rule) = rules.get(rule) else { continue };
            if let Some(sampled) = log.sample(&rule.name, identity, at) {
                let asker = asker();
                let key = rule.keys_text(key).unwrap_or_else(|| asker.client());
                let violation = asker.violation(&rule.name, &key, at, door);
                self.store(sampled, decision, Violation { tokens, cost: asked(cost), ..violation });
            }
        }
    }

    /// With the rule's own reason, and what its own bucket held: where several rules deny, the client is told those of the one to wait for
    /// longest, and that is what the violation comes with.
    fn store(&self, sampled: Sampled<'_>, decision: &Decision, violation: Violation<'_>) {
        self.limiter.answer(decision, |answering| {
            let mut stored = Violation { reason: answering.reason().unwrap_or(DENIED), ..violation };
            if matches!(decision.verdict(), Some(Verdict::Deny { cause: Cause::Exceeded, .. }))
                && answering.violated().nth(1).is_some()
                && let Some(denied) =
                    answering.violated().find(|denied| denied.standing.rule() == stored.rule)
            {
                // It has filled a little since; but it did not hold what was asked.
                let left = held(denied.standing.left()).0.min(stored.cost.0 - 1);
                (stored.reason, stored.tokens) = (denied.called(), MicroTokens(left));
            }
            sampled.store(&stored);
        });
    }

    /// Puts a denial on record of a check whose limit came with the call. `remaining` is what the bucket held; `None` if it can never hold
    /// as much as was asked.
    #[inline]
    pub(crate) fn note_explicit_denial(
        &self,
        door: Door,
        key: &[u8],
        cost: Cost,
        remaining: Option<Tokens>,
        now: Moment,
    ) {
        let Some(log) = &self.violations else { return };
        let (key, asker) = (String::from_utf8_lossy(key), Asker::default());
        log.note(Violation {
            tokens: remaining.map_or(MicroTokens(0), held),
            cost: asked(cost),
            reason: if remaining.is_some() { "token_bucket_exceeded" } else { "cost_exceeds_burst" },
            ..asker.violation(EXPLICIT, &key, self.date(now), door)
        });
    }
}

fn held(tokens: Tokens) -> MicroTokens {
    MicroTokens(i64::try_from(tokens.as_micros()).unwrap_or(i64::MAX))
}

fn asked(cost: Cost) -> MicroTokens {
    MicroTokens(i64::try_from(cost.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use tollgate::Limiter;
    use tollgate_records::ViolationSettings;

    use super::*;
    use crate::policy_source::{PolicySource, PolicyText};

    const POLICY: &str = "
rules:
  - {name: per-user, scope: user, rate: 1/h, burst: 1}
  - {name: export, scope: user, path: /export, algorithm: sliding_window, quota: 1, window: 1d}
";

    #[tokio::test]
    async fn where_several_rules_deny_each_is_stored_with_its_own_reason() {
        let text = PolicyText { name: "policy.yaml".to_owned(), text: POLICY.to_owned() };
        let limiter = Limiter::builder().keys_max(100);
        let mut engine = Engine::of(PolicySource::Embedded, text, limiter, None).unwrap();
        let log = ViolationLog::new(None, ViolationSettings::default());
        let mut told = log.subscribe();
        engine.violations = Some(log);
        for path in ["/export", "/export", "/other"] {
            let facts = Facts { user: Some("eve"), ..Facts::new("GET", path) };
            let decision = engine.limiter.check(&facts);
            engine.note_denial(Door::Http, &decision, engine.limiter.limiter().now(), || Asker::of(&facts));
        }
        let mut stored = Vec::new();
        for _ in 0..3 {
            let violation = told.recv().await.unwrap();
            let endpoint = violation.endpoint.clone().unwrap_or_default();
            stored.push((violation.rule.clone(), endpoint, violation.reason.clone()));
        }
        stored.sort();
        let row = |rule: &str, endpoint: &str, reason: &str| (rule.into(), endpoint.into(), reason.into());
        assert_eq!(
            stored,
            [
                row("export", "/export", "sliding_window_exceeded"),
                row("per-user", "/export", "token_bucket_exceeded"),
                row("per-user", "/other", "token_bucket_exceeded"),
            ]
        );
    }
}
