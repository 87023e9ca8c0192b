//! A decision that may have to be waited for: in memory it is made at once, in a shared ledger once that has answered.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use tollgate_core::Span;
use tollgate_policy::Facts;

use super::PolicyLimiter;
use super::decision::Decision;
use super::in_force::InForce;
use crate::ledger::{LedgerFuture, Manner, OwnedKey, SettleFault, TrueCosts};
use crate::{ReservationId, ReserveError, Settled};

/// How a request is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking<'k> {
    /// It is charged if it is admitted.
    Check,
    /// Nothing is charged, and rules that only watch are left alone.
    Peek,
    /// It is charged once, however often it is retried within the lifetime: see [`InForce::check_once`].
    Once {
        /// By which a retry is known.
        idempotency_key: &'k str,
        /// For how long.
        lifetime: Span,
    },
}

/// A decision to be awaited. It has begun: dropping it may leave the request charged.
#[must_use = "a decision that nobody waits for limits nothing"]
pub struct Deciding(State);

pub(super) enum State {
    /// `None` once it was told.
    Made(Option<Decision>),
    Asked(LedgerFuture<'static, Decision>),
}

impl PolicyLimiter {
    /// Decides a request by the policy in force, wherever its buckets are; see [`InForce::decide`].
    #[inline]
    pub fn decide(&self, facts: &Facts<'_>) -> Deciding {
        self.policy().decide(facts, Asking::Check)
    }
}

impl InForce<'_> {
    /// Decides a request, wherever its buckets are. In memory it is decided at once, as [`InForce::check`], [`InForce::peek`] and
    /// [`InForce::check_once`] do, and nothing is waited for.
    #[inline]
    pub fn decide(self, facts: &Facts<'_>, asking: Asking<'_>) -> Deciding {
        if let Some(ledger) = self.limiter.ledger() {
            // Apart from the others: a decision is large, and is not to be copied.
            if asking == Asking::Check {
                return Deciding(self.ask(ledger, facts, Manner::Check));
            }
            let manner = match asking {
                Asking::Check => Ok(Manner::Check),
                Asking::Peek => Ok(Manner::Peek),
                Asking::Once { idempotency_key, lifetime } => OwnedKey::new(idempotency_key)
                    .map(|idempotency_key| Manner::Once { idempotency_key, lifetime }),
            };
            return Deciding(match manner {
                Ok(manner) => self.ask(ledger, facts, manner),
                Err(error) => State::Made(Some(self.at_fault(error))),
            });
        }
        let made = match asking {
            Asking::Check => self.check(facts),
            Asking::Peek => self.peek(facts),
            Asking::Once { idempotency_key, lifetime } => self.check_once(facts, idempotency_key, lifetime),
        };
        Deciding(State::Made(Some(made)))
    }
}

impl InForce<'_> {
    /// Decides a request and charges it, to be settled by a name, wherever its buckets are: see [`InForce::reserve`].
    pub fn decide_and_reserve(
        self,
        facts: &Facts<'_>,
        timeout: Span,
    ) -> LedgerFuture<'static, Result<(Decision, Option<ReservationId>), ReserveError>> {
        let Some(ledger) = self.limiter.ledger().cloned() else {
            let made = self.reserve(facts, timeout);
            let named = made.map(|(decision, made)| (decision, made.map(|reservation| reservation.id())));
            return Box::pin(std::future::ready(named));
        };
        if timeout == Span::ZERO {
            return Box::pin(std::future::ready(Err(ReserveError::ZeroTimeout)));
        }
        let reserving = self.reserve_afar(ledger, facts, timeout);
        Box::pin(async move { Ok(reserving.await) })
    }
}

impl PolicyLimiter {
    /// A name for a reservation that nobody has had before, for whoever asks a ledger directly.
    pub fn new_reservation_id(&self) -> ReservationId {
        self.limiter().shared().reservation_ids.next()
    }

    /// Settles a reservation by its name, wherever its buckets are.
    pub fn settle_reservation(
        &self,
        id: ReservationId,
        costs: TrueCosts,
    ) -> LedgerFuture<'_, Result<Settled, SettleFault>> {
        if let Some(ledger) = self.ledger() {
            return ledger.settle(id, costs);
        }
        let reservation = self.limiter().reservation(id);
        let settled = match costs {
            TrueCosts::Nothing => reservation.cancel(),
            TrueCosts::Same(cost) => reservation.commit(cost),
            TrueCosts::Each(costs) => reservation.commit_each(&costs),
        };
        Box::pin(std::future::ready(settled.map_err(SettleFault::Refused)))
    }
}

impl Future for Deciding {
    type Output = Decision;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Decision> {
        match &mut self.0 {
            // Asked again, it has nothing more to say.
            State::Made(made) => made.take().map_or(Poll::Pending, Poll::Ready),
            State::Asked(asked) => asked.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for Deciding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            State::Made(_) => "made",
            State::Asked(_) => "asked",
        };
        f.debug_tuple("Deciding").field(&state).finish()
    }
}
