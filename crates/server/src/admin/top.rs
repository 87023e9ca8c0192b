//! `GET /admin/v1/top`: who talks most (O3), by rule, in about the last minute.

use serde::Serialize;
use serde_json::json;
use tollgate::policy::Rule;

use super::call::{Call, ok};
use super::rules::unknown_rule;
use crate::engine::Engine;
use crate::http::{Problem, Reply, shown};
use crate::talkers::{Figure, Measure, Talker};

/// Clients of each rule unless something else is asked for.
const CLIENTS_USUAL: u32 = 10;
/// Most clients of each rule.
const CLIENTS_MAX: u32 = 64;
/// Most rules of one answer; of the others it is said how many there are.
const RULES_MAX: usize = 100;

#[derive(Debug, Serialize)]
struct OfRule<'r> {
    rule: &'r str,
    clients: Vec<Client>,
}

#[derive(Debug, Serialize)]
struct Client {
    /// For people.
    #[serde(rename = "client")]
    name: String,
    /// As /buckets and /orders read it, if it can be told.
    key: Option<String>,
    admitted: Times,
    denied: Times,
    near: Times,
}

/// How often: the truth is between the two.
#[derive(Debug, Serialize)]
pub(super) struct Times {
    at_least: u64,
    at_most: u64,
}

pub(super) fn list(call: &Call) -> Result<Reply, Problem> {
    let query = call.query(&["rule", "by", "limit"])?;
    let limit = query.limit(CLIENTS_USUAL, CLIENTS_MAX)? as usize;
    let by = match query.get("by").unwrap_or("denied") {
        "admitted" => Measure::Admitted,
        "denied" => Measure::Denied,
        "near" => Measure::Near,
        other => {
            let detail = format!("`by` is '{}'; use admitted, denied or near", shown(other));
            return Err(Problem::field("by", detail).because("bad_query"));
        }
    };
    let engine = &call.operations.engine;
    let policy = engine.limiter.policy();
    let asked = query.get("rule");
    let is_asked = |rule: &&Rule| asked.is_none_or(|asked| *rule.name == *asked);
    let mut rules: Vec<OfRule<'_>> =
        policy.rules.iter().filter(is_asked).map(|rule| of_rule(engine, rule, by, limit)).collect();
    if let (Some(asked), true) = (asked, rules.is_empty()) {
        return Err(unknown_rule(asked));
    }
    if asked.is_none() {
        rules.retain(|of| !of.clients.is_empty());
    }
    let left_out = rules.len().saturating_sub(RULES_MAX);
    rules.truncate(RULES_MAX);
    ok(&json!({ "rules": rules, "left_out": left_out, "missed": engine.talkers.missed() }))
}

fn of_rule<'r>(engine: &Engine, rule: &'r Rule, by: Measure, limit: usize) -> OfRule<'r> {
    let talkers = engine.top_talkers(&rule.name, by, limit).unwrap_or_default();
    let client = |talker: Talker| Client {
        key: rule.keys_text(&talker.key),
        name: talker.client,
        admitted: talker.admitted.into(),
        denied: talker.denied.into(),
        near: talker.near.into(),
    };
    OfRule { rule: &rule.name, clients: talkers.into_iter().map(client).collect() }
}

impl From<Figure> for Times {
    fn from(Figure { at_least, at_most }: Figure) -> Times {
        Times { at_least, at_most }
    }
}
