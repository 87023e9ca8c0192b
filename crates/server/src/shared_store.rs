//! The store that instances share, as an operator sees it. What kind of store it is, the ledger itself tells the log.

use tollgate_core::BreakerState;
use tollgate_redis::{LinkStatus, RedisLedger};

/// How the store is, in a word or two. `failing` is a store that is connected and does not decide: checks fall back, until one that asks it finds
/// it well, or none has asked for a minute.
pub(crate) fn standing(ledger: Option<&RedisLedger>) -> &'static str {
    let is_unfit = |ledger: &RedisLedger| ledger.survey().is_some_and(|survey| survey.refusal().is_some());
    let is_failing = |ledger: &RedisLedger| ledger.counts().breaker != BreakerState::Closed;
    match ledger.map(|ledger| ledger.link().status()) {
        None => "memory",
        Some(LinkStatus::Connected(_)) if ledger.is_some_and(is_unfit) => "unfit",
        Some(LinkStatus::Connected(_)) if ledger.is_some_and(is_failing) => "failing",
        Some(LinkStatus::Connected(_)) => "connected",
        Some(LinkStatus::Connecting) => "connecting",
        Some(LinkStatus::Down(_)) => "unreachable",
    }
}
