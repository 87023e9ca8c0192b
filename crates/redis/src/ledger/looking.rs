//! Looking at one bucket, for whoever runs the service: what the store says, and what this node leases of it.

use std::sync::Arc;

use tollgate::ledger::{Answer, Bucket, BucketLook, BucketState, LedgerCharge, LedgerDown, Manner};
use tollgate::{StoreMode, Verdict};
use tollgate_core::{Cost, LeaseTerms, Moment, Span, Tokens};

use super::Inner;
use super::ready::Ready;
use crate::KeyName;

impl Inner {
    /// How a bucket stands, and when it could pay `cost`. Two questions within one deadline, so that of a busy bucket the one may be older than
    /// the other.
    pub(super) async fn look(self: &Arc<Self>, bucket: Bucket, cost: Cost) -> Result<BucketLook, LedgerDown> {
        let begun = self.clock.now();
        let ready = |cost: Cost| {
            let charge = LedgerCharge { bucket: bucket.clone(), cost };
            Ready::of(&self.keys.now(), &self.rules, vec![charge]).map_err(|_| LedgerDown)
        };
        let nothing = ready(Cost::micros(0))?;
        let charge = nothing.charges.first().ok_or(LedgerDown)?;
        let (limit, key, terms) = (charge.algorithm, charge.key.clone(), charge.terms().copied());
        let (_, state, mode) = self.seen(nothing, begun).await?;
        let look = |state: BucketState, next_admit, mode| BucketLook {
            limit,
            balance: state.remaining,
            next_admit,
            full_in: state.time_to_full,
            mode,
        };
        let slice = terms.filter(|_| mode == StoreMode::Exact).map(|terms| (terms, self.slice_of(&key)));
        if let Some((terms, held)) = slice.filter(|(_, held)| *held > Tokens::ZERO) {
            let (state, next_admit) = with_slice(&terms, state.remaining, held, cost);
            return Ok(look(state, next_admit, StoreMode::Leased));
        }
        if cost == Cost::micros(0) {
            return Ok(look(state, Some(Span::ZERO), mode));
        }
        let next_admit = match self.seen(ready(cost)?, begun).await?.0 {
            Verdict::Admit { .. } => Some(Span::ZERO),
            Verdict::Deny { wait, .. } => Some(wait),
            Verdict::Never { .. } | Verdict::Invalid(_) => None,
        };
        Ok(look(state, next_admit, mode))
    }

    /// What a peek at one bucket is told.
    async fn seen(
        self: &Arc<Self>,
        ready: Ready,
        begun: Moment,
    ) -> Result<(Verdict, BucketState, StoreMode), LedgerDown> {
        let Answer::Decided { verdict, buckets, mode } =
            self.decide_exactly(ready, Manner::Peek, begun).await
        else {
            return Err(LedgerDown);
        };
        let state = buckets.first().ok_or(LedgerDown)?;
        Ok((verdict, *state, mode))
    }

    /// What this node holds of a bucket.
    fn slice_of(&self, key: &KeyName) -> Tokens {
        let now = self.clock.now();
        self.leases.with_held(key, |held| held.lease.held(now)).unwrap_or(Tokens::ZERO)
    }
}

/// How a bucket stands of which the store has so much and this node holds so much, and when the two could pay.
fn with_slice(terms: &LeaseTerms, in_store: Tokens, held: Tokens, cost: Cost) -> (BucketState, Option<Span>) {
    let burst = terms.limit().burst().as_micros();
    let together = in_store.as_micros().saturating_add(held.as_micros()).min(burst);
    let time_to =
        |micros: u64| terms.limit().time_to_mint(Tokens::from_micros(micros.saturating_sub(together)));
    let state = BucketState {
        remaining: Tokens::from_micros(together),
        wait: Span::ZERO,
        time_to_full: time_to(burst),
        instances: 1,
    };
    (state, (cost.as_micros() <= burst).then(|| time_to(cost.as_micros())))
}
