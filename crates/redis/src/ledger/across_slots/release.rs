//! Gives back what was held, since another bucket denied or nobody waits any more.
//!
//! Of a token bucket it gives back the cost less what was minted since, which is right whatever else is held at the time
//! ([`tollgate_core::Hold`]). What may have been given back is never given back again. What cannot be given back stays charged, until the bucket
//! has refilled.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::Cost;

use super::super::Inner;
use super::group::Group;
use crate::{AskError, Batch, Checked, KeyName, LinkError, Pending, Receipt, SharedLimit, Told};

/// How often one release is sent, at most, if it certainly was not done.
const TRIES_MAX: usize = 8;
/// Pause between two of them.
const PAUSE: Duration = Duration::from_millis(100);

/// One bucket that is held.
#[derive(Debug, Clone)]
pub(super) struct Held {
    key: KeyName,
    limit: SharedLimit,
    cost: Cost,
    receipt: Receipt,
}

/// Releases that are under way.
pub(super) struct Releasing {
    sent: Vec<(Held, Result<Pending, AskError>)>,
}

/// The buckets of a group that were charged.
pub(super) fn held<'h>(group: &'h Group, checked: &'h Checked) -> impl Iterator<Item = Held> + 'h {
    checked.buckets.iter().filter_map(|bucket| {
        let (charge, cost) = group.charged(bucket)?;
        let receipt = charge.limit.on_probation(cost, bucket.receipt);
        Some(Held { key: charge.key.clone(), limit: charge.limit.clone(), cost, receipt })
    })
}

impl Inner {
    /// Sends for all of it; whoever asks from now on, asks later.
    pub(super) fn release(&self, held: Vec<Held>) -> Releasing {
        let send = |held: Held| {
            let Held { key, limit, cost, receipt } = held.clone();
            let keys = [key.clone()];
            let add = move |batch: &mut Batch| batch.let_go(key.clone(), &limit, cost, receipt);
            (held, self.coalescer.submit(&keys, add))
        };
        Releasing { sent: held.into_iter().map(send).collect() }
    }
}

impl Releasing {
    /// Waits until all of it is done, or cannot be.
    pub(super) async fn finish(mut self, inner: &Arc<Inner>) {
        for _ in 0..TRIES_MAX {
            let mut again = Vec::new();
            for (held, pending) in self.sent {
                let told = match pending {
                    Ok(pending) => pending.await,
                    Err(AskError::Link(error)) => Err(error),
                    Err(AskError::Batch(_)) => continue,
                };
                match told {
                    Ok(Told::Changed { changed, now_micros }) => {
                        inner.hear_of(&held.key, changed.after, now_micros);
                        inner.denials.forget(&held.key);
                        inner.counters.released.add(1);
                    }
                    Err(error) if !error.may_be_done() && error != LinkError::Closed => again.push(held),
                    _ => inner.counters.unreleased.add(1),
                }
            }
            if again.is_empty() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
            self = inner.release(again);
        }
        inner.counters.unreleased.add(self.sent.len() as u64);
    }
}
