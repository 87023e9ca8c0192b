//! Everything that can be asked of a bucket, as a value: so that a store and the reference are asked the same.

use tollgate_core::{Moment, Span, Tokens};

use super::answer::{Fault, Given, Left, Outcome, SettleFault, Settled};
use super::subject::{Charge, Key, Settlement, Subject, Ticket};

/// One call of a [`Subject`], but for those that declare or change limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// [`Subject::check`].
    Check(Charge),
    /// [`Subject::check_all`].
    CheckAll(Vec<Charge>),
    /// [`Subject::check_each`].
    CheckEach(Vec<Charge>),
    /// [`Subject::peek`].
    Peek(Charge),
    /// [`Subject::check_once`]: idempotency key, lifetime, charges.
    CheckOnce(Key, Span, Vec<Charge>),
    /// [`Subject::enter`].
    Enter(Ticket, Vec<Charge>),
    /// [`Subject::leave`].
    Leave(Ticket),
    /// [`Subject::reserve`]: ticket, charges, timeout.
    Reserve(Ticket, Vec<Charge>, Span),
    /// [`Subject::settle`].
    Settle(Ticket, Settlement),
    /// [`Subject::refund`].
    Refund(Charge),
    /// [`Subject::grant`].
    Grant(Charge),
    /// [`Subject::reset`].
    Reset(Charge),
    /// [`Subject::balance`].
    Balance(Charge),
}

/// What became of an [`Action`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Of a check.
    Outcome(Outcome),
    /// Of several.
    Each(Vec<Outcome>),
    /// Of leaving.
    Left(Left),
    /// Of a reservation.
    Reserved(Result<(), Outcome>),
    /// Of a settlement.
    Settled(Result<Settled, SettleFault>),
    /// Of a gift.
    Given(Result<Given, Fault>),
    /// Of a look at the balance.
    Balance(Result<Tokens, Fault>),
}

impl Action {
    /// Makes the call.
    pub fn perform(&self, subject: &mut dyn Subject, now: Moment) -> Answer {
        match self {
            Action::Check(charge) => Answer::Outcome(subject.check(charge, now)),
            Action::CheckAll(charges) => Answer::Outcome(subject.check_all(charges, now)),
            Action::CheckEach(charges) => Answer::Each(subject.check_each(charges, now)),
            Action::Peek(charge) => Answer::Outcome(subject.peek(charge, now)),
            Action::CheckOnce(key, lifetime, charges) => {
                Answer::Outcome(subject.check_once(key, *lifetime, charges, now))
            }
            Action::Enter(ticket, charges) => Answer::Outcome(subject.enter(*ticket, charges, now)),
            Action::Leave(ticket) => Answer::Left(subject.leave(*ticket, now)),
            Action::Reserve(ticket, charges, timeout) => {
                Answer::Reserved(subject.reserve(*ticket, charges, *timeout, now))
            }
            Action::Settle(ticket, settlement) => Answer::Settled(subject.settle(*ticket, settlement, now)),
            Action::Refund(charge) => Answer::Given(subject.refund(charge, now)),
            Action::Grant(charge) => Answer::Given(subject.grant(charge, now)),
            Action::Reset(charge) => Answer::Given(subject.reset(charge, now)),
            Action::Balance(charge) => Answer::Balance(subject.balance(charge, now)),
        }
    }

    /// The charges that it names.
    pub fn charges(&self) -> &[Charge] {
        match self {
            Action::Check(charge)
            | Action::Peek(charge)
            | Action::Refund(charge)
            | Action::Grant(charge)
            | Action::Reset(charge)
            | Action::Balance(charge) => std::slice::from_ref(charge),
            Action::CheckAll(charges)
            | Action::CheckEach(charges)
            | Action::CheckOnce(_, _, charges)
            | Action::Enter(_, charges)
            | Action::Reserve(_, charges, _) => charges,
            Action::Leave(_) | Action::Settle(..) => &[],
        }
    }
}

impl Answer {
    /// Whether this answer is right where the other is promised: the same, or one that the promise allows as well.
    #[must_use]
    pub fn is_as_good_as(&self, promised: &Answer) -> bool {
        let forgotten = *self == Answer::Settled(Err(SettleFault::Unknown));
        self == promised || forgotten && *promised == Answer::Settled(Err(SettleFault::Expired))
    }
}
