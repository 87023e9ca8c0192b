//! What the door asks of an engine, and what it is told.

use std::num::NonZeroU32;

use tollgate::ledger::LimitRefused;
use tollgate_core::{Cost, Limit, Span, Tokens};

use super::described::Described;
use super::told::Told;

/// One question about one bucket, under the limit that came with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask<'a> {
    /// Whose bucket: from 1 to [`super::Limits::key_bytes_max`] bytes, any bytes.
    pub key: &'a [u8],
    /// The limit of this call. Another limit on a live key keeps its balance, clamped to the new burst.
    pub limit: Limit,
    /// What is to be taken: above 0 and at most the burst, but 0 where nothing is to be taken.
    pub cost: Cost,
    /// Whether the bucket is only looked at: nothing is taken, and it is "admitted" whatever it holds.
    pub is_peek: bool,
    /// Whether more was wanted than the bucket can hold: it is a peek, whose answer is told as "limited", and counts as such.
    pub is_never: bool,
}

/// What became of one [`Ask`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Whether the cost was taken; always of a peek.
    pub is_admitted: bool,
    /// What the bucket holds now, after the charge if there was one; below the cost if it was denied. How long to wait is
    /// computed from it, except in fallback.
    pub remaining: Tokens,
    /// Set if the shared store did not reply in time: this instance decided by its share of the limit.
    pub fallback: Option<Fallback>,
}

/// Figures of a decision in fallback. They do not follow from the balance: a late check may wait less than one token takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fallback {
    /// This instance's share of the limit is one of this many equal parts.
    pub instances: NonZeroU32,
    /// Time until a denied check may succeed; `None` if it never does by the share.
    pub wait: Option<Span>,
    /// Time until the share is full if no client spends from it.
    pub time_to_full: Span,
}

/// Whoever keeps the buckets, and knows the policy. Where they are in memory, nothing is waited for.
pub trait Throttle {
    /// Whether the buckets can be kept under this limit exactly; nothing is asked of those that cannot.
    #[inline]
    fn accept(&self, limit: &Limit) -> Result<(), LimitRefused> {
        let _ = limit;
        Ok(())
    }

    /// Returns what is wrong with a described request, without deciding it. The default accepts every request.
    fn accept_check(&self, request: &Described<'_>) -> Result<(), String> {
        let _ = request;
        Ok(())
    }

    /// Answers every ask, as if one after the other in their order, by pushing one [`Answer`] each on `answers`, which is empty.
    fn throttle(&mut self, asks: &[Ask<'_>], answers: &mut Vec<Answer>) -> impl Future<Output = ()> + Send;

    /// What the policy decides of a described request; or what is wrong with it, naming the field and the cure.
    fn check(&mut self, request: &Described<'_>) -> impl Future<Output = Result<Told, String>> + Send;
}
