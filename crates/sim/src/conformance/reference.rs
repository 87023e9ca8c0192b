//! The reference: a store that is nothing but the promises, over ordered maps.
//!
//! It forgets nothing and has room for everything; it is the most obvious store, not a fast one. Others are compared with it.
//! It does not know threads.

mod adjust;
mod answers;
mod calendar;
mod events;
mod law;
mod lines;
mod promised;

use std::collections::BTreeMap;

use tollgate_core::{BucketSet, CHARGES_MAX, Cost, Moment, Span, Tokens};

use self::law::{Demand, Law, Made, State};
use self::promised::Promised;
use super::answer::{Fault, Outcome};
use super::subject::{Charge, KEY_BYTES_MAX, Key, RuleId, Ticket};

/// The simplest store there is.
#[derive(Debug, Clone, Default)]
pub struct Reference {
    limits: Vec<LimitOfRule>,
    buckets: BTreeMap<BucketId, Bucket>,
    /// How often each bucket was reset.
    resets: BTreeMap<BucketId, u64>,
    /// Under which tier: a store may remember a bucket for that alone.
    reset_under: BTreeMap<BucketId, RuleId>,
    held: BTreeMap<Ticket, Vec<Receipt>>,
    open: BTreeMap<Ticket, Open>,
    /// Outcomes of checks that may be retried, and until when.
    remembered: BTreeMap<Retry, (Outcome, Moment)>,
}

/// What makes a check a retry: the idempotency key, and what is asked.
type Retry = (Key, Vec<(RuleId, Key, Cost, u8)>);

/// A rule or a tier.
#[derive(Debug, Clone)]
struct LimitOfRule {
    /// The rule whose buckets it limits: its own number, or that of the rule it is a tier of.
    rule: RuleId,
    promised: Promised,
}

/// Which bucket: rule and key.
type BucketId = (RuleId, Key);

#[derive(Debug, Clone)]
struct Bucket {
    /// The tier it was last checked under.
    under: RuleId,
    state: State,
}

/// One bucket of a check: several charges to the same one are one.
#[derive(Debug, Clone)]
struct Part {
    id: BucketId,
    under: RuleId,
    demand: Demand,
    members: BucketSet,
}

/// A charge that was made to one bucket.
#[derive(Debug, Clone)]
struct Receipt {
    part: Part,
    made: Made,
    /// How often the bucket had been reset before.
    resets: u64,
}

/// An open reservation.
#[derive(Debug, Clone)]
struct Open {
    receipts: Vec<Receipt>,
    estimates: Vec<Cost>,
    expires: Moment,
}

impl Reference {
    /// Without rules.
    pub fn new() -> Reference {
        Reference::default()
    }

    /// Whether the charge is to a known bucket under another tier than before.
    pub fn changes_tier(&self, charge: &Charge) -> bool {
        let id = self.id_of(charge);
        self.is_under_another(&id, charge.rule) || self.was_reset_under_another(&id, charge.rule)
    }

    /// The same, and the bucket is full at `now`; then stores may differ (see [`RuleId`]).
    pub fn moves_a_full_bucket(&self, charge: &Charge, now: Moment) -> bool {
        self.is_full_under_another(&self.id_of(charge), charge.rule, now)
    }

    /// Whether two charges are to one bucket under two tiers.
    pub fn disagree(&self, one: &Charge, other: &Charge) -> bool {
        one.rule != other.rule && self.id_of(one) == self.id_of(other)
    }

    /// Whether settling the ticket, or leaving, meets a full bucket under another tier.
    pub fn settles_a_full_bucket(&self, ticket: Ticket, now: Moment) -> bool {
        let open = self.open.get(&ticket).map(|open| &open.receipts);
        open.or(self.held.get(&ticket))
            .into_iter()
            .flatten()
            .any(|Receipt { part, .. }| self.is_full_under_another(&part.id, part.under, now))
    }

    fn is_under_another(&self, id: &BucketId, under: RuleId) -> bool {
        self.buckets.get(id).is_some_and(|bucket| bucket.under != under)
    }

    /// Whether a bucket that nobody need know was reset under another tier.
    fn was_reset_under_another(&self, id: &BucketId, under: RuleId) -> bool {
        !self.buckets.contains_key(id) && self.reset_under.get(id).is_some_and(|reset| *reset != under)
    }

    fn is_full_under_another(&self, id: &BucketId, under: RuleId, now: Moment) -> bool {
        let is_full = |bucket: &Bucket| {
            let law = self.law(bucket.under);
            law.balance(&bucket.state, now) == law.balance(&law.fresh(now), now)
        };
        self.was_reset_under_another(id, under)
            || self.buckets.get(id).is_some_and(|bucket| bucket.under != under && is_full(bucket))
    }

    fn resets_of(&self, id: &BucketId) -> u64 {
        self.resets.get(id).copied().unwrap_or(0)
    }

    fn id_of(&self, charge: &Charge) -> BucketId {
        (self.limits[charge.rule.0].rule, charge.key.clone())
    }

    fn promised(&self, rule: RuleId) -> &Promised {
        &self.limits[rule.0].promised
    }

    fn law(&self, rule: RuleId) -> &dyn Law {
        self.promised(rule).law()
    }

    /// A bucket under the tier `under`; one never seen is full.
    fn state(&self, id: &BucketId, under: RuleId, now: Moment) -> State {
        match self.buckets.get(id) {
            None => self.law(under).fresh(now),
            Some(bucket) if bucket.under == under => bucket.state.clone(),
            Some(bucket) => self.promised(under).carry_over(&bucket.state, self.promised(bucket.under), now),
        }
    }

    /// Carries a bucket that is known over to the tier `under`.
    fn relabel(&mut self, id: &BucketId, under: RuleId, now: Moment) {
        if self.is_under_another(id, under) {
            let state = self.state(id, under, now);
            self.buckets.insert(id.clone(), Bucket { under, state });
        }
    }

    /// The charges, those to one bucket merged.
    fn parts(&self, charges: &[Charge]) -> Result<Vec<Part>, Fault> {
        let mut parts: Vec<Part> = Vec::new();
        for (index, charge) in charges.iter().enumerate() {
            let (id, cost, keep) = (self.id_of(charge), charge.cost.as_micros(), self.keep(charge));
            match parts.iter_mut().find(|part| part.id == id) {
                Some(part) if part.under != charge.rule => return Err(Fault::TierConflict),
                Some(part) => {
                    part.demand.cost = part.demand.cost.saturating_add(cost);
                    part.demand.keep = part.demand.keep.max(keep);
                    part.members.insert(index);
                }
                None => {
                    let (demand, members) = (Demand { cost, keep }, BucketSet::of(index));
                    parts.push(Part { id, under: charge.rule, demand, members });
                }
            }
        }
        Ok(parts)
    }

    /// What the charge must leave alone, in micro-tokens.
    fn keep(&self, charge: &Charge) -> u64 {
        self.promised(charge.rule).full().as_micros() / 100 * u64::from(charge.left_alone)
    }

    /// What these parts are told; nothing is charged.
    fn judge(&self, parts: &[Part], now: Moment) -> Outcome {
        let never = parts.iter().filter(|part| self.law(part.under).never_admits(part.demand));
        let never = never.fold(BucketSet::EMPTY, |all, part| all.union(part.members));
        if !never.is_empty() {
            return Outcome::Never { denied: never };
        }
        let (mut wait, mut delay) = (Span::ZERO, Span::ZERO);
        let (mut left, mut held, mut denied) = (i128::MAX, i128::MAX, BucketSet::EMPTY);
        for Part { id, under, demand, members } in parts {
            let (law, state) = (self.law(*under), self.state(id, *under, now));
            let balance = law.balance(&state, now);
            let usable = |held| law.usable(held, demand.keep);
            if law.admits(&state, *demand, now) {
                left = left.min(usable(balance - law.weight(demand.cost)));
                delay = delay.max(law.delay(&state, now));
            } else {
                held = held.min(usable(balance));
                wait = wait.max(law.wait(&state, *demand, now));
                denied = denied.union(*members);
            }
        }
        if denied.is_empty() {
            Outcome::Admit { remaining: tokens(left), delay }
        } else {
            Outcome::Deny { wait, remaining: tokens(held), denied }
        }
    }

    /// One check of several buckets; what was charged.
    fn decide(&mut self, charges: &[Charge], now: Moment) -> Result<(Outcome, Vec<Receipt>), Outcome> {
        let parts = self.parts(charges).map_err(Outcome::Invalid)?;
        for part in &parts {
            self.relabel(&part.id, part.under, now);
        }
        let outcome = self.judge(&parts, now);
        if !outcome.is_admitted() {
            return Err(outcome);
        }
        let receipts = parts.into_iter().map(|part| {
            let (cost, mut state) = (part.demand.cost, self.state(&part.id, part.under, now));
            let noted = self.law(part.under).charge(&mut state, cost, now);
            self.buckets.insert(part.id.clone(), Bucket { under: part.under, state });
            let resets = self.resets_of(&part.id);
            Receipt { part, made: Made { noted, cost }, resets }
        });
        Ok((outcome, receipts.collect()))
    }

    /// What is wrong with a check on the face of it. Places need somebody who gives them back.
    fn fault_of(&self, charges: &[Charge], guarded: bool) -> Option<Fault> {
        match charges.len() {
            0 => return Some(Fault::NoCharges),
            count if count > CHARGES_MAX => return Some(Fault::TooManyCharges),
            _ => {}
        }
        charges.iter().find_map(|charge| {
            let needs_guard = !guarded && self.promised(charge.rule).takes_places();
            if charge.cost.as_micros() == 0 {
                return Some(Fault::ZeroCost);
            }
            fault_of_key(&charge.key).or(needs_guard.then_some(Fault::NeedsGuard))
        })
    }
}

fn fault_of_key(key: &Key) -> Option<Fault> {
    match key {
        Key::Bytes(bytes) if bytes.is_empty() => Some(Fault::EmptyKey),
        Key::Bytes(bytes) if bytes.len() > KEY_BYTES_MAX => Some(Fault::KeyTooLong),
        Key::Bytes(_) | Key::Number(_) | Key::Address(_) => None,
    }
}

/// An amount, or none if it is debt.
fn tokens(micros: i128) -> Tokens {
    Tokens::from_micros(u64::try_from(micros.max(0)).unwrap_or(u64::MAX))
}
