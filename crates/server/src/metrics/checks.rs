//! Checks by rule, verdict and door: `tollgate_checks_total`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tollgate::policy::{Policy, Rule};
use tollgate::{Cause, Decision, Refused, Verdict};

use crate::door::Door;
use crate::telemetry::noted;

/// The rule of checks whose limits came with the call. A rule of a policy that is called so shares its line.
pub(super) const EXPLICIT: &str = "(explicit)";
/// The rule of checks that no rule had a say in.
const NO_RULE: &str = "(none)";
/// The rule of all standing orders together: there may be thousands, for a client each.
pub(super) const ORDERS: &str = "(orders)";

/// What became of a check, as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Became {
    Admitted,
    Denied,
    Never,
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabel {
    rule: Box<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CheckLabels {
    rule: Box<str>,
    verdict: &'static str,
    door: &'static str,
}

/// The counters of one rule at one door.
struct Counts([Counter; 4]);

/// The counters of one rule. Policies are mostly asked over HTTP: other doors have series once they count something.
struct ByDoor {
    /// What the rule is called in the figures.
    label: Box<str>,
    http: Counts,
    resp: OnceLock<Counts>,
}

/// What became of the checks of one rule, at all doors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RuleCounts {
    pub(crate) admitted: u64,
    /// Those included whose cost no bucket ever holds.
    pub(crate) denied: u64,
    pub(crate) refused: u64,
}

/// What became of all checks, each counted once, however many rules had a say.
#[derive(Debug, Default)]
struct Total {
    admitted: AtomicU64,
    denied: AtomicU64,
    refused: AtomicU64,
}

/// `tollgate_checks_total`.
pub(crate) struct Checks {
    total: Total,
    family: Family<CheckLabels, Counter>,
    /// `tollgate_table_full_denials_total`.
    table_full: Family<RuleLabel, Counter>,
    /// The counters of the rules in force, so that a check builds no labels.
    of_rules: ArcSwap<HashMap<Box<str>, ByDoor>>,
    no_rule: ByDoor,
    explicit_over_http: Counts,
    explicit_over_resp: Counts,
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

    /// For the request's span, if it has one.
    fn note(self, rule: &str, checks: u64) {
        noted::note(rule, self.name(), self == Became::Admitted, checks);
    }
}

impl Checks {
    pub(super) fn registered(registry: &mut Registry) -> Checks {
        let family = Family::<CheckLabels, Counter>::default();
        registry.register("checks", "Checks by rule, verdict and door", family.clone());
        let table_full = Family::<RuleLabel, Counter>::default();
        table_full.get_or_create(&RuleLabel { rule: EXPLICIT.into() }).inc_by(0);
        registry.register(
            "table_full_denials",
            "Checks denied because the bucket table or a sliding log was full, by rule",
            table_full.clone(),
        );
        Checks {
            total: Total::default(),
            of_rules: ArcSwap::default(),
            no_rule: ByDoor::new(&family, NO_RULE),
            explicit_over_http: Counts::new(&family, EXPLICIT, Door::Http),
            explicit_over_resp: Counts::new(&family, EXPLICIT, Door::Resp),
            family,
            table_full,
        }
    }

    /// Makes counters for the rules of a policy, and drops those of rules that are gone.
    pub(super) fn follow_policy(&self, policy: &Policy) {
        let named = |rule: &Rule| (rule.name.clone(), ByDoor::new(&self.family, label_of(rule)));
        let of_rules: HashMap<_, _> = policy.rules.iter().map(named).collect();
        for rule in &policy.rules {
            self.table_full.get_or_create(&RuleLabel { rule: label_of(rule).into() }).inc_by(0);
        }
        let before = self.of_rules.swap(Arc::new(of_rules));
        let now = self.of_rules.load();
        let is_gone = |name: &str| !now.contains_key(name) && ![EXPLICIT, NO_RULE, ORDERS].contains(&name);
        for rule in before.keys().filter(|name| is_gone(name)) {
            self.forget(rule);
        }
    }

    fn forget(&self, rule: &str) {
        self.table_full.remove(&RuleLabel { rule: rule.into() });
        for (door, became) in
            [Door::Http, Door::Resp].into_iter().flat_map(|door| Became::ALL.map(|it| (door, it)))
        {
            self.family.remove(&labels(rule, door, became));
        }
    }

    /// The counters of a rule at a door.
    fn counts<'c>(&self, of_rule: &'c ByDoor, door: Door) -> &'c Counts {
        if door != Door::Resp {
            return &of_rule.http;
        }
        of_rule.resp.get_or_init(|| Counts::new(&self.family, &of_rule.label, Door::Resp))
    }

    /// Counts an admission for every rule that was asked, a denial for those that denied, a refusal for the one that refuses.
    pub(crate) fn note_decision(&self, door: Door, decision: &Decision) {
        let verdict = decision.verdict().filter(|_| decision.refused().is_none());
        let became = verdict.map_or(Became::Refused, |verdict| Became::of(&verdict));
        self.total.add(if decision.is_admitted() { Became::Admitted } else { became }, 1);
        let of_rules = self.of_rules.load();
        let mut is_counted = false;
        let mut count = |rule: &str, became: Became| {
            if !is_counted {
                became.note(rule, 1);
            }
            is_counted = true;
            if let Some(of_rule) = of_rules.get(rule) {
                let is_first = door == Door::Resp && of_rule.resp.get().is_none();
                self.counts(of_rule, door).of(became).inc();
                // Another policy may have come into force meanwhile, without the rule.
                if is_first && rule != EXPLICIT && rule != NO_RULE && !self.of_rules.load().contains_key(rule)
                {
                    self.forget(rule);
                }
            }
        };
        match (decision.refused(), decision.verdict()) {
            (Some(Refused::Blocked { rule } | Refused::KeyMissing { rule }), _) => {
                if let Some(rule) = decision.policy().rules.get(rule) {
                    count(&rule.name, Became::Refused);
                }
            }
            (Some(_), _) | (None, None) => {}
            (None, Some(verdict @ (Verdict::Admit { .. } | Verdict::Invalid(_)))) => {
                decision.rules().for_each(|rule| count(&rule.name, Became::of(&verdict)));
            }
            (None, Some(verdict)) => {
                decision.violated().for_each(|rule| count(&rule.name, Became::of(&verdict)));
                decision.without_room().for_each(|rule| self.note_table_full(label_of(rule), 1));
            }
        }
        if !is_counted {
            let became = if decision.is_admitted() { Became::Admitted } else { Became::Refused };
            became.note(NO_RULE, 1);
            self.counts(&self.no_rule, door).of(became).inc();
        }
    }

    /// What was counted of a rule; nothing if it is not in force, or a standing order, which is counted with all others.
    pub(crate) fn of_rule(&self, rule: &str) -> RuleCounts {
        let of_rules = self.of_rules.load();
        of_rules.get(rule).filter(|of| &*of.label == rule).map(ByDoor::sum).unwrap_or_default()
    }

    /// What became of all checks; of policies that are no longer in force, too.
    pub(crate) fn total(&self) -> RuleCounts {
        let Total { admitted, denied, refused } = &self.total;
        let [admitted, denied, refused] =
            [admitted, denied, refused].map(|count| count.load(Ordering::Relaxed));
        RuleCounts { admitted, denied, refused }
    }

    /// Counts checks that were denied for lack of room, of a rule or of limits that came with the call.
    fn note_table_full(&self, rule: &str, checks: u64) {
        self.table_full.get_or_create(&RuleLabel { rule: rule.into() }).inc_by(checks);
    }

    /// Counts those of these verdicts on limits that came with the call which are denials for lack of room.
    pub(crate) fn note_explicit_table_full<'v>(&self, verdicts: impl Iterator<Item = &'v Verdict>) {
        let denied = verdicts.filter(|verdict| is_table_full(verdict)).count() as u64;
        if denied > 0 {
            self.note_table_full(EXPLICIT, denied);
        }
    }

    /// Counts checks whose limits came with the call.
    pub(crate) fn note_explicit(&self, door: Door, became: Became, checks: u64) {
        if checks > 0 {
            let counts = if door == Door::Resp { &self.explicit_over_resp } else { &self.explicit_over_http };
            became.note(EXPLICIT, checks);
            self.total.add(became, checks);
            counts.of(became).inc_by(checks);
        }
    }
}

impl Total {
    #[inline]
    fn add(&self, became: Became, checks: u64) {
        let count = match became {
            Became::Admitted => &self.admitted,
            Became::Denied | Became::Never => &self.denied,
            Became::Refused => &self.refused,
        };
        count.fetch_add(checks, Ordering::Relaxed);
    }
}

impl ByDoor {
    fn new(family: &Family<CheckLabels, Counter>, rule: &str) -> ByDoor {
        ByDoor { label: rule.into(), http: Counts::new(family, rule, Door::Http), resp: OnceLock::new() }
    }

    fn sum(&self) -> RuleCounts {
        let mut sum = RuleCounts::default();
        for counts in [Some(&self.http), self.resp.get()].into_iter().flatten() {
            sum.admitted += counts.of(Became::Admitted).get();
            sum.denied += counts.of(Became::Denied).get() + counts.of(Became::Never).get();
            sum.refused += counts.of(Became::Refused).get();
        }
        sum
    }
}

impl Counts {
    fn new(family: &Family<CheckLabels, Counter>, rule: &str, door: Door) -> Counts {
        Counts(Became::ALL.map(|became| family.get_or_create(&labels(rule, door, became)).clone()))
    }

    fn of(&self, became: Became) -> &Counter {
        let Counts([admitted, denied, never, refused]) = self;
        match became {
            Became::Admitted => admitted,
            Became::Denied => denied,
            Became::Never => never,
            Became::Refused => refused,
        }
    }
}

/// Whether a check was denied for lack of room.
fn is_table_full(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Deny { cause: Cause::TableFull(_), .. })
}

/// What a rule is called in the figures.
pub(super) fn label_of(rule: &Rule) -> &str {
    if rule.source.is_order() { ORDERS } else { &rule.name }
}

fn labels(rule: &str, door: Door, became: Became) -> CheckLabels {
    CheckLabels { rule: rule.into(), verdict: became.name(), door: door.name() }
}
