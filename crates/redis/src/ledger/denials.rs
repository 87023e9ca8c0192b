//! Whom the store has denied of late (S5): for a second at most a repeat offender costs the store nothing.
//!
//! Bounded, in parts with a lock each. Where a part is full, what is over is dropped first, and then whatever is found first: the store
//! decides then.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate::ledger::{Answer, BucketState};
use tollgate::{Cause, StoreMode, Verdict};
use tollgate_core::{BucketSet, Denial, Limit, Moment, Span, Tokens};

use super::ready::Ready;
use crate::{Checked, KeyName, Outcome};

/// Most denials that are remembered.
pub(super) const DENIALS_MAX: usize = 65_536;
const PARTS: usize = 16;

/// What the store said of buckets that denied.
#[derive(Debug, Default)]
pub(super) struct Denials {
    parts: [Mutex<HashMap<KeyName, Remembered>>; PARTS],
    hash: RandomState,
}

#[derive(Debug, Clone, Copy)]
struct Remembered {
    denial: Denial,
    /// By which it was judged: another limit, and nothing is known.
    limit: Limit,
    held: Tokens,
}

impl Denials {
    /// The denial of a check that the store would deny, too.
    pub(super) fn judge(&self, ready: &Ready, now: Moment) -> Option<Answer> {
        let unknown = BucketState { remaining: Tokens::ZERO, wait: Span::ZERO, time_to_full: Span::ZERO };
        let mut buckets = vec![unknown; ready.charges.len()];
        let (mut denied, mut longest, mut remaining) =
            (BucketSet::EMPTY, Span::ZERO, Tokens::from_micros(u64::MAX));
        for (at, charge) in ready.charges.iter().enumerate() {
            let Some(limit) = charge.token_bucket() else { continue };
            let Some(known) = self.part(&charge.key).get(&charge.key).copied() else { continue };
            if known.limit != *limit {
                continue;
            }
            let Some(wait) = known.denial.wait(limit, charge.cost, now) else { continue };
            let missing =
                Tokens::from_micros(limit.burst().as_micros().saturating_sub(known.held.as_micros()));
            if let Some(place) = buckets.get_mut(at) {
                *place =
                    BucketState { remaining: known.held, wait, time_to_full: limit.time_to_mint(missing) };
            }
            denied.insert(at);
            longest = longest.max(wait);
            remaining = remaining.min(known.held);
        }
        if denied == BucketSet::EMPTY || ready.charges.len() > 1 {
            // Of several buckets the others are not known, and the client is to be told of all that deny.
            return None;
        }
        let verdict = Verdict::Deny { wait: longest, remaining, denied, cause: Cause::Exceeded };
        Some(Answer::Decided { verdict, buckets, mode: StoreMode::Exact })
    }

    /// Remembers what the store said, if it denied, of a check that was sent at `sent`.
    pub(super) fn note(&self, ready: &Ready, checked: &Checked, sent: Moment) {
        if checked.outcome != Outcome::Denied {
            return;
        }
        for bucket in checked.buckets.iter().filter(|bucket| bucket.wait != Some(Span::ZERO)) {
            let charge = bucket.members.iter().next().and_then(|at| ready.charges.get(at));
            let Some((charge, limit)) = charge.and_then(|charge| Some((charge, *charge.token_bucket()?)))
            else {
                continue;
            };
            let (denial, held) = (Denial::new(bucket.balance, sent), bucket.remaining);
            let mut part = self.part(&charge.key);
            if part.len() >= DENIALS_MAX / PARTS {
                part.retain(|_, known| !known.denial.is_over(sent));
                if part.len() >= DENIALS_MAX / PARTS
                    && let Some(any) = part.keys().next().cloned()
                {
                    part.remove(&any);
                }
            }
            part.insert(charge.key.clone(), Remembered { denial, limit, held });
        }
    }

    /// What a bucket held when it last denied.
    pub(super) fn last_held(&self, key: &KeyName) -> Option<Tokens> {
        self.part(key).get(key).map(|known| known.held)
    }

    /// Forgets a bucket to which something was given.
    pub(super) fn forget(&self, key: &KeyName) {
        self.part(key).remove(key);
    }

    fn part(&self, key: &KeyName) -> MutexGuard<'_, HashMap<KeyName, Remembered>> {
        let at = usize::try_from(self.hash.hash_one(key)).unwrap_or_default() % PARTS;
        self.parts[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
