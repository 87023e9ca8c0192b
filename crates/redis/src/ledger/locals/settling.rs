//! Settles what this node has reserved by its shares.

use std::sync::Arc;
use std::time::Duration;

use tollgate::ledger::{SettleFault, TrueCosts};
use tollgate::{ReservationId, SettleError, Settled};
use tollgate_core::{Cost, Tokens};

use super::local::Local;
use super::reserved::HeldCharge;
use crate::ledger::proofs::Unanswered;
use crate::ledger::reservations::due_of;
use crate::ledger::{Inner, may_be_done};
use crate::{AskError, Batch, BatchError, Told};

/// How long the store may take for a correction: nobody waits.
const WITHIN: Duration = Duration::from_secs(1);

impl Inner {
    /// Settles a reservation that this node has made by itself; `None` if it is none of those.
    pub(in crate::ledger) fn settle_locally(
        self: &Arc<Self>,
        id: ReservationId,
        costs: &TrueCosts,
    ) -> Option<Result<Settled, SettleFault>> {
        let now = self.clock.now();
        let mut table = self.locals.lock();
        let open = table.reserved.get(id, now)?;
        if open.is_settled {
            return Some(Err(SettleFault::Refused(SettleError::Unknown)));
        }
        let estimates: Vec<Cost> = open.charges.iter().map(|charge| charge.cost).collect();
        let due = match due_of(&estimates, costs) {
            Ok(due) => due,
            Err(error) => return Some(Err(SettleFault::Refused(error))),
        };
        let charges = table.reserved.settle(id)?;
        let mut elsewhere = Vec::new();
        for (charge, truly) in charges.into_iter().zip(&due).filter(|(charge, _)| charge.is_charged) {
            let correct = |local: &mut Local| local.correct(charge.cost, *truly, charge.place, now);
            if table.change(&charge.key, correct).is_none() {
                elsewhere.push((charge, *truly));
            }
        }
        drop(table);
        let elsewhere: Vec<_> = elsewhere.into_iter().filter(|(charge, _)| charge.place.is_none()).collect();
        if !elsewhere.is_empty() {
            tokio::spawn(Arc::clone(self).correct_in_store(elsewhere));
        }
        let differences = |less: bool| {
            estimates.iter().zip(&due).map(move |(estimate, due)| {
                let (more, from) = if less { (estimate, due) } else { (due, estimate) };
                Tokens::from_micros(more.as_micros().saturating_sub(from.as_micros()))
            })
        };
        Some(Ok(Settled {
            returned: differences(true).min().unwrap_or(Tokens::ZERO),
            charged: differences(false).max().unwrap_or(Tokens::ZERO),
            forgiven: Tokens::ZERO,
        }))
    }

    /// The buckets went back meanwhile, with what was estimated.
    async fn correct_in_store(self: Arc<Self>, charges: Vec<(HeldCharge, Cost)>) {
        for (charge, truly) in charges {
            let Some(limit) = charge.limit else { continue };
            let (key, debt_max, estimate) = (charge.key, charge.debt_max, charge.cost);
            let difference = Cost::micros(estimate.as_micros().abs_diff(truly.as_micros()));
            if difference == Cost::micros(0) {
                continue;
            }
            let name = key.clone();
            // What was given back is known by the next reply.
            let taken = (truly > estimate).then(|| Unanswered::charge(&self, &key, difference));
            let add = move |batch: &mut Batch| -> Result<(), BatchError> {
                if truly < estimate {
                    batch.give(key.clone(), &limit, difference)
                } else {
                    batch.take(key.clone(), &limit, difference, debt_max)
                }
            };
            let told = match self.coalescer.submit(&[name], add) {
                Ok(mut pending) => pending.within(WITHIN).await.map_err(AskError::from),
                Err(error) => Err(error),
            };
            match (told, taken) {
                (Ok(Told::Changed { changed, now_micros }), Some(taken)) => {
                    taken.replied_with(changed.after, now_micros);
                }
                (Err(error), Some(taken)) if !may_be_done(&error) => taken.not_done(),
                _ => {}
            }
        }
    }
}
