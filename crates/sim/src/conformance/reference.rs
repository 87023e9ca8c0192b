//! The reference: a store that is nothing but the arithmetic of `tollgate-core` over an ordered map.
//!
//! It forgets nothing and has room for everything. Others are compared with it; it is compared with the exact model in the
//! tests of `tollgate-core`. It does not know threads.

use std::collections::BTreeMap;

use tollgate_core::{
    BucketSet, CHARGES_MAX, Charged, Cost, Decision, JointDecision, Limit, Mark, Meter, Moment, decide,
    decide_all,
};

use super::subject::{Breadth, Charge, Fault, KEY_BYTES_MAX, Key, Outcome, RuleId, Subject};

/// Where meters start: far enough from the end of the count that no mark comes near the reserved word.
const METER_OFFSET: u64 = 1 << 62;

/// The simplest store there is.
#[derive(Debug, Clone, Default)]
pub struct Reference {
    limits: Vec<LimitOfRule>,
    buckets: BTreeMap<BucketId, Bucket>,
}

/// A rule or a tier.
#[derive(Debug, Clone, Copy)]
struct LimitOfRule {
    /// The rule whose buckets it limits: its own number, or that of the rule it is a tier of.
    rule: RuleId,
    meter: Meter,
}

/// Which bucket: rule and key.
type BucketId = (RuleId, Key);

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// The tier it was last checked under.
    under: RuleId,
    mark: Mark,
}

/// One bucket of a check: several charges to the same one are one.
struct Part {
    id: BucketId,
    under: RuleId,
    cost: Cost,
    members: BucketSet,
}

impl Reference {
    /// Without rules.
    pub fn new() -> Reference {
        Reference::default()
    }

    /// Whether the charge is to a known bucket under another tier than before.
    pub fn changes_tier(&self, charge: &Charge) -> bool {
        self.buckets.get(&self.id_of(charge)).is_some_and(|bucket| bucket.under != charge.rule)
    }

    /// The same, and the bucket is full at `now`; then stores may differ (see [`RuleId`]).
    pub fn moves_a_full_bucket(&self, charge: &Charge, now: Moment) -> bool {
        self.changes_tier(charge)
            && self
                .buckets
                .get(&self.id_of(charge))
                .is_some_and(|bucket| self.meter(bucket.under).level(now).is_full(bucket.mark))
    }

    /// Whether two charges are to one bucket under two tiers.
    pub fn disagree(&self, one: &Charge, other: &Charge) -> bool {
        one.rule != other.rule && self.id_of(one) == self.id_of(other)
    }

    fn declare(&mut self, rule: Option<RuleId>, limit: Limit, now: Moment) -> RuleId {
        let id = RuleId(self.limits.len());
        self.limits
            .push(LimitOfRule { rule: rule.unwrap_or(id), meter: Meter::new(limit, now, METER_OFFSET) });
        id
    }

    fn id_of(&self, charge: &Charge) -> BucketId {
        (self.limits[charge.rule.0].rule, charge.key.clone())
    }

    fn meter(&self, rule: RuleId) -> &Meter {
        &self.limits[rule.0].meter
    }

    /// Where a bucket stands under the tier `under`; one never seen is full.
    fn mark(&self, id: &BucketId, under: RuleId, now: Moment) -> Mark {
        let level = self.meter(under).level(now);
        match self.buckets.get(id) {
            None => level.full_mark(),
            Some(bucket) if bucket.under == under => bucket.mark,
            Some(bucket) => level.mark_of(self.meter(bucket.under).level(now).balance(bucket.mark)),
        }
    }

    /// Carries a bucket that is known over to the tier `under`.
    fn relabel(&mut self, id: &BucketId, under: RuleId, now: Moment) {
        let mark = self.mark(id, under, now);
        if let Some(bucket) = self.buckets.get_mut(id) {
            *bucket = Bucket { under, mark };
        }
    }

    /// The charges, those to one bucket merged.
    fn parts(&self, charges: &[Charge]) -> Result<Vec<Part>, Fault> {
        let mut parts: Vec<Part> = Vec::new();
        for (index, charge) in charges.iter().enumerate() {
            let id = self.id_of(charge);
            match parts.iter_mut().find(|part| part.id == id) {
                Some(part) if part.under != charge.rule => return Err(Fault::TierConflict),
                Some(part) => {
                    part.cost = part.cost.plus(charge.cost);
                    part.members.insert(index);
                }
                None => {
                    let mut members = BucketSet::EMPTY;
                    members.insert(index);
                    parts.push(Part { id, under: charge.rule, cost: charge.cost, members });
                }
            }
        }
        Ok(parts)
    }
}

impl Subject for Reference {
    fn rule(&mut self, _name: &str, _breadth: Breadth, limit: Limit, now: Moment) -> RuleId {
        self.declare(None, limit, now)
    }

    fn tier(&mut self, of: RuleId, _name: &str, limit: Limit, now: Moment) -> RuleId {
        self.declare(Some(self.limits[of.0].rule), limit, now)
    }

    fn set_limit(&mut self, rule: RuleId, limit: Limit, now: Moment) {
        self.limits[rule.0].meter = self.limits[rule.0].meter.change(limit, now);
    }

    fn check(&mut self, charge: &Charge, now: Moment) -> Outcome {
        let outcome = self.peek(charge, now);
        let id = self.id_of(charge);
        match outcome {
            Outcome::Admit { .. } => {
                let mark = self.mark(&id, charge.rule, now);
                if let Decision::Admit { mark, .. } = decide(self.meter(charge.rule), mark, charge.cost, now)
                {
                    self.buckets.insert(id, Bucket { under: charge.rule, mark });
                }
            }
            Outcome::Deny { .. } => self.relabel(&id, charge.rule, now),
            Outcome::Never { .. } | Outcome::Crowded | Outcome::Invalid(_) => {}
        }
        outcome
    }

    fn check_all(&mut self, charges: &[Charge], now: Moment) -> Outcome {
        if let Some(fault) = fault_of(charges) {
            return Outcome::Invalid(fault);
        }
        let parts = match self.parts(charges) {
            Ok(parts) => parts,
            Err(fault) => return Outcome::Invalid(fault),
        };
        for part in &parts {
            self.relabel(&part.id, part.under, now);
        }
        let buckets: Vec<Charged<'_>> = parts
            .iter()
            .map(|part| Charged {
                meter: self.meter(part.under),
                mark: self.mark(&part.id, part.under, now),
                cost: part.cost,
            })
            .collect();
        match decide_all(&buckets, now) {
            JointDecision::Admit { marks, remaining } => {
                for (part, mark) in parts.into_iter().zip(marks) {
                    self.buckets.insert(part.id, Bucket { under: part.under, mark });
                }
                Outcome::Admit { remaining }
            }
            JointDecision::Deny { wait, denied, remaining } => {
                Outcome::Deny { wait, remaining, denied: members_of(&parts, denied) }
            }
            JointDecision::Never { denied } => Outcome::Never { denied: members_of(&parts, denied) },
        }
    }

    fn check_each(&mut self, charges: &[Charge], now: Moment) -> Vec<Outcome> {
        charges.iter().map(|charge| self.check(charge, now)).collect()
    }

    fn peek(&mut self, charge: &Charge, now: Moment) -> Outcome {
        if let Some(fault) = fault_of(std::slice::from_ref(charge)) {
            return Outcome::Invalid(fault);
        }
        let mut first = BucketSet::EMPTY;
        first.insert(0);
        let mark = self.mark(&self.id_of(charge), charge.rule, now);
        match decide(self.meter(charge.rule), mark, charge.cost, now) {
            Decision::Admit { remaining, .. } => Outcome::Admit { remaining },
            Decision::Deny { wait, remaining } => Outcome::Deny { wait, remaining, denied: first },
            Decision::Never => Outcome::Never { denied: first },
        }
    }
}

/// What is wrong with a check on the face of it.
fn fault_of(charges: &[Charge]) -> Option<Fault> {
    match charges.len() {
        0 => return Some(Fault::NoCharges),
        count if count > CHARGES_MAX => return Some(Fault::TooManyCharges),
        _ => {}
    }
    charges.iter().find_map(|charge| match &charge.key {
        _ if charge.cost.as_micros() == 0 => Some(Fault::ZeroCost),
        Key::Bytes(bytes) if bytes.is_empty() => Some(Fault::EmptyKey),
        Key::Bytes(bytes) if bytes.len() > KEY_BYTES_MAX => Some(Fault::KeyTooLong),
        Key::Bytes(_) | Key::Number(_) | Key::Address(_) => None,
    })
}

/// The positions of the charges that make up these parts.
fn members_of(parts: &[Part], which: BucketSet) -> BucketSet {
    let mut members = BucketSet::EMPTY;
    for part in which.iter().filter_map(|index| parts.get(index)) {
        part.members.iter().for_each(|position| members.insert(position));
    }
    members
}
