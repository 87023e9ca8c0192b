//! All that there is to say of one request: what the rule book says, what the buckets say, and what the client is told.

use tollgate::policy::{
    Action, DescribedRequest, Explanation, Mode, Outcome, Policy, RuleExplanation, Ruling, SeenRequest,
    limit_text, span_text,
};
use tollgate::{Answer, Clock, Decision, Limiter, Span, Tokens, Verdict};

use super::client_text;
use crate::problem::Problem;

/// Clients that the requests of `--after` may be: one.
const KEYS_MAX: usize = 1_024;

/// What is to be said of one request.
pub(super) struct Account<'p> {
    pub(super) policy: &'p Policy,
    pub(super) request: &'p DescribedRequest,
    /// What a door finds out about it.
    pub(super) seen: SeenRequest<'p>,
    pub(super) after: u32,
    pub(super) explanation: Explanation,
    /// In the order of the policy.
    pub(super) rules: Vec<RuleAccount>,
    pub(super) is_admitted: bool,
    /// In a sentence.
    pub(super) verdict: String,
    /// The exact wait, if waiting helps.
    pub(super) retry_after: Option<Span>,
    /// What the client is told, without jitter.
    pub(super) answer: Answer,
}

/// What is to be said of one rule.
pub(super) struct RuleAccount {
    pub(super) name: Box<str>,
    pub(super) fate: Fate,
    /// What it does, in a few words.
    pub(super) limit: String,
    /// What its bucket held before the request, and after it.
    pub(super) tokens: Option<(Tokens, Tokens)>,
}

/// What the request met in a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was asked and had nothing against it.
    Admits,
    /// It denied, blocked or refused it.
    Denies,
    /// It only watches.
    Watches {
        /// Enforced, it would have denied.
        would_deny: bool,
    },
    /// It did not apply.
    Absent,
}

impl<'p> Account<'p> {
    /// Puts the request to a limiter that has seen `after` like it, all at the same moment.
    pub(super) fn of(
        policy: &'p Policy,
        request: &'p DescribedRequest,
        after: u32,
    ) -> Result<Account<'p>, Problem> {
        let mut told = policy.clone();
        // Whom it hits how hard depends on the limiter's own random numbers; the page says what it may add.
        told.answers.jitter_percent = 0;
        let limiter =
            Limiter::builder().keys_max(KEYS_MAX).clock(Clock::stopped()).build_with_policy(told)?;
        let seen = request.seen_by(policy);
        let facts = seen.facts();
        // Places are kept by those who are at work, also those of rules that only watch.
        let earlier = (0..after).map(|_| limiter.check(&facts));
        let at_work: Vec<Decision> = earlier.filter(Decision::awaits_response).collect();
        let asked = limiter.peek(&facts);
        let before: Vec<Tokens> = limiter.balances(&asked).collect();
        let shadow_denied = |at: usize| limiter.rule_stats(at).shadow_denied;
        let watched: Vec<u64> = (0..policy.rules.len()).map(shadow_denied).collect();
        let decision = limiter.check(&facts);
        let after_it: Vec<Tokens> = limiter.balances(&decision).collect();
        let explanation = limiter.explain(&facts);
        let violated: Vec<&str> = decision.violated().map(|rule| &*rule.name).collect();
        let asked: Vec<&str> = decision.rules().map(|rule| &*rule.name).collect();
        let rules = policy.rules.iter().zip(&explanation.rules).enumerate().map(|(at, (rule, explained))| {
            let charged = asked.iter().position(|name| *name == &*rule.name);
            let would_deny = watched.get(at).is_some_and(|count| shadow_denied(at) > *count);
            RuleAccount {
                name: rule.name.clone(),
                fate: fate(explained, violated.contains(&&*rule.name), would_deny),
                limit: action_text(&rule.action),
                tokens: charged.and_then(|at| Some((*before.get(at)?, *after_it.get(at)?))),
            }
        });
        let rules = rules.collect();
        let account = Account {
            policy,
            request,
            after,
            rules,
            is_admitted: decision.is_admitted(),
            verdict: verdict(policy, &decision, &explanation),
            retry_after: decision.retry_after().map(Span::from),
            answer: limiter.answer(&decision, |answering| answering.render()),
            explanation,
            seen: seen.clone(),
        };
        drop(at_work);
        Ok(account)
    }
}

impl Account<'_> {
    /// Who the client is and why, if a peer is described.
    pub(super) fn client(&self) -> Option<String> {
        let (peer, found) = (self.request.peer?, self.seen.client_address?);
        Some(client_text::of(&self.policy.client_address, &found, peer))
    }
}

fn fate(explained: &RuleExplanation, is_violated: bool, would_deny: bool) -> Fate {
    match explained.outcome {
        Outcome::Blocks | Outcome::RefusesWithoutKey => Fate::Denies,
        Outcome::Charges if !explained.is_enforced || explained.mode == Mode::Shadow => {
            Fate::Watches { would_deny }
        }
        Outcome::Charges if is_violated => Fate::Denies,
        Outcome::Charges | Outcome::Allows => Fate::Admits,
        _ => Fate::Absent,
    }
}

/// What came of it, in a sentence without its first word, which is whether it was admitted.
fn verdict(policy: &Policy, decision: &Decision, explanation: &Explanation) -> String {
    let rule = |at: usize| policy.rules.get(at).map_or("", |rule| &rule.name);
    match (explanation.ruling, decision.verdict()) {
        (Ruling::Allowed { rule: at }, _) => format!("rule `{}` lets it through", rule(at)),
        (Ruling::Blocked { rule: at }, _) => format!("rule `{}` blocks it", rule(at)),
        (Ruling::KeyMissing { rule: at }, _) => format!("it lacks a part of the key of rule `{}`", rule(at)),
        (Ruling::Killed { switch }, _) => {
            let switch = policy.kill_switches.get(switch);
            let (name, reason) = switch.map_or(("", ""), |switch| (&switch.name, &switch.reason));
            format!("kill switch `{name}` is on: {reason}")
        }
        (Ruling::TooManyRules | Ruling::PathRefused, _) => {
            decision.refused().map_or_else(String::new, |refused| refused.to_string())
        }
        (Ruling::ByBuckets, None) => "no rule applies that enforces anything".to_owned(),
        (Ruling::ByBuckets, Some(verdict)) => by_buckets(decision, verdict),
    }
}

/// What a rule does, in a few words.
fn action_text(action: &Action) -> String {
    match action {
        Action::Allow => "lets through".to_owned(),
        Action::Block => "refuses".to_owned(),
        Action::Limit(algorithm) => limit_text(algorithm),
    }
}

fn by_buckets(decision: &Decision, verdict: Verdict) -> String {
    let denied: Vec<String> = decision.violated().map(|rule| format!("`{}`", rule.name)).collect();
    let (noun, denied) = (if denied.len() == 1 { "rule" } else { "rules" }, denied.join(" and "));
    match verdict {
        Verdict::Admit { delay: Span::ZERO, remaining } => {
            format!("the tightest bucket has {remaining} left")
        }
        Verdict::Admit { delay, .. } => format!("it may leave in {}", span_text(delay)),
        Verdict::Deny { wait, .. } => format!("{noun} {denied} would admit it in {}", span_text(wait)),
        Verdict::Never { .. } => format!("it costs more than a full bucket of {noun} {denied} holds"),
        Verdict::Invalid(error) => error.to_string(),
    }
}
