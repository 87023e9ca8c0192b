//! The same rulings by the shortest way: every rule in turn, no index, everything on the heap.

use tollgate_core::CHARGES_MAX;

use super::naive_values::{self, Values, targets};
use crate::cost::price;
use crate::key::Key;
use crate::request::{Request, RequestRoom};
use crate::{
    Action, Client, Condition, Facts, HostPattern, KeySource, MethodSet, Missing, Mode, PathEncoded,
    PathPattern, Policy, Rule, Ruling, ValueTest, normal_path,
};

/// How a rule takes ambiguous values; `is_negated` is flipped by every `not`.
#[derive(Clone, Copy)]
pub(super) struct Stance {
    pub(super) is_strict: bool,
    pub(super) is_negated: bool,
    pub(super) trusts_upstream: bool,
}

/// A hit: rule, key, cost in micro-tokens, whether it is enforced.
pub(super) type NaiveHit = (usize, Vec<u8>, u64, bool);

pub(super) fn rule_on(policy: &Policy, facts: &Facts<'_>, unix_s: u64) -> (Ruling, Vec<NaiveHit>) {
    let mut room = RequestRoom::default();
    let request = Request::new(facts, &mut room);
    for (switch, kill) in policy.kill_switches.iter().enumerate() {
        let is_live = kill.until_unix_s.is_none_or(|until| until > unix_s);
        let stance =
            Stance { is_strict: false, is_negated: false, trusts_upstream: kill.trusts_upstream_claims };
        let is_met = targets(facts.target).iter().any(|target| meets(&kill.condition, facts, target, stance));
        if policy.mode == Mode::Enforce && is_live && is_met {
            return (Ruling::Killed { switch }, Vec::new());
        }
    }
    let is_refused = policy.path_encoded == PathEncoded::Refuse && naive_values::is_odd(facts.target);
    if is_refused && policy.mode == Mode::Enforce {
        return (Ruling::PathRefused, Vec::new());
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
    let lacks = |rule: &Rule| rule.missing == Missing::Deny && !lacking(rule, facts).is_empty();
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

/// For each part of the rule's key that is not exactly one value, whether it is ambiguous.
fn lacking(rule: &Rule, facts: &Facts<'_>) -> Vec<bool> {
    let parts = rule.keys.iter();
    let values = parts.map(|source| naive_values::of(source, facts, rule.trusts_upstream_claims));
    values
        .filter_map(|values| match values {
            Values::One(_) | Values::Encoded(_) => None,
            Values::None { .. } => Some(false),
            Values::Unreadable | Values::Ambiguous(_) => Some(true),
        })
        .collect()
}

/// How a rule takes ambiguous values: rules of a group are tiers, unless they are alone in it.
fn stance_of(policy: &Policy, rule: &Rule) -> Stance {
    let is_other = |other: &&Rule| other.group == rule.group && other.mode != Mode::Off;
    let is_tier = rule.group.is_some() && policy.rules.iter().filter(is_other).count() > 1;
    let is_strict = rule.action != Action::Block && (rule.action == Action::Allow || is_tier);
    Stance { is_strict, is_negated: false, trusts_upstream: rule.trusts_upstream_claims }
}

fn skips(rule: &Rule) -> bool {
    matches!(rule.action, Action::Limit(_)) && rule.missing == Missing::Skip
}

/// The rules that apply and whether they are enforced: what the groups' enforcing rules are, and then what they would be
/// if the watching ones were enforced, too. Every meaning of the path has its own first rule of a group.
fn applying(policy: &Policy, facts: &Facts<'_>, request: &Request<'_>) -> Vec<(usize, bool)> {
    let targets = targets(facts.target);
    let mut all: Vec<(usize, bool)> = Vec::new();
    for target in &targets {
        let matching: Vec<(usize, bool)> = policy
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.mode != Mode::Off && policy.mode != Mode::Off)
            .filter(|(_, rule)| {
                let stance = stance_of(policy, rule);
                let is_met = |target: &String| meets(&rule.condition, facts, target, stance);
                is_met(target) && (rule.action != Action::Allow || targets.iter().all(is_met))
            })
            .filter(|(_, rule)| {
                let lacking = lacking(rule, facts);
                !skips(rule) || lacking.is_empty() || lacking.contains(&true)
            })
            .map(|(position, rule)| {
                let is_in_force = rule.mode == Mode::Enforce && policy.mode == Mode::Enforce;
                (position, is_in_force && super::super::rollout::has_come_to(rule, request))
            })
            .collect();
        // A tier that an ambiguous key would skip applies, and keeps no later tier out.
        let keeps_none_out = |position: usize| {
            let rule = &policy.rules[position];
            skips(rule) && lacking(rule, facts).contains(&true)
        };
        let applies = |(position, is_enforced): &(usize, bool)| {
            let group = policy.rules[*position].group;
            let mut rivals = matching
                .iter()
                .filter(|(rival, rivals)| policy.rules[*rival].group == group && (*rivals || !*is_enforced))
                .filter(|(rival, _)| rival == position || !keeps_none_out(*rival));
            group.is_none() || rivals.next().is_some_and(|(first, _)| first == position)
        };
        all.extend(matching.iter().filter(|rule| applies(rule)));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Everything by plain strings and lists.
pub(super) fn meets(condition: &Condition, facts: &Facts<'_>, target: &str, stance: Stance) -> bool {
    let all_meet = |condition: &Condition| meets(condition, facts, target, stance);
    match condition {
        Condition::Always => true,
        Condition::All(all) => all.iter().filter(|one| !all_meet(one)).count() == 0,
        Condition::Any(any) => any.iter().filter(|one| all_meet(one)).count() > 0,
        Condition::Not(inner) => {
            !meets(inner, facts, target, Stance { is_negated: !stance.is_negated, ..stance })
        }
        Condition::Method(methods) => methods.0 & MethodSet::of(&facts.method.to_ascii_uppercase()).0 != 0,
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
            let path = normal_path(target, test.is_case_sensitive, test.keeps_trailing_slash);
            path_matches(&test.pattern, &path)
        }
        Condition::Client(Client::User(user)) => {
            match naive_values::of(&KeySource::User, facts, stance.trusts_upstream) {
                Values::Unreadable => stance.of_ambiguous(true),
                _ => facts.user == Some(user),
            }
        }
        Condition::Client(Client::Within(network)) => {
            facts.address.is_some_and(|address| network.contains(&address))
        }
        Condition::Value(source, test) => {
            value_meets(&naive_values::of(source, facts, stance.trusts_upstream), test, stance)
        }
        Condition::Client(Client::Key { shape, key }) => {
            // All shapes of these tests have one part.
            let values = naive_values::of(&shape.keys[0], facts, shape.trusts_upstream_claims);
            let key_of =
                |text: &str| Rule { keys: shape.keys.clone(), ..crate::built_by_hand::rule("") }.key_of(text);
            let is_key = |text: &[u8]| {
                std::str::from_utf8(text).is_ok_and(|text| key_of(text).is_ok_and(|own| *own == **key))
            };
            let is_anonymous = key_of("anonymous").unwrap() == **key;
            match values {
                Values::One(value) => is_key(&value) && !is_anonymous,
                Values::None { .. } => is_anonymous,
                Values::Unreadable => stance.of_ambiguous(true),
                Values::Encoded(values) | Values::Ambiguous(values) => {
                    stance.of_ambiguous(is_anonymous || values.iter().any(|value| is_key(&value.bytes)))
                }
            }
        }
    }
}

fn value_meets(values: &Values, test: &ValueTest, stance: Stance) -> bool {
    let passes = |value: &[u8]| {
        let readable = std::str::from_utf8(value).ok();
        match test {
            ValueTest::Present => true,
            ValueTest::OneOf(wanted) => wanted.iter().any(|wanted| wanted.as_bytes() == value),
            ValueTest::Within(networks) => readable
                .and_then(|text| text.parse::<std::net::IpAddr>().ok())
                .is_some_and(|address| networks.iter().any(|network| network.contains(&address))),
            ValueTest::Matches(regex) => readable.is_some_and(|text| regex.is_match(text)),
        }
    };
    let is_regex = matches!(test, ValueTest::Matches(_));
    match values {
        Values::None { is_named } => {
            matches!(test, ValueTest::Present) && *is_named && stance.is_strict == stance.is_negated
        }
        Values::Unreadable => stance.of_ambiguous(true),
        Values::One(value) if is_regex && value.len() > 1_024 => stance.of_ambiguous(true),
        Values::One(value) => passes(value),
        Values::Encoded(values) | Values::Ambiguous(values) => {
            stance.of_ambiguous(values.iter().any(|value| {
                let is_unreadable = !value.is_readable || value.bytes.len() > 1_024;
                (is_regex && is_unreadable) || passes_if_there(&value.bytes, test, &passes)
            }))
        }
    }
}

/// An empty value is there, and nothing else: no regex and no list looks at it.
fn passes_if_there(value: &[u8], test: &ValueTest, passes: &dyn Fn(&[u8]) -> bool) -> bool {
    if value.is_empty() { matches!(test, ValueTest::Present) } else { passes(value) }
}

impl Stance {
    fn of_ambiguous(self, any: bool) -> bool {
        match (self.is_strict, self.is_negated) {
            (false, false) => any,
            (false, true) | (true, false) => false,
            (true, true) => true,
        }
    }
}

fn path_matches(pattern: &PathPattern, path: &str) -> bool {
    match pattern {
        PathPattern::Exact(exact) => **exact == *path,
        PathPattern::Prefix(prefix) if prefix.is_empty() || **prefix == *"/" => true,
        PathPattern::Prefix(prefix) => {
            *path == **prefix || path.starts_with(&format!("{}/", prefix.trim_end_matches('/')))
        }
        PathPattern::Template(template) => {
            let segments: Vec<&str> = if path == "/" { vec![] } else { path.split('/').skip(1).collect() };
            path != "*"
                && segments.len() == template.len()
                && segments.iter().zip(template).all(|(segment, expected)| match expected {
                    Some(expected) => **expected == **segment,
                    None => !segment.is_empty(),
                })
        }
        PathPattern::Glob { regex, .. } => regex.is_match(path),
    }
}
