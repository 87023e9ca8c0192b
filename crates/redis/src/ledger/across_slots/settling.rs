//! Settles a reservation whose buckets are in other slots than its record.
//!
//! Whoever takes the record away settles it, so it is settled once; then every bucket is corrected by itself. If the node dies between
//! the two, the estimate stands.

use std::sync::Arc;

use tollgate::SettleError;
use tollgate::ledger::{LedgerDown, SettleFault};
use tollgate_core::Cost;

use super::super::Inner;
use super::record;
use crate::{Batch, BucketTold, Changed, Correction, KeyName, Told};

/// A bucket that is right as it is.
const UNCHANGED: Changed = Changed { before: 0, after: 0 };

impl Inner {
    /// What became of each bucket, in their order.
    pub(in super::super) async fn settle_across_slots(
        self: Arc<Self>,
        key: KeyName,
        record: Vec<u8>,
        corrections: Vec<Correction>,
    ) -> Result<Vec<Changed>, SettleFault> {
        let down = SettleFault::Down(LedgerDown);
        let made = record::read(&record).ok_or(SettleFault::Refused(SettleError::Unreadable))?;
        let Ok(is_mine) = self.take_record(&key, &record).await else { return Err(down) };
        if !is_mine {
            return Err(SettleFault::Refused(SettleError::Unknown));
        }
        let sent = corrections.iter().zip(&made.buckets).map(|(correction, bucket)| {
            let add = operation(correction, bucket)?;
            Some(self.coalescer.submit(std::slice::from_ref(&correction.key), add))
        });
        let sent: Vec<_> = sent.collect();
        let mut changed = Vec::with_capacity(sent.len());
        for pending in sent {
            changed.push(match pending {
                None => UNCHANGED,
                Some(Err(_)) => return Err(down),
                Some(Ok(mut pending)) => match pending.within(self.deadline()).await {
                    Ok(Told::Changed { changed, .. }) => changed,
                    _ => return Err(down),
                },
            });
        }
        Ok(changed)
    }
}

/// What corrects one bucket; `None` if nothing has to be.
fn operation(
    correction: &Correction,
    bucket: &BucketTold,
) -> Option<impl Fn(&mut Batch) -> Result<(), crate::BatchError> + Send + use<>> {
    let Correction { key, limit, estimate, actual, debt_max } = correction.clone();
    let receipt = bucket.receipt;
    let (over, under) = (
        actual.as_micros().saturating_sub(estimate.as_micros()),
        estimate.as_micros().saturating_sub(actual.as_micros()),
    );
    // Places are given back whole, whatever they have cost.
    let under = if limit.takes_places() { estimate.as_micros() } else { under };
    let is_taken = over > 0 && !limit.takes_places();
    (is_taken || under > 0).then_some(move |batch: &mut Batch| {
        if is_taken {
            batch.take(key.clone(), &limit, Cost::micros(over), debt_max)
        } else {
            batch.let_go(key.clone(), &limit, Cost::micros(under), receipt)
        }
    })
}
