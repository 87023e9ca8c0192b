//! What the enforced rules ask of a request: one charge for each rule.
//!
//! The list has room for the most that one check can charge, so it is not moved about with the decision, and not made anew for
//! every request: a thread keeps the last one it was done with.

use std::cell::Cell;

use arrayvec::ArrayVec;
use siphasher::sip::SipHasher13;
use tollgate_core::{CHARGES_MAX, Cost, Tokens};

use crate::ledger::{BucketState, Ledger, LedgerCharge, RuleCharge, RuleNumber};
use crate::{Charge, StoreMode};

thread_local! {
    /// The list that this thread was last done with.
    static SPARE: Cell<Option<Box<Lists>>> = const { Cell::new(None) };
}

/// Charges and the rules that make them, at most [`CHARGES_MAX`], in the policy's order.
pub(super) struct Asked {
    /// `None` only while it is dropped.
    lists: Option<Box<Lists>>,
}

#[derive(Default)]
struct Lists {
    charges: ArrayVec<Charge, CHARGES_MAX>,
    rules: ArrayVec<usize, CHARGES_MAX>,
    /// The keys of the charges, if they are kept.
    kept: Kept,
    /// What only requests have that are decided by a shared ledger.
    afar: Afar,
}

/// Keys, one after the other.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: ArrayVec<usize, CHARGES_MAX>,
}

/// The same as a shared ledger is asked, and what it said.
#[derive(Default)]
struct Afar {
    /// Whether anything is in here.
    is_used: bool,
    charges: ArrayVec<AfarCharge, CHARGES_MAX>,
    /// All keys, one after the other.
    keys: Vec<u8>,
    /// In the order of the charges.
    buckets: Vec<BucketState>,
    /// Upon what that rests; `None` until the ledger has answered.
    mode: Option<StoreMode>,
}

#[derive(Clone, Copy)]
struct AfarCharge {
    rule: RuleNumber,
    cost: Cost,
    /// Where its key ends among all keys.
    key_end: usize,
}

impl Asked {
    /// An empty list. The first of a thread allocates, and so does one that is made while others are in use.
    #[inline]
    pub(super) fn nothing() -> Asked {
        // Without a spare while the thread ends.
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        Asked { lists: Some(spare.unwrap_or_default()) }
    }

    /// Adds a charge, if there is room.
    #[inline]
    pub(super) fn push(&mut self, rule: usize, charge: Charge) {
        if let Some(lists) = &mut self.lists
            && lists.charges.try_push(charge).is_ok()
        {
            lists.rules.push(rule);
        }
    }

    /// Adds a charge that a shared ledger is to be asked for, if there is room.
    #[inline]
    pub(super) fn push_afar(&mut self, rule: usize, charge: Charge, afar: RuleCharge<'_>) {
        if let Some(lists) = &mut self.lists
            && lists.charges.try_push(charge).is_ok()
        {
            lists.rules.push(rule);
            lists.afar.push(afar);
        }
    }

    /// Keeps the key of the charge that was added last.
    #[inline]
    pub(super) fn keep(&mut self, key: &[u8]) {
        if let Some(lists) = &mut self.lists {
            let Kept { bytes, ends } = &mut lists.kept;
            bytes.extend_from_slice(key);
            // There is room: as many as there are charges.
            let _ = ends.try_push(bytes.len());
        }
    }

    /// The keys that were kept, in the order of the charges.
    #[inline]
    pub(super) fn kept(&self) -> impl Iterator<Item = &[u8]> {
        let kept = self.lists.as_ref().map(|lists| &lists.kept);
        let mut begin = 0;
        kept.into_iter().flat_map(|kept| kept.ends.iter().map(move |end| (kept, *end))).map(
            move |(kept, end)| kept.bytes.get(std::mem::replace(&mut begin, end)..end).unwrap_or_default(),
        )
    }

    /// Has a ledger admit it without waiting; what is left in the bucket that has least left, if it did.
    #[inline]
    pub(super) fn admitted_at_once(&mut self, ledger: &dyn Ledger) -> Option<Tokens> {
        let afar = &mut self.lists.as_mut()?.afar;
        let mut buckets = std::mem::take(&mut afar.buckets);
        buckets.resize(afar.charges.len(), BucketState::UNKNOWN);
        let is_admitted = if let [only] = afar.charges.as_slice() {
            ledger.admit_at_once(&[afar.charge(only, 0)], &mut buckets)
        } else {
            let charges: ArrayVec<RuleCharge<'_>, CHARGES_MAX> = afar.charges().collect();
            ledger.admit_at_once(&charges, &mut buckets)
        };
        if is_admitted {
            afar.mode = Some(StoreMode::Leased);
        } else {
            buckets.clear();
        }
        afar.buckets = buckets;
        afar.buckets.iter().map(|bucket| bucket.remaining).min()
    }

    /// A number for whoever has these keys in a shared ledger, the same on every node.
    #[cold]
    pub(super) fn client_afar(&self) -> Option<u64> {
        Some(SipHasher13::new().hash(&self.lists.as_ref()?.afar.keys))
    }

    /// Takes out what a ledger is to be asked for.
    pub(super) fn take_afar(&mut self) -> Vec<LedgerCharge> {
        let Some(lists) = &mut self.lists else { return Vec::new() };
        let taken = lists.afar.charges().filter_map(|charge| charge.owned()).collect();
        lists.afar.charges.clear();
        lists.afar.keys.clear();
        taken
    }

    /// Notes what a ledger said of the buckets.
    pub(super) fn tell(&mut self, buckets: Vec<BucketState>, mode: StoreMode) {
        if let Some(lists) = &mut self.lists {
            (lists.afar.is_used, lists.afar.buckets, lists.afar.mode) = (true, buckets, Some(mode));
        }
    }

    /// What a ledger said of the buckets, in the order of the charges, and upon what that rests; `None` if none has answered.
    #[inline]
    pub(super) fn told(&self) -> Option<(&[BucketState], StoreMode)> {
        let afar = &self.lists.as_ref()?.afar;
        Some((&afar.buckets, afar.mode?))
    }

    /// The charges.
    #[inline]
    pub(super) fn charges(&self) -> &[Charge] {
        self.lists.as_ref().map_or(&[], |lists| &lists.charges)
    }

    /// The positions in the policy of the rules that make them.
    #[inline]
    pub(super) fn rules(&self) -> &[usize] {
        self.lists.as_ref().map_or(&[], |lists| &lists.rules)
    }
}

impl Drop for Asked {
    #[inline]
    fn drop(&mut self) {
        if let Some(mut lists) = self.lists.take() {
            lists.charges.clear();
            lists.rules.clear();
            lists.kept.bytes.clear();
            lists.kept.ends.clear();
            if lists.afar.is_used {
                lists.afar.clear();
            }
            // Where the thread ends it goes with it.
            let _ = SPARE.try_with(|spare| spare.set(Some(lists)));
        }
    }
}

impl Afar {
    #[inline]
    fn push(&mut self, RuleCharge { rule, key, cost }: RuleCharge<'_>) {
        self.is_used = true;
        self.keys.extend_from_slice(key);
        // There is room: as many as there are charges.
        let _ = self.charges.try_push(AfarCharge { rule, cost, key_end: self.keys.len() });
    }

    /// A charge whose key begins there.
    #[inline]
    fn charge(&self, charge: &AfarCharge, key_begin: usize) -> RuleCharge<'_> {
        let key = self.keys.get(key_begin..charge.key_end).unwrap_or_default();
        RuleCharge { rule: charge.rule, key, cost: charge.cost }
    }

    fn charges(&self) -> impl Iterator<Item = RuleCharge<'_>> {
        let mut begin = 0;
        self.charges.iter().map(move |charge| {
            let asked = self.charge(charge, begin);
            begin = charge.key_end;
            asked
        })
    }

    fn clear(&mut self) {
        self.charges.clear();
        self.keys.clear();
        self.buckets.clear();
        (self.is_used, self.mode) = (false, None);
    }
}
