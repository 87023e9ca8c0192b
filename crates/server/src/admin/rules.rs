//! `/admin/v1/rules`: the rules in force, with their limits and what they have done.

use serde::Serialize;
use tollgate::policy::{Action, Policy, Rule, limit_text};

use super::call::{Call, ok};
use crate::engine::Engine;
use crate::http::{Problem, Reply, shown};

/// A rule in force.
#[derive(Debug, Serialize)]
struct Shown<'r> {
    name: &'r str,
    /// Who says so: the file, an entry, a row or an order.
    source: String,
    scope: &'static str,
    /// What picks the bucket, as policies spell it.
    keys: Vec<String>,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<&'static str>,
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    mode: &'static str,
    rollout_percent: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'r str>,
    consistency: &'static str,
    on_store_failure: &'static str,
    /// The line of its text, from 1.
    line: u32,
    counts: Counts,
}

/// What a rule has done.
#[derive(Debug, Serialize)]
struct Counts {
    /// Since the program began, at all doors.
    admitted: u64,
    denied: u64,
    refused: u64,
    /// Since this policy came into force.
    shadow_denied: u64,
}

#[derive(Debug, Serialize)]
struct List<'r> {
    policy: &'r str,
    /// How many policies came into force, this one included.
    policy_version: u64,
    rules: Vec<Shown<'r>>,
}

/// `GET /rules`.
pub(super) fn list(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let engine = &call.operations.engine;
    let policy = engine.limiter.policy();
    let rules = policy.rules.iter().enumerate().map(|(at, rule)| show_rule(engine, &policy, at, rule));
    ok(&List { policy: &policy.name, policy_version: engine.loaded().version, rules: rules.collect() })
}

/// `GET /rules/{name}`.
pub(super) fn show(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let (engine, name) = (&call.operations.engine, call.values.get("name"));
    let policy = engine.limiter.policy();
    match policy.rules.iter().enumerate().find(|(_, rule)| &*rule.name == name) {
        Some((at, rule)) => ok(&show_rule(engine, &policy, at, rule)),
        None => Err(unknown_rule(name)),
    }
}

/// 404: no such rule is in force.
pub(super) fn unknown_rule(name: &str) -> Problem {
    let detail = format!("no rule `{}` is in force; GET /admin/v1/rules lists those that are", shown(name));
    Problem::unknown("rule", detail).because("unknown_rule")
}

fn show_rule<'r>(engine: &Engine, policy: &'r Policy, at: usize, rule: &'r Rule) -> Shown<'r> {
    let (action, algorithm) = match &rule.action {
        Action::Limit(algorithm) => ("limit", Some(algorithm)),
        Action::Allow => ("allow", None),
        Action::Block => ("block", None),
    };
    let counted = engine.metrics.checks.of_rule(&rule.name);
    Shown {
        name: &rule.name,
        source: rule.source.to_string(),
        scope: rule.scope.name(),
        keys: rule.keys.iter().map(ToString::to_string).collect(),
        action,
        algorithm: algorithm.map(tollgate::Algorithm::name),
        limit: algorithm.map(limit_text),
        mode: rule.mode.min(policy.mode).name(),
        rollout_percent: rule.rollout_percent,
        group: rule.group.and_then(|group| policy.groups.get(group)).map(|group| &*group.name),
        consistency: rule.consistency.name(),
        on_store_failure: rule.on_store_failure.name(),
        line: rule.line,
        counts: Counts {
            admitted: counted.admitted,
            denied: counted.denied,
            refused: counted.refused,
            shadow_denied: engine.limiter.rule_stats(at).shadow_denied,
        },
    }
}
