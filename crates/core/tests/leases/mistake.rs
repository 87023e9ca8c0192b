//! Ways to get leases wrong. The checker must catch each of them, else it proves nothing.

use tollgate_core::{Answer, Ask, LeaseTerms, LedgerBucket, NodeRecord, Span, Tokens};

/// What a fleet does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Nothing.
    None,
    /// The ledger does not count what is held against the burst: the naive prepaid lease.
    HeldDoesNotCount,
    /// The ledger processes whatever arrives, old or doubled.
    NoSequence,
    /// The ledger takes a slice back at the end of the epoch that it was taken in.
    TakenBackEarly,
    /// A slice lives on its node from when the answer came.
    LifeFromReceipt,
    /// A node spends at once what is not minted yet.
    SpentAhead,
    /// A node waits for what is not minted yet by its own clock, though that may run fast.
    FastClockTrusted,
    /// A node goes on spending what it gives back until it is answered.
    NotDeducted,
    /// A node renews what it holds although its ask was lost.
    RenewedByLoss,
    /// A node spends what a check puts back although the ledger was told that it is spent.
    PutBackLate,
}

impl Mistake {
    pub(crate) const ALL: [Mistake; 9] = [
        Mistake::HeldDoesNotCount,
        Mistake::NoSequence,
        Mistake::TakenBackEarly,
        Mistake::LifeFromReceipt,
        Mistake::SpentAhead,
        Mistake::FastClockTrusted,
        Mistake::NotDeducted,
        Mistake::RenewedByLoss,
        Mistake::PutBackLate,
    ];

    /// The ask as the ledger takes it.
    pub(crate) fn heard(self, ask: Ask, record: Option<&NodeRecord>) -> Ask {
        match (self, record) {
            (Mistake::NoSequence, Some(record)) => Ask { seq: record.seq + 1, ..ask },
            _ => ask,
        }
    }

    /// The bucket as the ledger reads it at `now`.
    pub(crate) fn read(self, bucket: LedgerBucket, terms: &LeaseTerms, now: u64) -> LedgerBucket {
        match self {
            Mistake::HeldDoesNotCount => LedgerBucket { held_new: 0, held_old: 0, ..bucket },
            Mistake::TakenBackEarly => LedgerBucket { held_old: 0, ..bucket.at(terms, now) },
            _ => bucket,
        }
    }

    /// The answer as the node takes it.
    pub(crate) fn received(self, answer: Answer) -> Answer {
        match self {
            Mistake::SpentAhead if answer.granted > Tokens::ZERO => Answer { wait: Span::ZERO, ..answer },
            // What the node adds for its clock is taken off in advance.
            Mistake::FastClockTrusted if answer.granted > Tokens::ZERO => {
                Answer { wait: answer.wait - Span::from_nanos(answer.wait.as_nanos() / 1_000 + 2), ..answer }
            }
            _ => answer,
        }
    }
}
