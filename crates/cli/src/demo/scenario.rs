//! What is played: one limit, one client, requests at even distances for a while.
//!
//! Sound once made: the limit can be kept, one token is within the burst, and there are 2 to [`REQUESTS_MAX`] requests.
//! Does not play itself; see `replay`.

use tollgate::{Limit, Moment, Span};

use crate::decimal::Decimal;

use super::arrivals::Arrivals;

/// Most requests in one run.
pub(crate) const REQUESTS_MAX: u64 = 1_000_000;

/// One client's requests under one limit. Each costs one token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) limit: Limit,
    /// Tokens per second, as typed.
    pub(crate) rate: Decimal,
    /// Tokens, as typed.
    pub(crate) burst: Decimal,
    pub(crate) arrivals: Arrivals,
    pub(crate) length: Span,
}

impl Scenario {
    /// How many requests there are.
    pub(crate) fn requests(&self) -> u64 {
        self.arrivals.count(self.length)
    }

    /// When it is over.
    pub(crate) fn end(&self) -> Moment {
        Moment::default() + self.length
    }
}
