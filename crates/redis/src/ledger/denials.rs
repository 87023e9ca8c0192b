//! Whom the store has denied of late (S5): for a second at most a repeat offender costs the store nothing.
//!
//! A check over several buckets is denied if one of them is known to deny. Bounded, in parts with a lock each. Where a part is full, what is over is dropped first, and then whatever is found first: the store
//! decides then.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate::ledger::{Answer, BucketState};
use tollgate::{Cause, StoreMode, Verdict};
use tollgate_core::{Algorithm, BucketSet, Cost, Denial, Limit, Moment, Span, Tokens};

use super::ready::{Ready, ReadyCharge};
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

impl Remembered {
    /// Whether the store would still deny what a question asks of the bucket of this charge; then for how long.
    fn wait(&self, ready: &Ready, of: &ReadyCharge, now: Moment) -> Option<Span> {
        self.denial.wait(&self.limit, cost_of(ready, of), now)
    }

    /// How the bucket stood; whether it denies is for each check to say.
    fn state(&self) -> BucketState {
        let missing = self.limit.burst().as_micros().saturating_sub(self.held.as_micros());
        let time_to_full = self.limit.time_to_mint(Tokens::from_micros(missing));
        BucketState { remaining: self.held, time_to_full, ..BucketState::UNKNOWN }
    }
}

/// What a question asks of the bucket of this charge.
fn cost_of(ready: &Ready, of: &ReadyCharge) -> Cost {
    let same = ready.charges.iter().filter(|charge| charge.key == of.key);
    same.fold(Cost::micros(0), |sum, charge| sum.plus(charge.cost))
}

/// Whether waiting helps a check that this bucket denies. Not where the cost is above what a full one holds, or nothing: that is told apart,
/// by the store.
fn may_wait(ready: &Ready, of: &ReadyCharge) -> bool {
    of.cost > Cost::micros(0) && cost_of(ready, of).as_micros() <= of.algorithm.full().as_micros()
}

/// A bucket of which nothing was heard.
fn unknown(algorithm: &Algorithm) -> BucketState {
    BucketState { remaining: algorithm.full(), ..BucketState::UNKNOWN }
}

impl Denials {
    /// The denial of a check that the store would deny, too: if one bucket is known to deny, the others need not be asked. The client is
    /// told of those that are known to deny. Of the others it is told what was last heard, and if nothing was, what a full one holds:
    /// so none that did not deny looks tighter than it is.
    pub(super) fn judge(&self, ready: &Ready, now: Moment) -> Option<Answer> {
        // Nearly nobody was denied, and pays for a look alone.
        let is_denied =
            |charge| self.known(charge, now).is_some_and(|known| known.wait(ready, charge, now).is_some());
        if !ready.charges.iter().any(is_denied) || !ready.charges.iter().all(|charge| may_wait(ready, charge))
        {
            return None;
        }
        let (mut denied, mut longest) = (BucketSet::EMPTY, Span::ZERO);
        let mut remaining = Tokens::from_micros(u64::MAX);
        let mut buckets = Vec::with_capacity(ready.charges.len());
        for (at, charge) in ready.charges.iter().enumerate() {
            let known = self.known(charge, now);
            let mut state = known.as_ref().map_or_else(|| unknown(&charge.algorithm), Remembered::state);
            if let Some(wait) = known.and_then(|known| known.wait(ready, charge, now)) {
                state.wait = wait;
                denied.insert(at);
                longest = longest.max(wait);
                remaining = remaining.min(state.remaining);
            }
            buckets.push(state);
        }
        // Forgotten between the two looks.
        if denied == BucketSet::EMPTY {
            return None;
        }
        let verdict = Verdict::Deny { wait: longest, remaining, denied, cause: Cause::Exceeded };
        Some(Answer::Decided { verdict, buckets, mode: StoreMode::Exact })
    }

    /// What is remembered of the bucket of a charge, if it can still be relied upon.
    fn known(&self, charge: &ReadyCharge, now: Moment) -> Option<Remembered> {
        let limit = charge.token_bucket()?;
        let known = self.part(&charge.key).get(&charge.key).copied()?;
        (known.limit == *limit && !known.denial.is_over(now)).then_some(known)
    }

    /// Remembers what the store said, if it denied, of a check that was sent at `sent`: of the buckets that denied, and of those that could
    /// have paid.
    pub(super) fn note(&self, ready: &Ready, checked: &Checked, sent: Moment) {
        if checked.outcome != Outcome::Denied {
            return;
        }
        for bucket in &checked.buckets {
            let charge = bucket.members.iter().next().and_then(|at| ready.charges.get(at));
            let Some((charge, limit)) = charge.and_then(|charge| Some((charge, *charge.token_bucket()?)))
            else {
                continue;
            };
            let (denial, held) = (Denial::new(bucket.balance, sent), bucket.remaining);
            let mut part = self.part(&charge.key);
            if part.len() >= DENIALS_MAX / PARTS && !part.contains_key(&charge.key) {
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

    /// What a bucket held when a check over it was last denied.
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
