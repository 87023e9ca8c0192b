//! What the enforced rules ask of a request: one charge for each rule.
//!
//! The list has room for the most that one check can charge, so it is not moved about with the decision, and not made anew for
//! every request: a thread keeps the last one it was done with.

use std::cell::Cell;

use arrayvec::ArrayVec;
use tollgate_core::CHARGES_MAX;

use crate::Charge;

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
            // Where the thread ends it goes with it.
            let _ = SPARE.try_with(|spare| spare.set(Some(lists)));
        }
    }
}
