//! Checks over leased buckets: by what this node holds of them, and without asking if that is enough.
//!
//! ```text
//!  every slice can pay ─► paid ─► and no other bucket: admitted              some are exact ─► the store is asked for those; if it denies,
//!  one cannot ─► denied, by what the store said last                         what was paid is put back
//!             └► its ask is on its way: wait for the answer, look again; after a few in vain, the store decides
//! ```
//! All or nothing. While replies are late, slices are spent to their end; then rules do what `on_store_failure` says.

use std::sync::Arc;
use std::time::Duration;

use tollgate::ledger::{Answer, BucketState, Manner};
use tollgate::{StoreMode, Verdict};
use tollgate_core::{Ask, CHARGES_MAX, Cost, LeaseTerms, Moment, Spending, Taken, Tokens};

use super::Inner;
use super::late::Late;
use super::leased_answers::{admitted, denied, elsewhere, state_of};
use super::leases::{Held, ToSend};
use super::ready::{Ready, ReadyCharge};
use crate::KeyName;

/// How many answers a check waits for that others are quicker to spend; then the store decides.
const ROUNDS_MAX: usize = 3;

/// What slices make of a check.
pub(super) enum Slices {
    Decided(Answer),
    /// To be looked at when there is a runtime.
    Later,
    /// All that are leased have paid; the store is to be asked for the others.
    Paid(Vec<Paid>),
    /// An answer is on its way.
    Awaits(KeyName, u64),
    /// The store is not to be asked now.
    Silent,
    /// A bucket is not leased here after all.
    NotLeased,
}

/// What a bucket has paid for.
pub(super) struct Paid {
    /// The position of its first charge.
    at: usize,
    cost: Cost,
    taken: Taken,
    state: BucketState,
}

/// What came of spending a slice.
struct Spent {
    spending: Spending,
    state: BucketState,
    to_send: Option<Box<ToSend>>,
    /// The number of the ask on its way, and whether its answer is overdue.
    on_its_way: (u64, bool),
}

impl Inner {
    /// What slices make of a question that was just asked. Awaits nothing.
    pub(super) fn look_at_slices(self: &Arc<Self>, ready: &Ready, manner: &Manner) -> Slices {
        let is_leased = ready.charges.iter().any(|charge| charge.is_leased);
        let is_sound = ready.charges.len() <= CHARGES_MAX
            && ready.charges.iter().all(|charge| charge.cost > Cost::micros(0));
        if !is_leased || !is_sound || !ready.is_agreed || self.locals.hold_any(ready) {
            return Slices::NotLeased;
        }
        match manner {
            Manner::Check => {}
            Manner::Peek => return self.peek_slices(ready).map_or(Slices::NotLeased, Slices::Decided),
            _ => return Slices::NotLeased,
        }
        // Without a runtime nobody sends asks.
        if tokio::runtime::Handle::try_current().is_err() {
            return Slices::Later;
        }
        let slices = self.try_slices(ready);
        if let Slices::Decided(_) = slices {
            self.counters.lease_hits.add(1);
        }
        slices
    }

    /// Decides by slices and by the store, within the deadline.
    pub(super) async fn decide_by_slices(self: &Arc<Self>, ready: &Ready, mut slices: Slices) -> Answer {
        let begun = self.clock.now();
        for _ in 0..ROUNDS_MAX {
            match slices {
                Slices::Decided(answer) => return answer,
                Slices::Paid(paid) => return self.decide_rest(ready, paid, begun).await,
                Slices::Silent => return self.decide_without_reply(ready, &Manner::Check),
                Slices::NotLeased => break,
                Slices::Later => {}
                Slices::Awaits(key, seq) => {
                    if !self.has_arrived(&key, seq, begun).await {
                        return self.decide_without_reply(ready, &Manner::Check);
                    }
                }
            }
            slices = self.try_slices(ready);
        }
        match slices {
            Slices::Decided(answer) => answer,
            Slices::Paid(paid) => self.decide_rest(ready, paid, begun).await,
            _ => self.decide_exactly(ready.again(), Manner::Check, begun).await,
        }
    }

    /// How long a check that began then may yet take.
    pub(super) fn left_since(&self, begun: Moment) -> Duration {
        self.deadline().saturating_sub(self.clock.now().since(begun).into())
    }

    /// Waits for the answer to an ask; `false` if it is lost or too late.
    pub(super) async fn has_arrived(&self, key: &KeyName, seq: u64, begun: Moment) -> bool {
        loop {
            let Ok(arrived) = self.leases.awaits(key, seq) else { return false };
            let Some(arrived) = arrived else { return true };
            let notified = arrived.notified();
            // It may have come just before this.
            if !matches!(self.leases.awaits(key, seq), Ok(Some(_))) {
                continue;
            }
            if tokio::time::timeout(self.left_since(begun), notified).await.is_err() {
                return false;
            }
        }
    }

    /// What slices make of a check now.
    fn try_slices(self: &Arc<Self>, ready: &Ready) -> Slices {
        let now = self.clock.now();
        self.tend_leases();
        if let [charge] = ready.charges.as_slice() {
            let spent =
                self.leases.with(charge, now, |terms, held| spend(charge, charge.cost, terms, held, now));
            return spent.map_or(Slices::NotLeased, |spent| self.outcome(ready, 0, spent));
        }
        let mut paid: Vec<Paid> = Vec::with_capacity(ready.charges.len());
        for (at, charge) in ready.charges.iter().enumerate().filter(|(_, charge)| charge.is_leased) {
            let Some(cost) = ready.cost_from(at) else { continue };
            let took = self.leases.with(charge, now, |terms, held| match held.lease.take(terms, cost, now) {
                Some(taken) => Ok((taken, state_of(terms, held, now))),
                None => Err(spend(charge, cost, terms, held, now)),
            });
            match took {
                Some(Ok((taken, state))) => paid.push(Paid { at, cost, taken, state }),
                Some(Err(spent)) => {
                    self.put_back(ready, paid);
                    return self.outcome(ready, at, spent);
                }
                None => {
                    self.put_back(ready, paid);
                    return Slices::NotLeased;
                }
            }
        }
        if ready.charges.iter().any(|charge| !charge.is_leased) {
            return Slices::Paid(paid);
        }
        let states = self.top_up(ready, paid);
        Slices::Decided(admitted(ready, &states, StoreMode::Leased))
    }

    /// What comes of one bucket whose slice paid for the whole check, or of the first one that could not.
    fn outcome(self: &Arc<Self>, ready: &Ready, at: usize, spent: Spent) -> Slices {
        let Spent { spending, state, to_send, on_its_way: (seq, is_late) } = spent;
        let is_sent = to_send.is_none_or(|ask| self.send_ask(*ask));
        let awaits = || {
            let key = ready.charges.get(at).map(|charge| charge.key.clone());
            key.map_or(Slices::NotLeased, |key| Slices::Awaits(key, seq))
        };
        match spending {
            Spending::Spent { .. } => Slices::Decided(admitted(ready, &[(at, state)], StoreMode::Leased)),
            Spending::OnItsWay if !is_late => awaits(),
            Spending::Asks(_) if is_sent => awaits(),
            Spending::OnItsWay | Spending::Asks(_) => Slices::Silent,
            Spending::Denied { wait, .. } => {
                Slices::Decided(denied(ready, at, BucketState { wait, ..state }))
            }
            Spending::Never => {
                let verdict = Verdict::Never { denied: ready.members(at) };
                Slices::Decided(Answer::Decided {
                    verdict,
                    buckets: ready.states(&[(at, state)]),
                    mode: StoreMode::Leased,
                })
            }
        }
    }

    /// Asks the store for what is not leased; if it denies, slices have not paid.
    async fn decide_rest(self: &Arc<Self>, ready: &Ready, paid: Vec<Paid>, begun: Moment) -> Answer {
        let (positions, charges): (Vec<usize>, Vec<ReadyCharge>) = ready
            .charges
            .iter()
            .enumerate()
            .filter(|(_, charge)| !charge.is_leased)
            .map(|(at, charge)| (at, charge.clone()))
            .unzip();
        let rest = Ready { charges, is_agreed: ready.is_agreed, late: Late::default() };
        // A caller that goes away leaves slices charged, as it leaves buckets charged.
        let answer = self.decide_exactly(rest, Manner::Check, begun).await;
        let Answer::Decided { verdict, buckets, mode } = answer else {
            self.put_back(ready, paid);
            return answer;
        };
        let states: Vec<(usize, BucketState)> = if verdict.is_admitted() {
            self.top_up(ready, paid)
        } else {
            let states = paid.iter().map(|paid| (paid.at, paid.state)).collect();
            self.put_back(ready, paid);
            states
        };
        let mut all = ready.states(&states);
        for (at, state) in positions.iter().zip(&buckets) {
            if let Some(place) = all.get_mut(*at) {
                *place = *state;
            }
        }
        // Where the store denied, slices had no say.
        let is_by_slices = mode == StoreMode::Exact && verdict.is_admitted();
        let mode = if is_by_slices { StoreMode::Leased } else { mode };
        Answer::Decided { verdict: elsewhere(verdict, &positions, &states), buckets: all, mode }
    }

    /// What was paid is spent for good; more is asked for where it is time to.
    fn top_up(self: &Arc<Self>, ready: &Ready, paid: Vec<Paid>) -> Vec<(usize, BucketState)> {
        let now = self.clock.now();
        let top_up = |Paid { at, cost, state, .. }: Paid| {
            let charge = ready.charges.get(at)?;
            let ask = self.leases.with(charge, now, |terms, held| {
                let ask = held.lease.top_up(terms, cost, now)?;
                to_send(charge, held, terms, ask)
            });
            if let Some(ask) = ask.flatten() {
                self.send_ask(*ask);
            }
            Some((at, state))
        };
        paid.into_iter().filter_map(top_up).collect()
    }

    /// What a bucket held when it was last heard of.
    pub(super) fn last_held(&self, charge: &ReadyCharge) -> Option<Tokens> {
        self.proofs.last_held(charge, self.clock.now()).or_else(|| self.denials.last_held(&charge.key))
    }

    fn put_back(&self, ready: &Ready, paid: Vec<Paid>) {
        let now = self.clock.now();
        for Paid { at, taken, .. } in paid {
            if let Some(charge) = ready.charges.get(at) {
                self.leases.with_held(&charge.key, |held| held.lease.put_back(taken, now));
            }
        }
    }

    /// What a check would be told, if slices could pay for all of it; otherwise the store says.
    fn peek_slices(&self, ready: &Ready) -> Option<Answer> {
        let now = self.clock.now();
        let mut states = Vec::with_capacity(ready.charges.len());
        for (at, charge) in ready.charges.iter().enumerate() {
            let Some(cost) = ready.cost_from(at) else { continue };
            let terms = charge.terms()?;
            let state = self.leases.with_held(&charge.key, |held| {
                (held.lease.ready(now).as_micros() >= cost.as_micros()).then(|| state_of(terms, held, now))
            });
            let state = state.flatten()?;
            let left = state.remaining.as_micros().saturating_sub(cost.as_micros());
            states.push((at, BucketState { remaining: Tokens::from_micros(left), ..state }));
        }
        Some(admitted(ready, &states, StoreMode::Leased))
    }
}

/// Spends a slice; more may have to be asked for.
fn spend(charge: &ReadyCharge, cost: Cost, terms: &LeaseTerms, held: &mut Held, now: Moment) -> Spent {
    let spending = held.lease.spend(terms, cost, now);
    let ask = match spending {
        Spending::Spent { ask, .. } | Spending::Denied { ask, .. } => ask,
        Spending::Asks(ask) => Some(ask),
        _ => None,
    };
    Spent {
        spending,
        state: state_of(terms, held, now),
        to_send: ask.and_then(|ask| to_send(charge, held, terms, ask)),
        on_its_way: held.on_its_way(),
    }
}

fn to_send(charge: &ReadyCharge, held: &Held, terms: &LeaseTerms, ask: Ask) -> Option<Box<ToSend>> {
    Some(Box::new(held.to_send(charge.limit.as_ref()?, terms, ask)))
}
