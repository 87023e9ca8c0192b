//! The same rulings by the shortest way: every rule in turn, no index, everything on the heap.

use tollgate_core::CHARGES_MAX;

use crate::condition::evaluation::holds;
use crate::cost::price;
use crate::key::{Key, first_missing};
use crate::request::{Request, RequestRoom};
use crate::{
    Action, Client, Condition, Facts, HostPattern, MethodSet, Missing, Mode, PathPattern, Policy, Rule,
    Ruling, normal_path,
};

/// A hit: rule, key, cost in micro-tokens, whether it is enforced.
pub(super) type NaiveHit = (usize, Vec<u8>, u64, bool);

pub(super) fn rule_on(policy: &Policy, facts: &Facts<'_>, unix_s: u64) -> (Ruling, Vec<NaiveHit>) {
    let mut room = RequestRoom::default();
    let request = Request::new(facts, &mut room);
    for (switch, kill) in policy.kill_switches.iter().enumerate() {
        let is_live = kill.until_unix_s.is_none_or(|until| until > unix_s);
        if policy.mode == Mode::Enforce && is_live && meets(&kill.condition, facts, &request, false) {
            return (Ruling::Killed { switch }, Vec::new());
        }
    }
    let applying = applying(policy, facts, &request);
    let first = |wanted: &dyn Fn(&Rule) -> bool| {
        applying
            .iter()
            .find(|(rule, is_enforced)| *is_enforced && wanted(&policy.rules[*rule]))
            .map(|(rule, _)| *rule)
    };
    if let Some(rule) = first(&|rule| rule.action == Action::Block && rule.source.is_order()) {
        return (Ruling::Blocked { rule }, Vec::new());
    }
    if let Some(rule) = first(&|rule| rule.action == Action::Allow && rule.source.is_order()) {
        return (Ruling::Allowed { rule }, Vec::new());
    }
    if let Some(rule) = first(&|rule| rule.action == Action::Block) {
        return (Ruling::Blocked { rule }, Vec::new());
    }
    if let Some(rule) = first(&|rule| rule.action == Action::Allow) {
        return (Ruling::Allowed { rule }, Vec::new());
    }
    let limits = |rule: &Rule| matches!(rule.action, Action::Limit(_));
    let lacks = |rule: &Rule| rule.missing == Missing::Deny && first_missing(rule, &request).is_some();
    if let Some(rule) = first(&|rule| limits(rule) && lacks(rule)) {
        return (Ruling::KeyMissing { rule }, Vec::new());
    }
    let mut watching = 0;
    let mut hits: Vec<NaiveHit> = Vec::new();
    for (position, is_enforced) in applying {
        let rule = &policy.rules[position];
        if !limits(rule) || lacks(rule) {
            continue;
        }
        watching += usize::from(!is_enforced);
        if is_enforced || watching <= 16 {
            let key = Key::new().build(rule, &request).to_vec();
            hits.push((position, key, price(&rule.cost, &request).cost.as_micros(), is_enforced));
        }
    }
    if hits.iter().filter(|hit| hit.3).count() > CHARGES_MAX {
        return (Ruling::TooManyRules, Vec::new());
    }
    (Ruling::ByBuckets, hits)
}

/// The rules that apply and whether they are enforced: what the groups' enforcing rules are, and then what they would be
/// if the watching ones were enforced, too.
fn applying(policy: &Policy, facts: &Facts<'_>, request: &Request<'_>) -> Vec<(usize, bool)> {
    let matching: Vec<(usize, bool)> = policy
        .rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| rule.mode != Mode::Off && policy.mode != Mode::Off)
        .filter(|(_, rule)| meets(&rule.condition, facts, request, rule.trusts_upstream_claims))
        .filter(|(_, rule)| {
            let skips = matches!(rule.action, Action::Limit(_)) && rule.missing == Missing::Skip;
            !(skips && first_missing(rule, request).is_some())
        })
        .map(|(position, rule)| {
            let is_in_force = rule.mode == Mode::Enforce && policy.mode == Mode::Enforce;
            (position, is_in_force && super::super::rollout::has_come_to(rule, request))
        })
        .collect();
    let applies = |(position, is_enforced): &(usize, bool)| {
        let group = policy.rules[*position].group;
        let mut rivals = matching
            .iter()
            .filter(|(rival, rivals)| policy.rules[*rival].group == group && (*rivals || !*is_enforced));
        group.is_none() || rivals.next().is_some_and(|(first, _)| first == position)
    };
    matching.iter().filter(|rule| applies(rule)).copied().collect()
}

/// Paths, methods and hosts by plain strings; values by the one way there is.
fn meets(condition: &Condition, facts: &Facts<'_>, request: &Request<'_>, trusts_upstream: bool) -> bool {
    let meets = |condition: &Condition| meets(condition, facts, request, trusts_upstream);
    match condition {
        Condition::Always => true,
        Condition::All(all) => all.iter().filter(|one| !meets(one)).count() == 0,
        Condition::Any(any) => any.iter().filter(|one| meets(one)).count() > 0,
        Condition::Not(inner) => !meets(inner),
        Condition::Method(methods) => methods.0 & MethodSet::of(facts.method).0 != 0,
        Condition::Host(pattern) => {
            let host = if facts.target.starts_with("http://h.x/") { "h.x" } else { facts.host };
            let host = host.split(':').next().unwrap().to_lowercase();
            match pattern {
                HostPattern::Exact(name) => !host.is_empty() && **name == *host,
                HostPattern::Below(suffix) => {
                    host.strip_suffix(&**suffix).is_some_and(|label| !label.is_empty())
                }
            }
        }
        Condition::Path(test) => {
            let path = normal_path(facts.target, test.is_case_sensitive, test.keeps_trailing_slash);
            match &test.pattern {
                PathPattern::Exact(exact) => **exact == *path,
                PathPattern::Prefix(prefix) if prefix.is_empty() || **prefix == *"/" => true,
                PathPattern::Prefix(prefix) => {
                    path == **prefix || path.starts_with(&format!("{}/", prefix.trim_end_matches('/')))
                }
                PathPattern::Template(template) => {
                    let segments: Vec<&str> =
                        if path == "/" { vec![] } else { path.split('/').skip(1).collect() };
                    path != "*"
                        && segments.len() == template.len()
                        && segments.iter().zip(template).all(|(segment, expected)| match expected {
                            Some(expected) => **expected == **segment,
                            None => !segment.is_empty(),
                        })
                }
                PathPattern::Glob { regex, .. } => regex.is_match(&path),
            }
        }
        Condition::Client(Client::User(user)) => facts.user == Some(user),
        Condition::Client(Client::Within(network)) => {
            facts.address.is_some_and(|address| network.contains(&address))
        }
        Condition::Value(..) | Condition::Client(Client::Key { .. }) => {
            holds(condition, request, trusts_upstream)
        }
    }
}
