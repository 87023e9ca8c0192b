//! What a check over leased buckets is told, by what this node knows of them.

use tollgate::ledger::{Answer, BucketState};
use tollgate::{Cause, StoreMode, Verdict};
use tollgate_core::{BucketSet, Cost, LeaseTerms, Moment, Span, Tokens};

use super::leases::Held;
use super::ready::Ready;

impl Ready {
    /// What all charges to the bucket of this one ask for together; `None` if an earlier one has asked for it.
    pub(super) fn cost_from(&self, at: usize) -> Option<Cost> {
        let key = &self.charges.get(at)?.key;
        if self.charges.iter().take(at).any(|charge| charge.key == *key) {
            return None;
        }
        let same = self.charges.iter().filter(|charge| charge.key == *key);
        Some(Cost::micros(same.fold(0, |sum: u64, charge| sum.saturating_add(charge.cost.as_micros()))))
    }

    /// Which charges are to the bucket of this one.
    pub(super) fn members(&self, at: usize) -> BucketSet {
        let mut members = BucketSet::EMPTY;
        if let Some(first) = self.charges.get(at) {
            let same = self.charges.iter().enumerate().filter(|(_, charge)| charge.key == first.key);
            same.for_each(|(at, _)| members.insert(at));
        }
        members
    }

    /// What is known of each charge's bucket, where that is known of the first of its charges.
    pub(super) fn states(&self, known: &[(usize, BucketState)]) -> Vec<BucketState> {
        let mut states = vec![BucketState::UNKNOWN; self.charges.len()];
        for (at, state) in known {
            for member in self.members(*at).iter() {
                if let Some(place) = states.get_mut(member) {
                    *place = *state;
                }
            }
        }
        states
    }
}

/// What a bucket has to spend, by what this node holds and what the store said last.
pub(super) fn state_of(terms: &LeaseTerms, held: &mut Held, now: Moment) -> BucketState {
    state_by(terms, held.lease.ready(now), held.lease.balance_seen())
}

/// The same, by what is ready here and what the store has seen.
#[inline]
pub(super) fn state_by(terms: &LeaseTerms, ready: Tokens, seen: Option<Tokens>) -> BucketState {
    let burst = terms.limit().burst().as_micros();
    let seen = seen.unwrap_or(Tokens::ZERO).as_micros();
    let left = ready.as_micros().saturating_add(seen).min(burst);
    BucketState {
        remaining: Tokens::from_micros(left),
        wait: Span::ZERO,
        time_to_full: terms.limit().time_to_mint(Tokens::from_micros(burst - left)),
        instances: 1,
    }
}

/// All buckets have paid.
pub(super) fn admitted(ready: &Ready, states: &[(usize, BucketState)], mode: StoreMode) -> Answer {
    let remaining = states.iter().map(|(_, state)| state.remaining).min().unwrap_or(Tokens::ZERO);
    let verdict = Verdict::Admit { remaining, delay: Span::ZERO };
    Answer::Decided { verdict, buckets: ready.states(states), mode }
}

/// The bucket of this charge has not.
pub(super) fn denied(ready: &Ready, at: usize, state: BucketState) -> Answer {
    let cost = ready.cost_from(at).map_or(0, Cost::as_micros);
    // What the store said last may be more than there is by now.
    let remaining = Tokens::from_micros(state.remaining.as_micros().min(cost.saturating_sub(1)));
    let state = BucketState { remaining, ..state };
    let verdict =
        Verdict::Deny { wait: state.wait, remaining, denied: ready.members(at), cause: Cause::Exceeded };
    Answer::Decided { verdict, buckets: ready.states(&[(at, state)]), mode: StoreMode::Leased }
}

/// The verdict on charges at these positions, beside slices that have paid.
pub(super) fn elsewhere(verdict: Verdict, positions: &[usize], paid: &[(usize, BucketState)]) -> Verdict {
    let moved = |denied: BucketSet| {
        let mut all = BucketSet::EMPTY;
        denied.iter().filter_map(|at| positions.get(at)).for_each(|at| all.insert(*at));
        all
    };
    match verdict {
        Verdict::Admit { remaining, delay } => {
            let least = paid.iter().map(|(_, state)| state.remaining).min().unwrap_or(remaining);
            Verdict::Admit { remaining: remaining.min(least), delay }
        }
        Verdict::Deny { wait, remaining, denied, cause } => {
            let cause = match cause {
                Cause::TableFull(charges) => Cause::TableFull(moved(charges)),
                other => other,
            };
            Verdict::Deny { wait, remaining, denied: moved(denied), cause }
        }
        Verdict::Never { denied } => Verdict::Never { denied: moved(denied) },
        Verdict::Invalid(error) => Verdict::Invalid(error),
    }
}
