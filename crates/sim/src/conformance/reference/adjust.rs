//! Gifts and settlements: what changes a bucket besides a check.

use tollgate_core::{Cost, Moment, Tokens};

use super::law::{Law, State};
use super::{Bucket, BucketId, Receipt, Reference, fault_of_key, tokens};
use crate::conformance::answer::{Fault, Given, Settled};
use crate::conformance::subject::{Charge, RuleId};

impl Reference {
    /// Gives what the charge costs, until the bucket is full.
    pub(super) fn give(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        let micros = charge.cost.as_micros();
        match fault_of_key(&charge.key) {
            _ if micros == 0 => Err(Fault::ZeroCost),
            Some(fault) => Err(fault),
            None => Ok(self.adjust(charge, now, |law, state| law.give(state, micros, now))),
        }
    }

    /// Changes a bucket, under whatever tier it is.
    pub(super) fn adjust(
        &mut self,
        charge: &Charge,
        now: Moment,
        by: impl FnOnce(&dyn Law, &mut State),
    ) -> Given {
        let id = self.id_of(charge);
        let under = self.tier_of(&id, charge.rule);
        let (law, mut state) = (self.law(under), self.state(&id, under, now));
        let before = law.balance(&state, now);
        by(law, &mut state);
        let after = law.balance(&state, now);
        if self.buckets.contains_key(&id) {
            self.buckets.insert(id, Bucket { under, state });
        }
        Given { given: tokens(after - before), balance: tokens(after) }
    }

    /// Under which tier a bucket is, if it is asked under this one.
    fn tier_of(&self, id: &BucketId, asked: RuleId) -> RuleId {
        let bucket = self.buckets.get(id).filter(|_| self.promised(asked).has_tiers());
        bucket.map_or(asked, |bucket| bucket.under)
    }

    /// Corrects every bucket to the true cost of its charges.
    pub(super) fn settle_all(&mut self, receipts: &[Receipt], actual: &[Cost], now: Moment) -> Settled {
        let each: Vec<Settled> = receipts
            .iter()
            .map(|receipt| {
                let costs = receipt.part.members.iter().map(|charge| actual[charge].as_micros());
                self.correct(receipt, costs.fold(0, u64::saturating_add), now)
            })
            .collect();
        Settled {
            returned: each.iter().map(|settled| settled.returned).min().unwrap_or(Tokens::ZERO),
            charged: each.iter().map(|settled| settled.charged).max().unwrap_or(Tokens::ZERO),
            forgiven: each.iter().map(|settled| settled.forgiven).max().unwrap_or(Tokens::ZERO),
        }
    }

    /// Corrects one bucket, under whatever tier it is by now: gives back what was too much, or charges what was too little,
    /// into debt, but no deeper than a full bucket of the tier it was charged under.
    pub(super) fn correct(&mut self, receipt: &Receipt, actual: u64, now: Moment) -> Settled {
        let Receipt { part, made, resets } = receipt;
        let under = self.tier_of(&part.id, part.under);
        let (law, mut state) = (self.law(under), self.state(&part.id, under, now));
        let before = law.balance(&state, now);
        let overrun = actual.saturating_sub(made.cost);
        let gives_back = overrun == 0 || self.promised(part.under).takes_places();
        if gives_back {
            let unwanted = made.cost.saturating_sub(actual);
            let micros = self.law(part.under).returnable(&state, *made, unwanted, now);
            // Marks on the line of another tier say nothing here; and what a reset has forgiven is nobody's to give back.
            let says = under == part.under || !self.promised(under).is_line();
            if says && *resets == self.resets_of(&part.id) {
                law.give_back(&mut state, *made, micros, now);
            }
        } else {
            let debt_max = i128::from(self.promised(part.under).full().as_micros());
            let affordable = tokens(before + debt_max).as_micros();
            law.charge(&mut state, overrun.min(affordable), now);
        }
        let after = law.balance(&state, now);
        self.buckets.insert(part.id.clone(), Bucket { under, state });
        if gives_back {
            let returned = tokens(after - before);
            return Settled { returned, charged: Tokens::ZERO, forgiven: Tokens::ZERO };
        }
        let charged = tokens(before - after).min(Tokens::from_micros(overrun));
        let forgiven = Tokens::from_micros(overrun - charged.as_micros());
        Settled { returned: Tokens::ZERO, charged, forgiven }
    }
}
