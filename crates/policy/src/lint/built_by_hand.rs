//! Policies for the tests of lints, built without the parser: so the lints are tested whatever it does.

use tollgate_core::{Burst, Limit, Rate, Span};

use super::LintKind;
use crate::built_by_hand;
use crate::{
    Action, Condition, Group, KeySource, MethodSet, PathPattern, PathTest, Policy, Regex, Rule, Scope,
    ValueTest,
};

/// A rule per client, 10/s with a burst of 50, for every request.
pub(super) fn rule(name: &str) -> Rule {
    let keys = vec![KeySource::ONE_CLIENT];
    Rule { scope: Scope::Ip, keys, action: limit(10, 50), ..built_by_hand::rule(name) }
}

/// A policy of these rules; each has a line of its own, from 1.
pub(super) fn policy(rules: impl IntoIterator<Item = Rule>) -> Policy {
    let lines = (1..).zip(rules);
    built_by_hand::policy(lines.map(|(line, rule)| Rule { line, ..rule }).collect())
}

/// Makes the rules at these positions a group of the policy.
pub(super) fn grouped(mut policy: Policy, members: &[usize], is_implicit: bool) -> Policy {
    for member in members {
        policy.rules[*member].group = Some(policy.groups.len());
    }
    policy.groups.push(Group { name: "tiers".into(), rules: members.to_vec(), is_implicit });
    policy
}

/// All of these rules as one group.
pub(super) fn tiers(rules: impl IntoIterator<Item = Rule>) -> Policy {
    let policy = policy(rules);
    let members: Vec<_> = (0..policy.rules.len()).collect();
    grouped(policy, &members, false)
}

/// What the lints say of these rules.
pub(super) fn found(rules: impl IntoIterator<Item = Rule>) -> Vec<(LintKind, String)> {
    found_in(&policy(rules))
}

/// What the lints say: kinds, and names of rules.
pub(super) fn found_in(policy: &Policy) -> Vec<(LintKind, String)> {
    policy.lints().into_iter().map(|lint| (lint.kind, lint.rule.unwrap_or_default().into())).collect()
}

/// A token bucket.
pub(super) fn limit(per_second: u64, burst: u64) -> Action {
    Action::Limit(Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap().into())
}

/// A token bucket that is slower than one per second.
pub(super) fn slow(tokens: u64, seconds: u64, burst: u64) -> Action {
    let rate = Rate::new(tokens, Span::from_secs(seconds));
    Action::Limit(Limit::new(rate, Burst::tokens(burst)).unwrap().into())
}

/// `/a/*` is a prefix, other stars make a glob, braces a template. Lenient.
pub(super) fn path(text: &str) -> Condition {
    Condition::Path(path_test(text, false, false))
}

pub(super) fn path_test(text: &str, is_case_sensitive: bool, keeps_trailing_slash: bool) -> PathTest {
    let pattern = if let Some(above) = text.strip_suffix("/*").filter(|above| !above.contains('*')) {
        PathPattern::Prefix(if above.is_empty() { "/" } else { above }.into())
    } else if text.contains('*') {
        let regex = regex_syntax::escape(text).replace(r"\*\*", ".*").replace(r"\*", "[^/]*");
        let segments = text.split('/').skip(1);
        PathPattern::Glob {
            text: text.into(),
            regex: Regex::new(&format!("^{regex}$")).unwrap(),
            literal: segments.take_while(|segment| !segment.contains('*')).map(Into::into).collect(),
        }
    } else if text.contains('{') {
        let segments = text.split('/').skip(1);
        PathPattern::Template(segments.map(|part| (!part.starts_with('{')).then(|| part.into())).collect())
    } else {
        PathPattern::Exact(text.into())
    };
    PathTest { pattern, is_case_sensitive, keeps_trailing_slash }
}

/// One of these methods.
pub(super) fn method(names: &[&str]) -> Condition {
    // As the parser has it: `GET` covers `HEAD`.
    let head = names.contains(&"GET").then_some("HEAD");
    let names = names.iter().copied().chain(head);
    Condition::Method(names.map(MethodSet::of).fold(MethodSet::NONE, MethodSet::with))
}

/// The claim `plan` is one of these.
pub(super) fn plan_claim(values: &[&str]) -> Condition {
    one_of(claim("plan"), values)
}

pub(super) fn one_of(source: KeySource, values: &[&str]) -> Condition {
    Condition::Value(source, ValueTest::OneOf(values.iter().map(|value| (*value).into()).collect()))
}

pub(super) fn present(source: KeySource) -> Condition {
    Condition::Value(source, ValueTest::Present)
}

pub(super) fn within(networks: &[&str]) -> Condition {
    let networks = networks.iter().map(|network| network.parse().unwrap()).collect();
    Condition::Value(KeySource::Address, ValueTest::Within(networks))
}

pub(super) fn all<const N: usize>(conditions: [Condition; N]) -> Condition {
    Condition::All(conditions.into())
}

pub(super) fn any<const N: usize>(conditions: [Condition; N]) -> Condition {
    Condition::Any(conditions.into())
}

pub(super) fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

pub(super) fn header(name: &str) -> KeySource {
    KeySource::Header(name.into())
}

pub(super) fn claim(name: &str) -> KeySource {
    KeySource::Claim(name.split('.').map(Into::into).collect())
}
