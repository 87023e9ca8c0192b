//! The slices of shared buckets that this node holds (S4): one [`Lease`] for each bucket that it is asked about.
//!
//! Bounded, in parts with a lock each, by a hash that nobody can foretell. Where a part is full, what is over is forgotten first; if nothing is, the bucket stays exact here.
//! Knows no store: who sends asks is `lease_asks`, who decides checks is `leased_checks`.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use siphasher::sip::SipHasher13;
use tokio::sync::Notify;
use tollgate::ledger::BucketState;
use tollgate_core::{Answer, Ask, Cost, Lease, LeaseTerms, Moment, Tokens};

use super::leased_answers::state_by;
use super::leased_rules::LeasedRule;
use super::ready::ReadyCharge;
use super::rules::RuleEntry;
use crate::{KeyName, SharedLimit};

/// Most buckets that a node holds slices of.
pub(super) const LEASES_MAX: usize = 16_384;
const PARTS: usize = 16;
/// Most slices that are given back at a time; others follow when it is looked next.
const BACK_MAX: usize = 1_024;

/// By the hashes of names. A bucket whose hash another one has stays exact here.
type Part = HashMap<u64, Held, BuildHasherDefault<AsItIs>>;

/// The hash of what is a hash already.
#[derive(Debug, Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}

/// The slices of this node.
#[derive(Debug)]
pub(super) struct Leases {
    parts: [Mutex<Part>; PARTS],
    /// With secrets of this process.
    hash: SipHasher13,
    /// What this node is called in the store; each lease adds a number that was never given before.
    node: String,
    born: AtomicU64,
    count: AtomicUsize,
    is_closed: AtomicBool,
    /// Whether somebody looks after them.
    pub(super) is_tended: AtomicBool,
}

/// One bucket's slice.
#[derive(Debug)]
pub(super) struct Held {
    key: KeyName,
    pub(super) lease: Lease,
    record: KeyName,
    rule: Arc<RuleEntry>,
    /// The numbers of the last ask that was lost, and of the last whose answer was overdue.
    lost: u64,
    late: u64,
    arrived: Arc<Notify>,
}

/// An ask that is to be sent, with all that it takes.
#[derive(Debug, Clone)]
pub(super) struct ToSend {
    pub(super) key: KeyName,
    pub(super) record: KeyName,
    pub(super) limit: SharedLimit,
    /// By which it was asked: they hold for its answer, too.
    pub(super) terms: LeaseTerms,
    pub(super) ask: Ask,
}

impl Default for Leases {
    fn default() -> Leases {
        let secret = |of: u8| RandomState::new().hash_one(of);
        let hash = SipHasher13::new_with_keys(secret(1), secret(2));
        let node = format!("{:016x}", secret(0));
        Leases {
            parts: std::array::from_fn(|_| Mutex::default()),
            hash,
            node,
            born: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            is_tended: AtomicBool::new(false),
        }
    }
}

impl Leases {
    /// How many buckets this node has slices of.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// From now on there are no new slices.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Does something with the slice of a charge's bucket; `None` if the bucket is not leased here.
    pub(super) fn with<T>(
        &self,
        charge: &ReadyCharge,
        now: Moment,
        act: impl FnOnce(&LeaseTerms, &mut Held) -> T,
    ) -> Option<T> {
        let (terms, rule) = (charge.terms()?, charge.rule.as_ref()?);
        if self.is_closed.load(Ordering::Relaxed) {
            return None;
        }
        let hash = self.hash_of(charge.key.as_bytes());
        let mut part = self.part(hash);
        if let Some(held) = part.get_mut(&hash) {
            if held.key != charge.key {
                return None;
            }
            if !Arc::ptr_eq(&held.rule, rule) {
                // The policy has changed meanwhile.
                held.rule = Arc::clone(rule);
                held.lease.forget_denial();
            }
            return Some(act(terms, held));
        }
        if part.len() >= LEASES_MAX / PARTS {
            self.forget_over(&mut part, now);
        }
        if part.len() >= LEASES_MAX / PARTS {
            return None;
        }
        let number = self.born.fetch_add(1, Ordering::Relaxed);
        let record = charge.key.lease_record(&format!("{}.{number}", self.node))?;
        let (lease, rule, arrived) = (Lease::default(), Arc::clone(rule), Arc::default());
        let key = charge.key.clone();
        let held = part.entry(hash).or_insert(Held { key, lease, record, rule, lost: 0, late: 0, arrived });
        self.count.fetch_add(1, Ordering::Relaxed);
        Some(act(terms, held))
    }

    /// The same, of a bucket of which there is a slice.
    pub(super) fn with_held<T>(&self, key: &KeyName, act: impl FnOnce(&mut Held) -> T) -> Option<T> {
        if self.len() == 0 {
            return None;
        }
        let hash = self.hash_of(key.as_bytes());
        self.part(hash).get_mut(&hash).filter(|held| held.key == *key).map(act)
    }

    /// Has the slice of the bucket of this plain key pay, if it is there, has enough, and nothing is to be asked for: how the bucket stands
    /// then. `None` of all others: nothing was spent.
    #[inline]
    pub(super) fn spend_at_once(
        &self,
        LeasedRule { rule, begin, hashed }: &LeasedRule,
        key: &[u8],
        cost: Cost,
        now: Moment,
    ) -> Option<BucketState> {
        let terms = rule.lease.as_ref()?;
        if self.is_closed.load(Ordering::Relaxed) {
            return None;
        }
        let hash = hash_after(hashed, key);
        let (ready, seen) = {
            let mut part = self.part(hash);
            let held = part.get_mut(&hash)?;
            let is_meant = held.key.as_bytes().strip_prefix(&**begin) == Some(key);
            if !is_meant || !Arc::ptr_eq(&held.rule, rule) {
                return None;
            }
            (held.lease.spend_at_once(terms, cost, now)?, held.lease.balance_seen())
        };
        Some(state_by(terms, ready, seen))
    }

    /// Whether an answer to this ask is awaited; then who says when it is there. `Err` if the ask was lost.
    pub(super) fn awaits(&self, key: &KeyName, seq: u64) -> Result<Option<Arc<Notify>>, ()> {
        let found = self.with_held(key, |held| match held.lease.on_its_way() {
            Some((ask, _)) if ask.seq == seq => Ok(Some(Arc::clone(&held.arrived))),
            _ if held.lost >= seq => Err(()),
            _ => Ok(None),
        });
        found.unwrap_or(Ok(None))
    }

    /// The store's answer to an ask, or `None` if there is none; says what was stranded since the last.
    pub(super) fn answered(&self, sent: &ToSend, answer: Option<&Answer>, now: Moment) -> Tokens {
        let stranded = self.with_held(&sent.key, |held| {
            if let Some(answer) = answer {
                held.lease.answered(&sent.terms, sent.ask.seq, answer, now);
            } else {
                held.lease.lost(&sent.terms, sent.ask.seq, now);
                held.lost = held.lost.max(sent.ask.seq);
            }
            held.arrived.notify_waiters();
            held.lease.take_stranded()
        });
        stranded.unwrap_or(Tokens::ZERO)
    }

    /// The answer to an ask is overdue: whoever waits for it should not.
    pub(super) fn is_late(&self, sent: &ToSend) {
        self.with_held(&sent.key, |held| held.late = held.late.max(sent.ask.seq));
    }

    /// What is to be given back now, and what was stranded; what is over is forgotten. With `all`, everything is, and it is said whether
    /// answers are still on their way.
    pub(super) fn to_give_back(
        &self,
        all: bool,
        now: Moment,
        is_due: impl Fn(&KeyName) -> bool,
    ) -> (Vec<ToSend>, Tokens, bool) {
        let (mut asks, mut stranded, mut is_busy) = (Vec::new(), 0_u64, false);
        for part in &self.parts {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            for held in part.values_mut() {
                let Some(terms) = held.rule.lease.as_ref() else { continue };
                if asks.len() >= BACK_MAX {
                    is_busy = true;
                    break;
                }
                if !is_due(&held.key) {
                    continue;
                }
                let ask = if all { held.lease.give_back(terms, now) } else { held.lease.idle(terms, now) };
                is_busy |= held.lease.on_its_way().is_some();
                stranded = stranded.saturating_add(held.lease.take_stranded().as_micros());
                asks.extend(ask.and_then(|ask| held.sends_back(ask, now)));
            }
            self.forget_over(&mut part, now);
        }
        (asks, Tokens::from_micros(stranded), is_busy)
    }

    /// What is to be given back of one bucket now, which is all; `None` if that is nothing, or if an answer is on its way.
    pub(super) fn to_give_back_of(&self, key: &KeyName, now: Moment) -> Option<ToSend> {
        let back = self.with_held(key, |held| {
            let ask = held.lease.give_back(held.rule.lease.as_ref()?, now)?;
            held.sends_back(ask, now)
        });
        back.flatten()
    }

    /// Forgets what was said of a bucket's balance, to which something was given.
    pub(super) fn forget_denial(&self, key: &KeyName) {
        self.with_held(key, |held| held.lease.forget_denial());
    }

    fn forget_over(&self, part: &mut Part, now: Moment) {
        let before = part.len();
        part.retain(|_, held| match held.rule.lease.as_ref() {
            Some(terms) => !held.lease.is_over(terms, now),
            None => false,
        });
        self.count.fetch_sub(before - part.len(), Ordering::Relaxed);
    }

    #[inline]
    fn hash_of(&self, name: &[u8]) -> u64 {
        hash_after(&self.hash, name)
    }

    /// A rule of which this node may hold slices, by what the names of its buckets begin with.
    pub(super) fn leased_rule(&self, rule: &Arc<RuleEntry>, begin: Vec<u8>) -> LeasedRule {
        let mut hashed = self.hash;
        hashed.write(&begin);
        LeasedRule { rule: Arc::clone(rule), begin: begin.into(), hashed }
    }

    /// The part that a hash belongs to, by bits that the part itself does not go by.
    #[inline]
    fn part(&self, hash: u64) -> MutexGuard<'_, Part> {
        let at = (hash >> 32) as usize % PARTS;
        self.parts[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hash of a name of which the beginning is hashed.
#[inline]
fn hash_after(begin: &SipHasher13, rest: &[u8]) -> u64 {
    let mut hash = *begin;
    hash.write(rest);
    hash.finish()
}

impl Held {
    /// The number of the ask on its way, 0 if there is none; whether its answer is overdue.
    pub(super) fn on_its_way(&self) -> (u64, bool) {
        let seq = self.lease.on_its_way().map_or(0, |(ask, _)| ask.seq);
        (seq, self.late >= seq)
    }

    /// What it takes to send what is given back. Only what was agreed upon can be asked about; otherwise the slice ends by itself.
    fn sends_back(&mut self, ask: Ask, now: Moment) -> Option<ToSend> {
        let terms = *self.rule.lease.as_ref()?;
        if let Some(agreed) = self.rule.agreed.load().as_ref() {
            return Some(self.to_send(&agreed.limit, &terms, ask));
        }
        self.lease.lost(&terms, ask.seq, now);
        None
    }

    /// What it takes to send an ask of this bucket.
    pub(super) fn to_send(&self, limit: &SharedLimit, terms: &LeaseTerms, ask: Ask) -> ToSend {
        let (key, record, limit) = (self.key.clone(), self.record.clone(), limit.clone());
        ToSend { key, record, limit, terms: *terms, ask }
    }
}
