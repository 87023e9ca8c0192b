//! Checks by rule, verdict and door: `tollgate_checks_total`.

use std::collections::HashMap;

use arc_swap::ArcSwap;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tollgate::policy::Policy;
use tollgate::{Decision, Verdict};

use crate::door::Door;

/// The rule of checks whose limits came with the call. No rule of a policy has a name in brackets that means this: brackets are
/// shown as they are, so a rule that is called so shares its line.
const EXPLICIT: &str = "(explicit)";
/// The rule of checks that no rule had a say in.
const NO_RULE: &str = "(none)";

/// What became of a check, as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Became {
    Admitted,
    Denied,
    Never,
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CheckLabels {
    rule: Box<str>,
    verdict: &'static str,
    door: &'static str,
}

/// The counters of one rule.
struct OfRule {
    http: [Counter; 4],
    resp: [Counter; 4],
}

/// `tollgate_checks_total`.
pub(crate) struct Checks {
    family: Family<CheckLabels, Counter>,
    /// The counters of the rules in force, so that a check builds no labels.
    of_rules: ArcSwap<HashMap<Box<str>, OfRule>>,
    explicit: OfRule,
    no_rule: OfRule,
}

impl Became {
    const ALL: [Became; 4] = [Became::Admitted, Became::Denied, Became::Never, Became::Refused];

    pub(crate) fn of(verdict: &Verdict) -> Became {
        match verdict {
            Verdict::Admit { .. } => Became::Admitted,
            Verdict::Deny { .. } => Became::Denied,
            Verdict::Never { .. } => Became::Never,
            Verdict::Invalid(_) => Became::Refused,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Became::Admitted => "admit",
            Became::Denied => "deny",
            Became::Never => "never",
            Became::Refused => "refuse",
        }
    }
}

impl Checks {
    pub(super) fn registered(registry: &mut Registry) -> Checks {
        let family = Family::<CheckLabels, Counter>::default();
        registry.register("checks", "Checks by rule, verdict and door", family.clone());
        let (explicit, no_rule) = (OfRule::new(&family, EXPLICIT), OfRule::new(&family, NO_RULE));
        Checks { family, of_rules: ArcSwap::default(), explicit, no_rule }
    }

    /// Makes counters for the rules of a policy, and drops those of rules that are gone.
    pub(super) fn follow_policy(&self, policy: &Policy) {
        let names: Vec<Box<str>> = policy.rules.iter().map(|rule| rule.name.clone()).collect();
        let before = self.of_rules.load();
        let gone =
            before.keys().filter(|name| !names.contains(name) && ![EXPLICIT, NO_RULE].contains(&&***name));
        for rule in gone {
            for door in [Door::Http, Door::Resp] {
                for became in Became::ALL {
                    self.family.remove(&labels(rule, door, became));
                }
            }
        }
        let of_rules = names.into_iter().map(|name| (name.clone(), OfRule::new(&self.family, &name)));
        self.of_rules.store(std::sync::Arc::new(of_rules.collect()));
    }

    /// Counts an admission for every rule that was asked, a denial for those that denied.
    pub(super) fn note_decision(&self, door: Door, decision: &Decision) {
        let of_rules = self.of_rules.load();
        let mut is_counted = false;
        let mut count = |rule: &str, became| {
            is_counted = true;
            if let Some(of_rule) = of_rules.get(rule) {
                of_rule.of(door, became).inc();
            }
        };
        match decision.verdict() {
            _ if decision.refused().is_some() => {}
            Some(verdict @ (Verdict::Admit { .. } | Verdict::Invalid(_))) => {
                decision.rules().for_each(|rule| count(&rule.name, Became::of(&verdict)));
            }
            Some(verdict) => decision.violated().for_each(|rule| count(&rule.name, Became::of(&verdict))),
            None => {}
        }
        if !is_counted {
            let became = if decision.is_admitted() { Became::Admitted } else { Became::Refused };
            self.no_rule.of(door, became).inc();
        }
    }

    /// Counts checks whose limits came with the call.
    pub(crate) fn note_explicit(&self, door: Door, became: Became, checks: u64) {
        if checks > 0 {
            self.explicit.of(door, became).inc_by(checks);
        }
    }
}

impl OfRule {
    fn new(family: &Family<CheckLabels, Counter>, rule: &str) -> OfRule {
        let of = |door| Became::ALL.map(|became| family.get_or_create(&labels(rule, door, became)).clone());
        OfRule { http: of(Door::Http), resp: of(Door::Resp) }
    }

    fn of(&self, door: Door, became: Became) -> &Counter {
        let [admitted, denied, never, refused] = if door == Door::Resp { &self.resp } else { &self.http };
        match became {
            Became::Admitted => admitted,
            Became::Denied => denied,
            Became::Never => never,
            Became::Refused => refused,
        }
    }
}

fn labels(rule: &str, door: Door, became: Became) -> CheckLabels {
    CheckLabels { rule: rule.into(), verdict: became.name(), door: door.name() }
}
