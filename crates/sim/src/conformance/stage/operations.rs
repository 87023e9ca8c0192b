//! What a scenario does to buckets besides checking them.

use tollgate_core::{Cost, Span, Tokens};

use super::{Mismatch, Played, Stage};
use crate::conformance::action::{Action, Answer};
use crate::conformance::answer::{Given, Left, Outcome, SettleFault, Settled};
use crate::conformance::subject::{Charge, Key, Settlement, Ticket};

impl Stage<'_> {
    /// Takes places, with the whole outcome.
    pub(in crate::conformance) fn expect_enter(
        &mut self,
        ticket: usize,
        charges: &[Charge],
        expected: Outcome,
    ) -> Played {
        self.expect_answer(&Action::Enter(Ticket(ticket), charges.to_vec()), &Answer::Outcome(expected))
    }

    /// Gives places back.
    pub(in crate::conformance) fn expect_left(&mut self, ticket: usize, expected: Left) -> Played {
        self.expect_answer(&Action::Leave(Ticket(ticket)), &Answer::Left(expected))
    }

    /// Reserves for a minute.
    pub(in crate::conformance) fn expect_reserved(&mut self, ticket: usize, charges: &[Charge]) -> Played {
        self.expect_reservation(ticket, charges, Span::from_secs(60), Ok(()))
    }

    /// Reserves, or not.
    pub(in crate::conformance) fn expect_reservation(
        &mut self,
        ticket: usize,
        charges: &[Charge],
        timeout: Span,
        expected: Result<(), Outcome>,
    ) -> Played {
        let action = Action::Reserve(Ticket(ticket), charges.to_vec(), timeout);
        self.expect_answer(&action, &Answer::Reserved(expected))
    }

    /// Commits, with what is given back, charged on top and forgiven, in micro-tokens.
    pub(in crate::conformance) fn expect_committed(
        &mut self,
        ticket: usize,
        actual: Cost,
        micros: [u64; 3],
    ) -> Played {
        self.expect_settled(ticket, Settlement::Commit(actual), Ok(micros))
    }

    /// Cancels, with what is given back.
    pub(in crate::conformance) fn expect_cancelled(&mut self, ticket: usize, returned: u64) -> Played {
        self.expect_settled(ticket, Settlement::Cancel, Ok([returned, 0, 0]))
    }

    /// Settles, or not.
    pub(in crate::conformance) fn expect_settled(
        &mut self,
        ticket: usize,
        settlement: Settlement,
        expected: Result<[u64; 3], SettleFault>,
    ) -> Played {
        let expected = expected.map(|micros| {
            let [returned, charged, forgiven] = micros.map(Tokens::from_micros);
            Settled { returned, charged, forgiven }
        });
        self.expect_answer(&Action::Settle(Ticket(ticket), settlement), &Answer::Settled(expected))
    }

    /// Refunds what the charge costs, with what is given and what the bucket holds then, in micro-tokens.
    pub(in crate::conformance) fn expect_refund(&mut self, charge: &Charge, micros: [u64; 2]) -> Played {
        self.expect_answer(&Action::Refund(charge.clone()), &given(micros))
    }

    /// The same for a grant.
    pub(in crate::conformance) fn expect_grant(&mut self, charge: &Charge, micros: [u64; 2]) -> Played {
        self.expect_answer(&Action::Grant(charge.clone()), &given(micros))
    }

    /// The same for a reset.
    pub(in crate::conformance) fn expect_reset(&mut self, charge: &Charge, micros: [u64; 2]) -> Played {
        self.expect_answer(&Action::Reset(charge.clone()), &given(micros))
    }

    /// What the charge's bucket holds, in micro-tokens.
    pub(in crate::conformance) fn expect_balance(&mut self, charge: &Charge, micros: u64) -> Played {
        let expected = Answer::Balance(Ok(Tokens::from_micros(micros)));
        self.expect_answer(&Action::Balance(charge.clone()), &expected)
    }

    /// A check under an idempotency key that lives for ten seconds.
    pub(in crate::conformance) fn expect_once(
        &mut self,
        key: &str,
        charges: &[Charge],
        expected: Outcome,
    ) -> Result<(), Mismatch> {
        let action = Action::CheckOnce(Key::from(key), Span::from_secs(10), charges.to_vec());
        self.expect_answer(&action, &Answer::Outcome(expected))
    }
}

fn given(micros: [u64; 2]) -> Answer {
    let [given, balance] = micros.map(Tokens::from_micros);
    Answer::Given(Ok(Given { given, balance }))
}
