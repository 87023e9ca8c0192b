//! What an operator or a program does to one bucket besides checking it: refund, grant, reset, look.

#[cfg(feature = "policy")]
use tollgate_core::Span;
use tollgate_core::{Cost, Tokens};

#[cfg(feature = "policy")]
use crate::ledger::BucketLook;
use crate::memory::adjust::Adjusted;
use crate::memory::meters::MeterSource;
use crate::memory::store::When;
#[cfg(feature = "policy")]
use crate::rule::Charge;
use crate::rule::Rule;
use crate::shared::Shared;
use crate::{CheckError, Key, Limiter};
#[cfg(feature = "policy")]
use crate::{StoreMode, Verdict};

/// What was given to a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    /// How much the bucket gained: less than asked for where it became full, or where it would be fuller than its neighbours in a
    /// crowded table (see [`crate::TableFull::Inherit`]).
    pub given: Tokens,
    /// What it holds now; none if it is still in debt.
    pub balance: Tokens,
}

impl Given {
    fn of(adjusted: Adjusted) -> Given {
        let balance = Tokens::from_micros(adjusted.after.max(0).unsigned_abs());
        Given { given: adjusted.given(), balance }
    }
}

impl Rule {
    /// Gives back tokens of an admitted check that came to nothing. Bounded by what is missing: the bucket is never fuller than
    /// full. It is not known who took what is missing: for a bucket shared by many, refund no more than was taken, or
    /// [reserve](Rule::reserve), which keeps account of that. A leaky bucket takes nothing back: others have been told when to
    /// leave. Nor does one for which clients of several tiers wait: see [`Rule::tier`].
    ///
    /// ```
    /// # use tollgate::*;
    /// # let limit = Limit::new(Rate::per_hour(1), Burst::tokens(5))?;
    /// # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
    /// let rule = limiter.default_rule();
    /// assert!(rule.check_n("ann", Cost::tokens(3)).is_admitted());
    /// assert_eq!(rule.refund("ann", Cost::tokens(100))?.given.whole(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refund(&self, key: impl Key, amount: Cost) -> Result<Given, CheckError> {
        self.give(&key, amount)
    }

    /// Gives a client tokens it has not paid for, until its bucket is full. To the bucket it is the same as [`Rule::refund`].
    pub fn grant(&self, key: impl Key, amount: Cost) -> Result<Given, CheckError> {
        self.give(&key, amount)
    }

    /// Fills the bucket of `key`, whatever it has spent or owes, and frees its places; not while clients of several tiers wait for it
    /// ([`Rule::tier`]). Whoever has been told when to leave a leaky
    /// bucket, or is still at work on a place, is not stopped by it.
    ///
    /// It forgives once: reservations and guards from before it give nothing back, even where the bucket could not be filled for
    /// those who wait, or not quite in a crowded table. The last 32,768 resets or so are remembered for
    /// that; guards and reservations that are open for longer count as forgiven, and their places time out. The bucket that clients
    /// without room share ([`crate::TableFull::SharedOverflow`]) is not reset for one of them.
    pub fn reset(&self, key: impl Key) -> Result<Given, CheckError> {
        let ask = self.ask(&key, Cost::ONE)?;
        let Shared { store, waiting, .. } = &*self.shared;
        let reset = |booked, under| store.reset(&ask, booked, under, self.when());
        Ok(Given::of(waiting.while_giving(ask.id, reset)))
    }

    /// What the bucket of `key` holds and this handle may spend of it; none if it is in debt.
    pub fn balance(&self, key: impl Key) -> Result<Tokens, CheckError> {
        let mut ask = self.ask(&key, Cost::ONE)?;
        // Nothing at all, so that no rounding and no burst below one token gets between.
        ask.demand.cost = Cost::micros(0);
        Ok(self.shared.store.peek(&ask, self.when()).remaining().unwrap_or(Tokens::ZERO))
    }

    /// How the bucket of `key` stands at one moment, and when it could pay `cost`.
    #[cfg(feature = "policy")]
    pub(crate) fn look(&self, key: &impl Key, cost: Cost) -> Result<BucketLook, CheckError> {
        let (asked, when, limit) = (self.ask(key, Cost::ONE)?, self.when(), self.limit());
        let peek = |cost: Cost| {
            let mut ask = asked;
            ask.demand.cost = cost;
            self.shared.store.peek(&ask, when)
        };
        let wait = |verdict: Verdict| match verdict {
            Verdict::Admit { .. } => Some(Span::ZERO),
            Verdict::Deny { wait, .. } => Some(wait),
            Verdict::Never { .. } | Verdict::Invalid(_) => None,
        };
        Ok(BucketLook {
            limit,
            balance: peek(Cost::micros(0)).remaining().unwrap_or(Tokens::ZERO),
            next_admit: wait(peek(cost)),
            full_in: wait(peek(Cost::micros(limit.full().as_micros()))).unwrap_or(Span::ZERO),
            mode: StoreMode::Exact,
        })
    }

    fn give(&self, key: &impl Key, amount: Cost) -> Result<Given, CheckError> {
        let ask = self.ask(key, amount)?;
        let Shared { store, waiting, .. } = &*self.shared;
        let is_queue = store.meters.ruler(ask.limit).is_queue();
        let amount = if is_queue { Tokens::ZERO } else { Tokens::from(amount) };
        let give = |_, under| store.give(&ask, amount, under, self.when());
        Ok(Given::of(waiting.while_giving(ask.id, give)))
    }

    fn when(&self) -> When<'_> {
        When::Read(self.shared.clock.now(), &self.shared.clock)
    }
}

#[cfg(feature = "policy")]
impl Limiter {
    /// What the bucket of a charge holds.
    pub(crate) fn balance_of(&self, charge: &Charge) -> Tokens {
        self.peek_cost(charge, |_| Cost::micros(0))
            .and_then(|verdict| verdict.remaining())
            .unwrap_or(Tokens::ZERO)
    }

    /// When the bucket of a charge will be full if nobody spends.
    pub(crate) fn time_to_full(&self, charge: &Charge) -> Span {
        match self.peek_cost(charge, |full| Cost::micros(full.as_micros())) {
            Some(Verdict::Deny { wait, .. }) => wait,
            _ => Span::ZERO,
        }
    }

    /// What the bucket of a charge would say to a cost, given what it holds when it is full.
    fn peek_cost(&self, charge: &Charge, cost: impl FnOnce(Tokens) -> Cost) -> Option<Verdict> {
        let (wish, shared) = (charge.wish.ok()?, &self.default.shared);
        let mut ask = wish.ask(&shared.store.meters);
        ask.demand.cost = cost(shared.store.meters.ruler(ask.limit).full());
        Some(shared.store.peek(&ask, self.default.when()))
    }
}

impl Limiter {
    /// [`Rule::refund`] of the default rule.
    pub fn refund(&self, key: impl Key, amount: Cost) -> Result<Given, CheckError> {
        self.default.refund(key, amount)
    }

    /// [`Rule::reset`] of the default rule.
    pub fn reset(&self, key: impl Key) -> Result<Given, CheckError> {
        self.default.reset(key)
    }
}
