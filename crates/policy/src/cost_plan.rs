//! What a request costs under a rule.

use tollgate_core::Cost;

use crate::MethodSet;

/// Where the cost comes from, and between which bounds it stays (P6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostPlan {
    /// Where it comes from.
    pub source: CostSource,
    /// What is charged when the source gives nothing usable. Never zero.
    pub default: Cost,
    /// No request costs less. Never zero.
    pub min: Cost,
    /// No request costs more.
    pub max: Cost,
}

/// Where a cost comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CostSource {
    /// Always the same: the default.
    Fixed,
    /// By method; the first set that has it counts.
    PerMethod(Vec<(MethodSet, Cost)>),
    /// A number in a header of the request; the name in lower case.
    Header(Box<str>),
    /// A number in the query.
    Query(Box<str>),
    /// The bytes of the request's body, so many to a token.
    RequestBytes {
        /// Bytes that cost one token; at least 1.
        per_token: u64,
    },
}

impl CostPlan {
    /// One token, always.
    pub const ONE: CostPlan =
        CostPlan { source: CostSource::Fixed, default: Cost::ONE, min: Cost::ONE, max: Cost::ONE };
}
