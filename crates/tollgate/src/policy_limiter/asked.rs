//! What the enforced rules ask of a request: one charge for each rule.
//!
//! The list has room for the most that one check can charge, so it is not moved about with the decision, and not made anew for
//! every request: a thread keeps the last one it was done with.

use std::cell::Cell;

use arrayvec::ArrayVec;
use tollgate_core::{CHARGES_MAX, Tokens};

use crate::ledger::{BucketState, Ledger, LedgerCharge};
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
    /// What only requests have that are decided by a shared ledger.
    afar: Afar,
}

/// The same as a shared ledger is asked, and what it said.
#[derive(Default)]
struct Afar {
    /// Whether anything is in here.
    is_used: bool,
    charges: Vec<LedgerCharge>,
    /// In the order of the charges.
    buckets: Vec<BucketState>,
    /// Upon what that rests; `None` until the ledger has answered.
    mode: Option<StoreMode>,
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
    pub(super) fn push_afar(&mut self, rule: usize, charge: Charge, afar: LedgerCharge) {
        if let Some(lists) = &mut self.lists
            && lists.charges.try_push(charge).is_ok()
        {
            lists.rules.push(rule);
            lists.afar.is_used = true;
            lists.afar.charges.push(afar);
        }
    }

    /// Has a ledger admit it without waiting; what is left in the bucket that has least left, if it did.
    #[inline]
    pub(super) fn admitted_at_once(&mut self, ledger: &dyn Ledger) -> Option<Tokens> {
        let Afar { charges, buckets, mode, .. } = &mut self.lists.as_mut()?.afar;
        buckets.resize(charges.len(), BucketState::UNKNOWN);
        if !ledger.admit_at_once(charges, buckets) {
            buckets.clear();
            return None;
        }
        *mode = Some(StoreMode::Leased);
        buckets.iter().map(|bucket| bucket.remaining).min()
    }

    /// Takes out what a ledger is to be asked for.
    pub(super) fn take_afar(&mut self) -> Vec<LedgerCharge> {
        self.lists.as_mut().map(|lists| std::mem::take(&mut lists.afar.charges)).unwrap_or_default()
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
            if lists.afar.is_used {
                lists.afar.clear();
            }
            // Where the thread ends it goes with it.
            let _ = SPARE.try_with(|spare| spare.set(Some(lists)));
        }
    }
}

impl Afar {
    fn clear(&mut self) {
        self.charges.clear();
        self.buckets.clear();
        (self.is_used, self.mode) = (false, None);
    }
}
