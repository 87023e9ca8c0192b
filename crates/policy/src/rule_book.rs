//! The policy at work: a request's facts in, the buckets it must pay out.
//!
//! ```text
//!  kill switch ─► path refused ─► block ─► allow ─► a key part missing ─► too many rules ─► the buckets decide
//!      refuses        refuses    refuses   admits          refuses           refuses         hits, in the order of the policy
//! ```
//! What stands further left wins, and what was ordered wins over what rules say: whom an order allows no rule blocks. Promises the same ruling on every node, and no allocation for ordinary requests (paths
//! that are odd and long and more than 64 candidates are the exceptions). Reads no
//! clock and keeps no balance.

mod rollout;
mod tally;

use std::net::IpAddr;

use tollgate_core::CHARGES_MAX;

use crate::condition::evaluation::{forms_met, holds};
use crate::condition::reading::{Reading, View};
use crate::cost::price;
use crate::index::{Index, Weight};
use crate::key::{Key, Lack, first_missing, with_v4_key};
use crate::path::{FormSet, PathForm};
use crate::request::{Request, RequestRoom};
use crate::{Action, Condition, Facts, Hit, KillSwitch, Missing, Mode, PathEncoded, Policy, Rule, Ruling};
pub(crate) use rollout::has_come_to;
pub use tally::SHADOW_HITS_MAX;
pub(crate) use tally::Tally;

/// A policy that is ready for requests. Made once, shared by all.
#[derive(Debug)]
pub struct RuleBook {
    policy: Policy,
    rules: Index,
    kill_switches: Index,
    /// How each rule reads ambiguous values, by its position in the policy.
    readings: Vec<Reading>,
    /// Every rule in force limits every request, so that there is nothing to consider.
    is_plain: bool,
    /// Position of the first rule that is no standing order; 0 if there is none.
    foreseen: usize,
}

/// What became of one rule for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is off.
    Off,
    /// Its condition does not hold.
    Unmatched,
    /// The request lacks this part of its key, and it lets such requests be.
    Skipped { part: usize },
    /// An earlier rule of its group applies.
    Displaced { by: usize },
    /// It applies. `lacks` is the part of the key without which it refuses.
    Applies { standing: Standing, lacks: Option<usize> },
}

/// How much a rule that applies has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It decides.
    Enforced,
    /// It watches, since its mode or the policy's is `shadow`.
    Shadow,
    /// It watches, since its roll-out has not come to this key.
    OutsideRollout,
}

impl RuleBook {
    /// Takes a policy into use. Linear in its size.
    pub fn new(policy: Policy) -> RuleBook {
        let in_force = |rule: &&(usize, &Rule)| rule.1.mode.min(policy.mode) != Mode::Off;
        let rules = policy.rules.iter().enumerate().filter(|rule| in_force(&rule));
        let readings: Vec<Reading> =
            policy.rules.iter().map(|rule| Reading::of_rule(&policy, rule)).collect();
        let is_plain = policy.mode == Mode::Enforce
            && policy.kill_switches.is_empty()
            && policy.path_encoded == PathEncoded::Fold
            && rules.clone().all(|(_, rule)| limits_every_request(rule))
            && rules.clone().count() <= CHARGES_MAX;
        let switches = policy.kill_switches.iter().enumerate();
        let weight_of = |at: usize, rule: &Rule| {
            let is_certain = rule.mode.min(policy.mode) == Mode::Enforce && rule.rollout_percent == 100;
            Weight { reading: readings[at], is_decisive: is_certain && rule.action == Action::Block }
        };
        let of_switch = Weight { reading: Reading::Wide, is_decisive: false };
        RuleBook {
            rules: Index::new(rules.map(|(at, rule)| (at, &rule.condition, weight_of(at, rule)))),
            kill_switches: Index::new(switches.map(|(at, switch)| (at, &switch.condition, of_switch))),
            readings,
            is_plain,
            foreseen: policy.rules.iter().position(|rule| !rule.source.is_order()).unwrap_or(0),
            policy,
        }
    }

    /// The policy as it was given.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What the policy says of a request at `unix_s`, in seconds since 1970 (for kill switches that expire).
    ///
    /// `hit` is called for each rule whose bucket is to be charged, in the order of the policy, and only if the ruling
    /// is [`Ruling::ByBuckets`]: whoever is refused or let through touches no bucket. At most
    /// [`tollgate_core::CHARGES_MAX`] hits are enforced; of the others, which only watch, the first 16 are told.
    ///
    /// A rule that only watches never changes what is enforced: in a group it stands beside the first rule that enforces.
    /// In a policy whose mode is not `enforce` nobody is refused, not even by a kill switch.
    pub fn rule_on(&self, facts: &Facts<'_>, unix_s: u64, mut hit: impl FnMut(Hit<'_>)) -> Ruling {
        let mut room = RequestRoom::default();
        let request = self.request(facts, &mut room);
        let mut key = Key::new();
        let mut hit = |position: usize, is_enforced: bool| {
            let Some(rule) = self.policy.rules.get(position) else { return };
            let price = price(&rule.cost, &request);
            hit(Hit {
                rule: position,
                key: key.build(rule, &request),
                cost: price.cost,
                is_enforced,
                cost_was_unusable: price.was_unusable,
            });
        };
        if self.is_plain {
            self.rules.candidates(&request, |position| {
                hit(position, true);
                true
            });
            return Ruling::ByBuckets;
        }
        if let Some(switch) = self.killed_by(&request, unix_s) {
            return Ruling::Killed { switch };
        }
        if self.refuses_path(&request) {
            return Ruling::PathRefused;
        }
        let mut tally = Tally::new();
        self.rules.candidates(&request, |position| {
            self.consider(position, &request, &mut tally);
            !tally.is_settled()
        });
        let ruling = tally.ruling();
        if ruling == Ruling::ByBuckets {
            tally.hits().for_each(|(position, is_enforced)| hit(position, is_enforced));
        }
        ruling
    }

    /// Shows `key` the position of the first rule that is no standing order, and the key that a client most likely has under it, for
    /// whoever fetches its bucket while the rest of the request is looked at. Shows nothing where it takes more than an address of
    /// IPv4 to tell.
    #[inline]
    pub fn foresee(&self, address: Option<IpAddr>, key: impl FnOnce(usize, &[u8])) {
        if let Some(rule) = self.policy.rules.get(self.foreseen) {
            with_v4_key(&rule.keys, address, |bytes| key(self.foreseen, bytes));
        }
    }

    /// The request as this policy reads it.
    #[inline]
    pub(crate) fn request<'r>(&'r self, facts: &'r Facts<'r>, room: &'r mut RequestRoom) -> Request<'r> {
        Request::new(facts, room).with_token_header(self.policy.jwt.as_ref().map(|jwt| &*jwt.header))
    }

    /// Whether the policy refuses the request for its path (`path_encoded: refuse`), whatever rules say.
    pub(crate) fn refuses_path(&self, request: &Request<'_>) -> bool {
        self.policy.path_encoded == PathEncoded::Refuse
            && self.policy.mode == Mode::Enforce
            && request.has_several_forms()
    }

    /// How the rule at this position reads the path as sent.
    pub(crate) fn view_of(&self, position: usize, rule: &Rule) -> View {
        let reading = self.readings.get(position).copied().unwrap_or(Reading::Strict);
        View { trusts_upstream: rule.trusts_upstream_claims, reading, form: PathForm::SENT }
    }

    /// How a rule whose condition does not hold reads the form of the path that fails.
    pub(crate) fn failing_view(&self, position: usize, rule: &Rule, request: &Request<'_>) -> View {
        let view = self.view_of(position, rule);
        let fails = |form: &PathForm| !holds(&rule.condition, request, View { form: *form, ..view });
        View { form: request.forms().iter().find(fails).unwrap_or(view.form), ..view }
    }

    /// The forms of the path for which the rule applies: an allow rule applies for all or none.
    #[inline]
    fn forms_met(&self, position: usize, rule: &Rule, request: &Request<'_>) -> Forms {
        let forms = Forms::met_by(&rule.condition, request, self.view_of(position, rule));
        match rule.action {
            Action::Allow if !forms.is_all() => Forms { met: FormSet::NONE, ..forms },
            _ => forms,
        }
    }

    /// How many rules are looked at for a request: what a ruling costs grows with this, not with the number of rules.
    pub fn candidates(&self, facts: &Facts<'_>) -> usize {
        let mut room = RequestRoom::default();
        self.candidates_of(&self.request(facts, &mut room)).len()
    }

    /// The rules that are looked at for a request, in order.
    pub(crate) fn candidates_of(&self, request: &Request<'_>) -> Vec<usize> {
        let mut found = Vec::new();
        self.rules.candidates(request, |position| {
            found.push(position);
            true
        });
        found
    }

    /// The first kill switch that governs the request and has not expired. At `until` itself it has.
    pub(crate) fn killed_by(&self, request: &Request<'_>, unix_s: u64) -> Option<usize> {
        if self.policy.mode != Mode::Enforce || self.policy.kill_switches.is_empty() {
            return None;
        }
        let mut killed_by = None;
        self.kill_switches.candidates(request, |position| {
            let switch = self.policy.kill_switches.get(position);
            let kills = switch.is_some_and(|switch| {
                switch.until_unix_s.is_none_or(|until| unix_s < until) && governs(switch, request)
            });
            killed_by = kills.then_some(position);
            !kills
        });
        killed_by
    }

    /// What becomes of one rule. Rules are to be considered in the order of the policy.
    pub(crate) fn consider(&self, position: usize, request: &Request<'_>, tally: &mut Tally) -> Step {
        let Some(rule) = self.policy.rules.get(position) else { return Step::Off };
        let mode = rule.mode.min(self.policy.mode);
        if mode == Mode::Off {
            return Step::Off;
        }
        let forms = self.forms_met(position, rule, request);
        if !forms.is_any() {
            return Step::Unmatched;
        }
        let is_limit = matches!(rule.action, Action::Limit(_));
        let minds_missing = is_limit && rule.missing != Missing::Anonymous;
        let mut takes_group = true;
        let lacks = match if minds_missing { first_missing(rule, request) } else { None } {
            Some((part, Lack::Missing)) if rule.missing == Missing::Skip => return Step::Skipped { part },
            // A client must not choose by an ambiguous value. It is anonymous, so this rule limits it; and later tiers of the group
            // limit it too, so this tier is not chosen instead of them.
            Some((_, Lack::Ambiguous)) if rule.missing == Missing::Skip => {
                takes_group = false;
                None
            }
            lacks => lacks.map(|(part, _)| part),
        };
        let standing = match mode {
            Mode::Enforce if has_come_to(rule, request) => Standing::Enforced,
            Mode::Enforce => Standing::OutsideRollout,
            Mode::Shadow | Mode::Off => Standing::Shadow,
        };
        let is_enforced = standing == Standing::Enforced;
        let displaced_by = match rule.group {
            Some(group) if takes_group => tally.take_group(group, forms, position, is_enforced),
            Some(group) => tally.group_holder(group, forms, is_enforced),
            None => None,
        };
        if let Some(by) = displaced_by {
            return Step::Displaced { by };
        }
        match rule.action {
            Action::Limit(_) if lacks.is_none() => tally.charge(position, is_enforced),
            Action::Limit(_) if is_enforced => _ = tally.key_missing.get_or_insert(position),
            Action::Block if is_enforced => _ = tally.blocked.get_or_insert(position),
            Action::Allow if is_enforced && rule.source.is_order() => tally.free(position),
            Action::Allow if is_enforced => _ = tally.allowed.get_or_insert(position),
            Action::Limit(_) | Action::Block | Action::Allow => {}
        }
        Step::Applies { standing, lacks }
    }
}

/// Whether the kill switch is about the request, whichever form of the path is meant.
pub(crate) fn governs(switch: &KillSwitch, request: &Request<'_>) -> bool {
    let trusts_upstream = switch.trusts_upstream_claims;
    let view = View { trusts_upstream, reading: Reading::Wide, form: PathForm::SENT };
    Forms::met_by(&switch.condition, request, view).is_any()
}

/// The forms of the path for which a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forms {
    pub(crate) met: FormSet,
    /// All forms of the request.
    all: FormSet,
}

impl Forms {
    #[inline]
    fn met_by(condition: &Condition, request: &Request<'_>, view: View) -> Forms {
        let all = request.forms();
        Forms { met: forms_met(condition, request, view, all), all }
    }

    /// Whether the condition holds for at least one form.
    pub(crate) fn is_any(self) -> bool {
        self.met != FormSet::NONE
    }

    /// Whether the condition holds for every form.
    pub(crate) fn is_all(self) -> bool {
        self.met == self.all
    }
}

/// Whether a rule limits every request, come what may, and keeps no other rule out.
fn limits_every_request(rule: &Rule) -> bool {
    matches!(rule.action, Action::Limit(_))
        && matches!(rule.condition, Condition::Always)
        && rule.mode == Mode::Enforce
        && rule.rollout_percent >= 100
        && rule.missing == Missing::Anonymous
        && rule.group.is_none()
}

#[cfg(test)]
mod tests;
