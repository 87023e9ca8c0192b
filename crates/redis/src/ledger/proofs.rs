//! Balances that the store's last replies prove, and calls without a reply ([`ProvenBalance`]). They decide checks whose reply is late.
//!
//! Bounded, in parts with a lock each. A part keeps two generations: when the young one is full, the old one is forgotten, except for buckets
//! with calls under way. If those leave no room, the newcomer is not noted, and nothing is proven of it.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_core::{Algorithm, Cost, LocalShare, Moment, ProvenBalance, Tokens};

use super::Inner;
use super::ready::{Ready, ReadyCharge};
use crate::{Checked, KeyName};

/// Maximum number of buckets whose last reply is remembered.
pub(super) const PROOFS_MAX: usize = 65_536;
const PARTS: usize = 16;
/// Maximum number of buckets in one generation of one part.
const GENERATION_MAX: usize = PROOFS_MAX / PARTS / 2;

/// The last replies of the store.
#[derive(Debug, Default)]
pub(super) struct Proofs {
    parts: [Mutex<Part>; PARTS],
    hash: RandomState,
}

#[derive(Debug, Default)]
struct Part {
    /// Buckets that were asked for since the last change of generations.
    young: HashMap<KeyName, ProvenBalance>,
    /// Those that were not, and were asked for before it.
    old: HashMap<KeyName, ProvenBalance>,
}

impl Part {
    fn get(&self, key: &KeyName) -> Option<&ProvenBalance> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    fn get_mut(&mut self, key: &KeyName) -> Option<&mut ProvenBalance> {
        self.young.get_mut(key).or_else(|| self.old.get_mut(key))
    }

    /// The bucket in the young generation; `None` if there is no room for it.
    fn renew(&mut self, key: &KeyName) -> Option<&mut ProvenBalance> {
        if !self.young.contains_key(key) {
            let known = self.old.remove(key);
            if self.young.len() >= GENERATION_MAX {
                self.old.retain(|_, proven| !proven.is_idle());
                std::mem::swap(&mut self.young, &mut self.old);
            }
            if self.young.len() >= GENERATION_MAX && known.is_none() {
                return None;
            }
            self.young.insert(key.clone(), known.unwrap_or_default());
        }
        self.young.get_mut(key)
    }
}

/// A call under way: its costs are taken off what is proven until its reply is noted. Dropped without one, it counts as charged.
pub(super) struct Unanswered {
    inner: Arc<Inner>,
    charges: Vec<(KeyName, Cost)>,
}

impl Proofs {
    fn sent(&self, key: &KeyName, cost: Cost) -> bool {
        let mut part = self.part(key);
        part.renew(key).map(|proven| proven.sent(cost)).is_some()
    }

    fn heard(&self, key: &KeyName, micros: i64, store_micros: u64, now: Moment) {
        if let Some(proven) = self.part(key).renew(key) {
            proven.heard(micros, store_micros, now);
        }
    }

    fn with(&self, key: &KeyName, act: impl FnOnce(&mut ProvenBalance)) {
        if let Some(proven) = self.part(key).get_mut(key) {
            act(proven);
        }
    }

    /// The bucket was charged by other means, and no reply said what is left.
    pub(super) fn spent(&self, key: &KeyName, cost: Cost) {
        self.with(key, |proven| proven.spent(cost));
    }

    /// This instance holds so much of the bucket as slices.
    pub(super) fn holds(&self, key: &KeyName, slices: Tokens) {
        self.with(key, |proven| proven.holds(slices));
    }

    /// The bucket was filled by other means.
    pub(super) fn forget(&self, key: &KeyName) {
        self.with(key, ProvenBalance::forget);
    }

    /// Micro-tokens that are proven of the bucket of a charge, less all calls under way; `None` if nothing is proven.
    pub(super) fn micros(&self, charge: &ReadyCharge, instances: u32, now: Moment) -> Option<i64> {
        let share = match &charge.alone {
            Algorithm::TokenBucket(limit) => LocalShare::new(limit, instances).ok(),
            _ => None,
        };
        self.part(&charge.key).get(&charge.key)?.micros(share.as_ref(), charge.alone.full(), now)
    }

    /// The balance of a bucket by the last reply and the whole refill since, less all calls under way: right if no other instance has spent
    /// since.
    pub(super) fn last_held(&self, charge: &ReadyCharge, now: Moment) -> Option<Tokens> {
        let micros = self.micros(charge, 1, now)?;
        Some(Tokens::from_micros(micros.max(0).unsigned_abs()))
    }

    fn part(&self, key: &KeyName) -> MutexGuard<'_, Part> {
        let at = usize::try_from(self.hash.hash_one(key)).unwrap_or_default() % PARTS;
        self.parts[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Notes what the store said of the buckets of a check whose costs are not noted as unanswered.
    pub(super) fn hear(&self, ready: &Ready, checked: &Checked) {
        for bucket in checked.buckets.iter().filter(|_| !checked.is_retold) {
            if let Some(key) = bucket.members.iter().next().and_then(|at| ready.key_of(at)) {
                self.hear_of(key, bucket.balance, checked.now_micros);
            }
        }
    }

    /// Notes what the store said that a bucket held at `store_micros` by the store's clock.
    pub(super) fn hear_of(&self, key: &KeyName, micros: i64, store_micros: u64) {
        self.proofs.heard(key, micros, store_micros, self.clock.now());
    }
}

impl Unanswered {
    /// A check of these charges is about to be sent.
    pub(super) fn check(inner: &Arc<Inner>, ready: &Ready) -> Unanswered {
        let cost = |at: usize| Some((ready.charges.get(at)?.key.clone(), ready.cost_from(at)?));
        Unanswered::new(inner, (0..ready.charges.len()).filter_map(cost).collect())
    }

    /// A call that charges one bucket is about to be sent.
    pub(super) fn charge(inner: &Arc<Inner>, key: &KeyName, cost: Cost) -> Unanswered {
        Unanswered::new(inner, vec![(key.clone(), cost)])
    }

    /// A call that charges these buckets, each once, is about to be sent.
    pub(super) fn new(inner: &Arc<Inner>, mut charges: Vec<(KeyName, Cost)>) -> Unanswered {
        charges.retain(|(key, cost)| inner.proofs.sent(key, *cost));
        Unanswered { inner: Arc::clone(inner), charges }
    }

    /// The part of it that charges one bucket.
    pub(super) fn take_apart(&mut self, key: &KeyName) -> Option<Unanswered> {
        let at = self.charges.iter().position(|(noted, _)| noted == key)?;
        let charges = vec![self.charges.swap_remove(at)];
        Some(Unanswered { inner: Arc::clone(&self.inner), charges })
    }

    /// The reply to a check has come; `key_of` names the bucket of a charge of it.
    pub(super) fn replied<'k>(mut self, checked: &Checked, key_of: impl Fn(usize) -> Option<&'k KeyName>) {
        let now = self.inner.clock.now();
        for bucket in &checked.buckets {
            let key = bucket.members.iter().next().and_then(&key_of);
            let Some(at) = self.charges.iter().position(|(noted, _)| Some(noted) == key) else { continue };
            let (key, cost) = self.charges.swap_remove(at);
            // A retry is told what the first was told: nothing of now.
            self.inner.proofs.with(&key, |proven| {
                if checked.is_retold {
                    proven.not_done(cost);
                } else {
                    proven.replied(cost, bucket.balance, checked.now_micros, now);
                }
            });
        }
        self.not_done();
    }

    /// The reply to a call that charges one bucket has come: what it held at `store_micros` by the store's clock.
    pub(super) fn replied_with(mut self, micros: i64, store_micros: u64) {
        let now = self.inner.clock.now();
        if let Some((key, cost)) = self.charges.pop() {
            self.inner.proofs.with(&key, |proven| proven.replied(cost, micros, store_micros, now));
        }
    }

    /// It was not done, and never will be.
    pub(super) fn not_done(mut self) {
        for (key, cost) in std::mem::take(&mut self.charges) {
            self.inner.proofs.with(&key, |proven| proven.not_done(cost));
        }
    }
}

impl fmt::Debug for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unanswered").field(&self.charges).finish()
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        for (key, cost) in &self.charges {
            self.inner.proofs.with(key, |proven| proven.lost(*cost));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> KeyName {
        KeyName::from_bytes(number.to_le_bytes().to_vec())
    }

    fn heard(part: &mut Part, number: usize) -> bool {
        part.renew(&key(number)).map(|proven| proven.heard(1, 1, Moment::default())).is_some()
    }

    #[test]
    fn a_flood_of_new_buckets_forgets_neither_those_in_use_nor_those_with_calls_under_way() {
        let mut part = Part::default();
        part.renew(&key(0)).unwrap().sent(Cost::ONE);
        for number in 2..10 * GENERATION_MAX {
            assert!(heard(&mut part, number));
            assert!(number % 1_000 != 0 || heard(&mut part, 1));
            assert!(part.young.len() <= GENERATION_MAX && part.old.len() <= GENERATION_MAX);
        }
        assert!(part.get(&key(0)).is_some_and(|proven| !proven.is_idle()));
        assert!(part.get(&key(1)).is_some());
        assert!(part.get(&key(2)).is_none());
    }

    #[test]
    fn calls_under_way_that_fill_a_part_leave_no_room_for_a_new_bucket() {
        let mut part = Part::default();
        let noted = (0..3 * GENERATION_MAX)
            .filter(|number| part.renew(&key(*number)).map(|proven| proven.sent(Cost::ONE)).is_some());
        assert_eq!(noted.count(), 2 * GENERATION_MAX);
        assert!(part.renew(&key(0)).is_some(), "one that is known stays known");
    }
}
