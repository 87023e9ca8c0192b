//! `/v1/commit`, `/v1/cancel` and `/v1/refund`: what became of a charge.

use tollgate::ledger::{Gift, SettleFault, TrueCosts};
use tollgate::{ReservationId, SettleError, Settled};

use super::answer::Told;
use super::explicit::{self, at_fault};
use super::number::{self, missing, tokens};
use super::problem::{Problem, shown};
use super::wire::{RawCheck, RawSettlement};
use super::wire_fault;
use crate::engine::Engine;

/// `POST /v1/commit`: settles a reservation at its true cost.
pub(super) async fn commit(engine: &Engine, body: &[u8]) -> Result<Told, Problem> {
    let raw: RawSettlement<'_> = wire_fault::read(body)?;
    let id = id(&raw)?;
    let costs = match (raw.cost, &raw.costs) {
        (Some(_), Some(_)) => {
            let detail =
                "`cost` and `costs` are given; give one cost for all buckets, or one for each".to_owned();
            return Err(Problem::field("costs", detail));
        }
        (Some(cost), None) => TrueCosts::Same(number::true_cost("cost", cost)?),
        (None, Some(costs)) => {
            let costs: Result<Vec<_>, _> =
                costs.iter().map(|cost| number::true_cost("costs", *cost)).collect();
            TrueCosts::Each(costs?)
        }
        (None, None) => return Err(missing("cost", "what it has truly cost; 0 if it came to nothing")),
    };
    engine.limiter.settle_reservation(id, costs).await.map(told).map_err(|fault| unsettled(&fault))
}

/// `POST /v1/cancel`: gives a reservation back.
pub(super) async fn cancel(engine: &Engine, body: &[u8]) -> Result<Told, Problem> {
    let raw: RawSettlement<'_> = wire_fault::read(body)?;
    if raw.cost.is_some() || raw.costs.is_some() {
        let detail = "`cost` is for /v1/commit; drop it, or commit".to_owned();
        return Err(Problem::field("cost", detail));
    }
    let settled = engine.limiter.settle_reservation(id(&raw)?, TrueCosts::Nothing).await;
    settled.map(told).map_err(|fault| unsettled(&fault))
}

/// `POST /v1/refund`: gives tokens back to an explicit bucket.
pub(super) async fn refund(engine: &Engine, body: &[u8]) -> Result<Told, Problem> {
    let raw: RawCheck<'_> = wire_fault::read(body)?;
    if raw.explicit_field().is_none() {
        let detail = "`key` is missing: buckets of a policy are not refunded by what a request looks like; use \
                      /v1/reserve and /v1/cancel for those, or give `key`, `rate`, `burst` and `cost`";
        return Err(Problem::field("key", detail.to_owned()));
    }
    let buckets = explicit::read(engine, &raw)?;
    let [bucket] = &*buckets else {
        let detail = format!("`buckets` has {} entries; refund one at a time", buckets.len());
        return Err(Problem::field("buckets", detail));
    };
    let given = if let Some(ledger) = engine.limiter.ledger() {
        let giving = ledger.give(explicit::in_ledger(bucket)?, Gift::Tokens(bucket.cost));
        giving.await.map_err(|down| Problem::unavailable(down.to_string()))?
    } else {
        let explicit = engine.limiter.limiter().explicit();
        explicit.refund(bucket.key, &bucket.limit, bucket.cost).map_err(at_fault)?
    };
    Ok(Told::done(format!(
        "{{\"refunded\":{},\"remaining\":{}}}",
        tokens(given.given),
        given.balance.whole()
    )))
}

fn id(raw: &RawSettlement<'_>) -> Result<ReservationId, Problem> {
    let typed = raw
        .reservation
        .as_ref()
        .ok_or_else(|| missing("reservation", "the name that /v1/reserve answered"))?;
    typed.as_str().parse().map_err(|_| {
        let detail = format!(
            "`reservation` is '{}'; give the 32 hexadecimal digits that /v1/reserve answered",
            shown(typed.as_str())
        );
        Problem::field("reservation", detail)
    })
}

fn told(settled: Settled) -> Told {
    Told::done(format!(
        "{{\"returned\":{},\"charged\":{},\"forgiven\":{}}}",
        tokens(settled.returned),
        tokens(settled.charged),
        tokens(settled.forgiven)
    ))
}

fn unsettled(fault: &SettleFault) -> Problem {
    let error = match fault {
        SettleFault::Refused(error) => error,
        SettleFault::Down(down) => return Problem::unavailable(down.to_string()),
    };
    let said = error.to_string();
    match error {
        SettleError::Unknown
        | SettleError::Expired
        | SettleError::LimitUnknown { .. }
        | SettleError::Unreadable => Problem::unknown("reservation", said),
        SettleError::CostsDiffer { .. } => Problem::field(
            "cost",
            "`cost` is one for buckets that were reserved at different \
            estimates; give `costs`, one for each"
                .to_owned(),
        ),
        _ => Problem::field("costs", said),
    }
}
