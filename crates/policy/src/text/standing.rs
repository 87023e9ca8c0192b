//! Standing orders, put into a policy: blocks and allows before all rules, overrides before the rule that they are about.
//!
//! ```text
//!  rules          a   b (group g)   c
//!  with orders    block … allow …   a   order 9 over b (group g)   b (group g)   c
//! ```

use std::collections::HashSet;

use tollgate_core::{Algorithm, Cost};

use crate::{
    Action, Client, Condition, Consistency, CostPlan, Group, KillSwitch, Missing, Mode, OnStoreFailure,
    Policy, Rule, Scope, Source, StandingOrder, TableSettings,
};

use super::condition::all_of;
use super::order::Effect;
use super::rule_name::OF_ORDERS;

/// Orders with what they do, by number.
pub(super) type Effects<'o> = Vec<(&'o StandingOrder, Effect)>;

/// Puts orders into a policy. What comes from an `inactive` entry or row stays off: no order makes it active.
pub(super) fn obey(
    policy: &mut Policy,
    effects: Effects<'_>,
    inactive: &HashSet<Source>,
    notes: &mut Vec<String>,
) {
    let (mut blocks, mut allows, mut switches) = (Vec::new(), Vec::new(), Vec::new());
    let mut overrides: Vec<Vec<Rule>> = policy.rules.iter().map(|_| Vec::new()).collect();
    set_modes(policy, &effects, inactive, notes);
    for (order, effect) in effects {
        match effect {
            Effect::Block(client) => blocks.push(about(order, client, Action::Block)),
            Effect::Allow(client) => allows.push(about(order, client, Action::Allow)),
            Effect::Override { rule: at, client, limit } => {
                let rule = &policy.rules[at];
                if rule.mode == Mode::Off {
                    notes.push(format!("order {} has no effect: rule `{}` is off", order.id, rule.name));
                    continue;
                }
                overrides[at].push(instead_of(rule, order, client, Algorithm::TokenBucket(limit)));
            }
            Effect::Kill { rule } => switches.push(switch(policy, order, rule)),
            Effect::Mode { .. } => {}
        }
    }
    switches.append(&mut policy.kill_switches);
    policy.kill_switches = switches;
    blocks.append(&mut allows);
    put_before(policy, blocks, overrides);
}

fn set_modes(
    policy: &mut Policy,
    effects: &Effects<'_>,
    inactive: &HashSet<Source>,
    notes: &mut Vec<String>,
) {
    for (order, effect) in effects {
        let Effect::Mode { rule, mode } = effect else { continue };
        let Some(rule) = policy.rules.get_mut(*rule) else { continue };
        if inactive.contains(&rule.source) {
            notes.push(format!("order {} has no effect: rule `{}` is inactive", order.id, rule.name));
        } else {
            rule.mode = *mode;
        }
    }
}

/// A rule that is about one client and touches no bucket.
fn about(order: &StandingOrder, client: Client, action: Action) -> Rule {
    Rule {
        name: name_of(order),
        scope: Scope::Global,
        keys: Vec::new(),
        missing: Missing::Anonymous,
        condition: Condition::Client(client),
        action,
        cost: CostPlan::ONE,
        mode: Mode::Enforce,
        rollout_percent: 100,
        trusts_upstream_claims: false,
        consistency: Consistency::Exact,
        on_store_failure: OnStoreFailure::Local,
        table: TableSettings::default(),
        group: None,
        refund_statuses: Vec::new(),
        settle_header: None,
        reason: None,
        message: None,
        source: Source::Order(order.id),
        overrides: None,
        line: 0,
    }
}

/// What the rule of an order is called; nothing else is.
fn name_of(order: &StandingOrder) -> Box<str> {
    format!("{OF_ORDERS}{}", order.id).into()
}

/// The rule with another limit, for one client. It has no roll-out: the order is for this client, now.
fn instead_of(rule: &Rule, order: &StandingOrder, client: Client, algorithm: Algorithm) -> Rule {
    let full = |algorithm: &Algorithm| Cost::micros(algorithm.full().as_micros());
    let was_full = matches!(&rule.action, Action::Limit(before) if rule.cost.max == full(before));
    // What a request may cost at the most is the burst, unless the rule says less.
    let max = if was_full { full(&algorithm) } else { rule.cost.max.min(full(&algorithm)) };
    Rule {
        name: name_of(order),
        condition: all_of(vec![Condition::Client(client), rule.condition.clone()]),
        action: Action::Limit(algorithm),
        cost: CostPlan { min: rule.cost.min.min(max), max, ..rule.cost.clone() },
        rollout_percent: 100,
        source: Source::Order(order.id),
        line: 0,
        ..rule.clone()
    }
}

/// A kill switch for all that a rule governs: not for what a tier before it takes.
fn switch(policy: &Policy, order: &StandingOrder, rule: Option<usize>) -> KillSwitch {
    let rule = rule.and_then(|at| Some((at, policy.rules.get(at)?)));
    let condition = rule.map_or(Condition::Always, |(at, rule)| {
        let tiers =
            rule.group.and_then(|group| policy.groups.get(group)).map_or(&[][..], |group| &group.rules);
        let before = tiers.iter().take_while(|tier| **tier != at).filter_map(|tier| policy.rules.get(*tier));
        let takes_all = |tier: &&Rule| tier.mode == Mode::Enforce && tier.rollout_percent == 100;
        let others = before.filter(takes_all).map(|tier| Condition::Not(Box::new(tier.condition.clone())));
        all_of(std::iter::once(rule.condition.clone()).chain(others).collect())
    });
    KillSwitch {
        name: name_of(order),
        condition,
        reason: order.reason.as_str().into(),
        until_unix_s: order.expires.and_then(|expires| u64::try_from(expires).ok()),
        trusts_upstream_claims: rule.is_some_and(|(_, rule)| rule.trusts_upstream_claims),
        source: Source::Order(order.id),
        line: 0,
    }
}

/// Puts some rules before all others, and others before the rule that they override, which they share a group with.
fn put_before(policy: &mut Policy, first: Vec<Rule>, overrides: Vec<Vec<Rule>>) {
    if first.is_empty() && overrides.iter().all(Vec::is_empty) {
        return;
    }
    let mut rules = first;
    for (mut rule, before) in std::mem::take(&mut policy.rules).into_iter().zip(overrides) {
        if !before.is_empty() && rule.group.is_none() {
            rule.group = Some(policy.groups.len());
            policy.groups.push(Group { name: rule.name.clone(), rules: Vec::new(), is_implicit: false });
        }
        let (group, position) = (rule.group, rules.len() + before.len());
        // The latest stands first, and the first wins.
        let before = before.into_iter().rev();
        rules.extend(before.map(|instead| Rule { group, overrides: Some(position), ..instead }));
        rules.push(rule);
    }
    for group in &mut policy.groups {
        group.rules.clear();
    }
    for (position, rule) in rules.iter().enumerate() {
        if let Some(group) = rule.group.and_then(|group| policy.groups.get_mut(group)) {
            group.rules.push(position);
        }
    }
    policy.rules = rules;
}
