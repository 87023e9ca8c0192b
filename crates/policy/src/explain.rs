//! Why a request meets the rules it meets, and why not the others (P11).
//!
//! Walks every rule through the very functions that rule on requests, without the index, so that it cannot tell another
//! story. May allocate. Knows no balances: what the buckets say is the caller's to add.

mod ambiguous;
mod sentence;
mod store;
mod why_not;

use tollgate_core::Cost;

use crate::cost::price;
use crate::key::Key;
use crate::path::PathForm;
use crate::request::{Request, RequestRoom};
use crate::rule_book::{Standing, Step, Tally};
use crate::value::{Lookup, Scratch, find_for_key};
use crate::{Action, Consistency, Facts, Mode, OnStoreFailure, Rule, RuleBook, Ruling};

/// What a policy says of one request, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What becomes of the request: always what [`RuleBook::rule_on`] says.
    pub ruling: Ruling,
    /// The path in its one spelling, as rules see it.
    pub path: String,
    /// The decoded form of the path, if it is another: rules look at all forms, keys take this one.
    pub decoded_path: Option<String>,
    /// Further forms of the path, which other servers read: rules look at them, too.
    pub other_paths: Vec<String>,
    /// The host in its one spelling, as rules see it.
    pub host: Option<String>,
    /// Every kill switch of the policy, in order.
    pub kill_switches: Vec<SwitchExplanation>,
    /// Every rule of the policy, in order.
    pub rules: Vec<RuleExplanation>,
}

/// What became of one kill switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchExplanation {
    /// Position in [`crate::Policy::kill_switches`].
    pub switch: usize,
    /// Whether it governs the request and is in force.
    pub applies: bool,
    /// Why, in a sentence.
    pub reason: String,
}

/// What became of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleExplanation {
    /// Position in [`crate::Policy::rules`].
    pub rule: usize,
    /// What became of it.
    pub outcome: Outcome,
    /// Why, in a sentence.
    pub reason: String,
    /// Its mode under that of the policy.
    pub mode: Mode,
    /// Whether it would deny this client; a rule outside its roll-out or in shadow only watches.
    pub is_enforced: bool,
    /// How instances that share a store share its buckets.
    pub consistency: Consistency,
    /// What becomes of its requests while that store does not answer.
    pub on_store_failure: OnStoreFailure,
    /// What the request has to show for each part of the key.
    pub key_parts: Vec<KeyPart>,
    /// The key of the bucket; that of [`crate::Hit::key`]. Empty unless the rule's condition holds.
    pub key: Vec<u8>,
    /// What it costs, if the rule's condition holds and it limits.
    pub cost: Option<CostExplanation>,
}

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its bucket is charged, or watched.
    Charges,
    /// It lets the request through, whatever the buckets hold.
    Allows,
    /// It refuses the request.
    Blocks,
    /// It refuses the request, which lacks a part of its key.
    RefusesWithoutKey,
    /// It would apply, but something stronger decides, or it only watches and has nothing to charge.
    Overruled,
    /// An earlier rule of its group applies.
    Displaced {
        /// Position of that rule.
        by: usize,
    },
    /// The request lacks a part of its key, and it lets such requests be.
    Skipped,
    /// Its condition does not hold.
    DoesNotMatch,
    /// It is off.
    Off,
}

/// One part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart {
    /// Where it comes from, as policies spell it.
    pub source: String,
    /// What the request has to show; `None` if it lacks it, or if it is ambiguous.
    pub value: Option<String>,
    /// Why the value is ambiguous, if it is: then it counts as missing.
    pub ambiguity: Option<String>,
}

/// What a request costs under a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostExplanation {
    /// What is charged.
    pub cost: Cost,
    /// The request was to say it and did not, or said nothing usable.
    pub was_unusable: bool,
    /// Where it comes from, in a sentence.
    pub reason: String,
}

impl RuleBook {
    /// Why a request meets the rules it meets, at `unix_s` seconds since 1970.
    pub fn explain(&self, facts: &Facts<'_>, unix_s: u64) -> Explanation {
        let mut room = RequestRoom::default();
        let request = self.request(facts, &mut room);
        let killed_by = self.killed_by(&request, unix_s);
        let mut tally = Tally::new();
        let candidates = self.candidates_of(&request);
        let steps = (0..self.policy().rules.len()).map(|rule| {
            // A ruling looks at candidates alone; what patterns of other rules read here must not change it.
            if candidates.binary_search(&rule).is_ok() {
                self.consider(rule, &request, &mut tally)
            } else {
                request.without_counting(|| self.consider(rule, &request, &mut tally))
            }
        });
        let steps: Vec<Step> = steps.collect();
        let ruling = match killed_by {
            Some(switch) => Ruling::Killed { switch },
            None if self.refuses_path(&request) => Ruling::PathRefused,
            None => tally.ruling(),
        };
        let hits: Vec<usize> = match ruling {
            Ruling::ByBuckets => tally.hits().map(|(rule, _)| rule).collect(),
            _ => Vec::new(),
        };
        let rules = self.policy().rules.iter().zip(steps).enumerate();
        let path_in = |wanted: PathForm| {
            let form = request.forms().iter().find(|form| *form == wanted)?;
            Some(request.path(form).folded().to_owned())
        };
        Explanation {
            ruling,
            path: request.sent_path().folded().to_owned(),
            decoded_path: path_in(PathForm::DECODED),
            other_paths: PathForm::rare().filter_map(path_in).collect(),
            host: request.host().map(str::to_owned),
            kill_switches: self.explain_switches(&request, unix_s),
            rules: rules
                .map(|(position, (rule, step))| {
                    let outcome = outcome_of(position, rule, step, ruling, &hits);
                    self.explain_rule(position, rule, step, outcome, &request)
                })
                .collect(),
        }
    }

    fn explain_rule(
        &self,
        position: usize,
        rule: &Rule,
        step: Step,
        outcome: Outcome,
        request: &Request<'_>,
    ) -> RuleExplanation {
        let matches = !matches!(step, Step::Off | Step::Unmatched);
        let is_limit = matches!(rule.action, Action::Limit(_));
        RuleExplanation {
            rule: position,
            outcome,
            reason: sentence::of_rule(self, position, rule, step, outcome, request),
            mode: rule.mode.min(self.policy().mode),
            is_enforced: matches!(step, Step::Applies { standing: Standing::Enforced, .. }),
            consistency: rule.consistency,
            on_store_failure: rule.on_store_failure,
            key_parts: key_parts(rule, request),
            key: if matches { Key::new().build(rule, request).to_vec() } else { Vec::new() },
            cost: (matches && is_limit).then(|| {
                let price = price(&rule.cost, request);
                let reason = sentence::of_price(&rule.cost, price, request);
                CostExplanation { cost: price.cost, was_unusable: price.was_unusable, reason }
            }),
        }
    }

    fn explain_switches(&self, request: &Request<'_>, unix_s: u64) -> Vec<SwitchExplanation> {
        let switches = self.policy().kill_switches.iter().enumerate();
        switches
            .map(|(position, switch)| {
                let why_not = sentence::why_switch_does_not_apply(self.policy(), switch, request, unix_s);
                SwitchExplanation {
                    switch: position,
                    applies: why_not.is_none(),
                    reason: why_not.unwrap_or_else(|| format!("it refuses the request: {}", switch.reason)),
                }
            })
            .collect()
    }
}

fn outcome_of(position: usize, rule: &Rule, step: Step, ruling: Ruling, hits: &[usize]) -> Outcome {
    match step {
        Step::Off => Outcome::Off,
        Step::Unmatched => Outcome::DoesNotMatch,
        Step::Skipped { .. } => Outcome::Skipped,
        Step::Displaced { by } => Outcome::Displaced { by },
        Step::Applies { .. } => match (rule.action, ruling) {
            (Action::Block, Ruling::Blocked { rule }) if rule == position => Outcome::Blocks,
            (Action::Allow, Ruling::Allowed { rule }) if rule == position => Outcome::Allows,
            (Action::Limit(_), Ruling::KeyMissing { rule }) if rule == position => Outcome::RefusesWithoutKey,
            (Action::Limit(_), Ruling::ByBuckets) if hits.contains(&position) => Outcome::Charges,
            _ => Outcome::Overruled,
        },
    }
}

fn key_parts(rule: &Rule, request: &Request<'_>) -> Vec<KeyPart> {
    let mut scratch = Scratch::default();
    let sources = rule.keys.iter();
    sources
        .map(|source| {
            let found = find_for_key(source, request, rule.trusts_upstream_claims, &mut scratch);
            let (value, ambiguity) = match found {
                Lookup::One(found) | Lookup::Encoded(found) => (Some(found.to_string()), None),
                Lookup::Missing => (None, None),
                Lookup::Ambiguous(why) => (None, Some(why.to_string())),
            };
            KeyPart { source: source.to_string(), value, ambiguity }
        })
        .collect()
}

#[cfg(test)]
mod tests;
