//! Checks of several buckets of which this node keeps some by its share, while the store keeps the others.
//!
//! ```text
//!  those kept here: reserved ─► one denies: denied                        ┌► admitted: charged for good
//!                             └► all admit: the others are asked as usual ┴► denied, or nobody is let through: given back here
//! ```
//! All or nothing. Were the others decided by shares as well, each of them would begin to settle anew, and with it whatever it is checked
//! together with: clients who share a bucket would keep each other from the store for ever.

use std::sync::Arc;

use tollgate::StoreMode;
use tollgate::ledger::{Answer, BucketState, Manner, TrueCosts};
use tollgate_core::{Algorithm, Moment, Span};

use super::Inner;
use super::late::Late;
use super::leased_answers::elsewhere;
use super::locals::{Kept, Locally};
use super::ready::{Ready, ReadyCharge};

/// How long the store may take for the others at the most, with all that is waited for: then what was charged here stands.
const WITHIN: Span = Span::from_secs(60);

/// A question in two parts, each with the positions of its charges.
struct Parts {
    here: (Vec<usize>, Ready),
    elsewhere: (Vec<usize>, Ready),
}

impl Inner {
    /// Decides a check of which some buckets are kept here, and not all; `None` if it is none of those. The deadline counts from `begun`.
    pub(super) async fn decide_in_part(
        self: &Arc<Self>,
        ready: &Ready,
        manner: &Manner,
        begun: Moment,
    ) -> Option<Answer> {
        // Places need somebody who gives them back.
        let is_place = |charge: &ReadyCharge| matches!(charge.algorithm, Algorithm::Concurrency(_));
        if *manner != Manner::Check || !ready.is_agreed || ready.charges.iter().any(is_place) {
            return None;
        }
        let Parts { here: (held, here), elsewhere: (others, rest) } = self.parts(ready)?;
        let id = self.reservation_ids.next();
        let reserving = Manner::Reserve { id, timeout: WITHIN };
        let Locally::Said(verdict, buckets) = self.decide_locally(&here, &reserving, Kept::Already) else {
            return None;
        };
        let paid: Vec<(usize, BucketState)> = held.iter().copied().zip(buckets).collect();
        let mut states = ready.states(&paid);
        if !verdict.is_admitted() {
            self.note_fallback(ready, manner, "unreachable");
            let verdict = elsewhere(verdict, &held, &[]);
            return Some(Answer::Decided { verdict, buckets: states, mode: StoreMode::Fallback });
        }
        // A caller that goes away leaves buckets charged.
        let answer = self.decide_exactly(rest, Manner::Check, begun).await;
        let costs = if answer.is_admitted() {
            TrueCosts::Each(here.charges.iter().map(|charge| charge.cost).collect())
        } else {
            TrueCosts::Nothing
        };
        let _ = self.settle_locally(id, &costs);
        let Answer::Decided { verdict, buckets, mode } = answer else { return Some(answer) };
        // One that was decided without the store is counted already.
        if mode != StoreMode::Fallback {
            self.count_fallback(ready, manner);
        }
        for (at, state) in others.iter().zip(buckets) {
            if let Some(place) = states.get_mut(*at) {
                *place = state;
            }
        }
        let verdict = elsewhere(verdict, &others, &paid);
        Some(Answer::Decided { verdict, buckets: states, mode: StoreMode::Fallback })
    }

    /// What is kept here and what is not; `None` if all of it is either.
    fn parts(&self, ready: &Ready) -> Option<Parts> {
        let part = || (Vec::new(), Ready { charges: Vec::new(), is_agreed: true, late: Late::default() });
        let (mut here, mut elsewhere) = (part(), part());
        for (at, charge) in ready.charges.iter().enumerate() {
            let alone = Ready { charges: vec![charge.clone()], is_agreed: true, late: Late::default() };
            let (positions, part) = if self.locals.hold_any(&alone) { &mut here } else { &mut elsewhere };
            positions.push(at);
            part.charges.extend(alone.charges);
        }
        (!here.0.is_empty() && !elsewhere.0.is_empty()).then_some(Parts { here, elsewhere })
    }
}
