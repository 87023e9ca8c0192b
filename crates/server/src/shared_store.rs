//! The store that instances share, as an operator sees it. What kind of store it is, the ledger itself tells the log.

use tollgate::policy::Policy;
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

/// Says that the number of instances is unknown: the store has not counted this one yet, and the policy sets no `instances_max`. Then this
/// instance counts as the only one, and its share is the whole limit.
pub(crate) fn note(ledger: Option<&RedisLedger>, policy: &Policy) -> Option<&'static str> {
    let is_set = policy.store.as_ref().is_some_and(|store| store.instances_max.is_some());
    let is_unknown = |ledger: &RedisLedger| ledger.counts().instances_most == 0;
    (!is_set && ledger.is_some_and(is_unknown)).then_some(
        "number of instances unknown: the store has not counted this instance yet and `store.instances_max` is not set, so this instance uses the whole limit",
    )
}
