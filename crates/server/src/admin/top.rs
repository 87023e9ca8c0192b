//! `GET /admin/v1/top`: who talks most (O3), by rule, in about the last minute: here, and at the instances that share the records.

use std::collections::HashMap;

use serde_json::json;
use tollgate::policy::Rule;

use super::call::{Call, ok};
use super::rules::unknown_rule;
use crate::engine::Engine;
use crate::http::{Problem, Reply, shown};
use crate::talkers::{Client, Measure, RuleTalkers, Sheet};

/// Clients of each rule unless something else is asked for.
const CLIENTS_USUAL: u32 = 10;
/// Most clients of each rule.
const CLIENTS_MAX: u32 = 64;
/// Most rules of one answer; of the others it is said how many there are.
const RULES_MAX: usize = 100;

/// What other instances told of a rule: a list each.
type Told<'s> = Vec<&'s [Client]>;

pub(super) async fn list(call: Call) -> Result<Reply, Problem> {
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
    let sheets = call.operations.neighbours_sheets().await;
    let told = by_rule(&sheets);
    let engine = &call.operations.engine;
    let policy = engine.limiter.policy();
    let asked = query.get("rule");
    let is_asked = |rule: &&Rule| asked.is_none_or(|asked| *rule.name == *asked);
    let of_rule = |rule: &Rule| RuleTalkers {
        rule: rule.name.to_string(),
        clients: clients(engine, rule, told.get(&*rule.name), by, limit),
    };
    // Rules that are in force elsewhere alone are left out.
    let mut rules: Vec<RuleTalkers> = policy.rules.iter().filter(is_asked).map(of_rule).collect();
    if let (Some(asked), true) = (asked, rules.is_empty()) {
        return Err(unknown_rule(asked));
    }
    if asked.is_none() {
        rules.retain(|of| !of.clients.is_empty());
    }
    let left_out = rules.len().saturating_sub(RULES_MAX);
    rules.truncate(RULES_MAX);
    let (missed, instances) = (engine.talkers.missed(), 1 + sheets.len());
    ok(&json!({ "rules": rules, "left_out": left_out, "missed": missed, "instances": instances }))
}

/// What each sheet has of a rule.
fn by_rule(sheets: &[Sheet]) -> HashMap<&str, Told<'_>> {
    let mut told: HashMap<&str, Told<'_>> = HashMap::new();
    for RuleTalkers { rule, clients } in sheets.iter().flat_map(|sheet| &sheet.rules) {
        told.entry(rule).or_default().push(clients);
    }
    told
}

/// The first of a rule, here and elsewhere.
fn clients(
    engine: &Engine,
    rule: &Rule,
    elsewhere: Option<&Told<'_>>,
    by: Measure,
    limit: usize,
) -> Vec<Client> {
    let Some(told) = elsewhere else {
        let talkers = engine.top_talkers(&rule.name, by, limit).unwrap_or_default();
        return talkers.into_iter().map(|talker| Client::new(rule, talker)).collect();
    };
    // All of them: who is not among the first here may be so with what it did elsewhere.
    let here = engine.all_talkers(rule).into_iter().map(|talker| Client::new(rule, talker));
    Client::merged(here.chain(told.iter().flat_map(|clients| clients.iter().cloned())), by, limit)
}
