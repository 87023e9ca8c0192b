//! `/admin/v1/orders`: standing orders, given with a reason, until a date or until revoked (O2).

mod raw_order;

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::call::{Call, PAGE_USUAL, done, ok};
use super::on_record::refused;
use crate::http::Problem;
use crate::http::Reply;
use raw_order::RawOrder;

/// Most orders of a page: whoever looks for one of a hundred thousand need not ask all day.
const ORDERS_PAGE_MAX: u32 = 1_000;

/// `GET /orders`, newest first; `?past=true` for those that ended, too.
pub(super) async fn list(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["past", "cursor", "limit"])?;
    let past = query.parsed("past", "true or false")?.unwrap_or(false);
    let cursor = query.parsed("cursor", "the `cursor` of the page before")?;
    let limit = query.limit(PAGE_USUAL, ORDERS_PAGE_MAX)? as usize;
    let records = call.operations.on_record()?;
    let orders = records.orders_page(past, cursor, limit).await.map_err(|error| refused(&error))?;
    let next = orders.last().filter(|_| orders.len() == limit).map(|order| order.order_id);
    ok(&json!({ "orders": orders, "cursor": next }))
}

/// `POST /orders`.
pub(super) async fn give(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let raw: RawOrder = call.json()?;
    let records = call.operations.on_record()?;
    let new = raw.read(call.unix_s())?;
    call.operations.judge_order(&new, &call.stop).await?;
    let order = records.give_order(&new, &call.author()).await.map_err(|error| refused(&error))?;
    call.operations
        .events
        .tell_change(&json!({ "what": "order.give", "order": order, "by": call.caller.name }));
    done(StatusCode::CREATED, &order)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawRevocation {
    reason: Option<String>,
}

/// `DELETE /orders/{id}?reason=…`, or the reason in the body.
pub(super) async fn revoke(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["reason"])?;
    let RawRevocation { reason } = call.json()?;
    let reason = query.get("reason").map(str::to_owned).or(reason).unwrap_or_default();
    let records = call.operations.on_record()?;
    let id = call.values.get("id");
    let number = id.parse().map_err(|_| {
        Problem::unknown(
            "id",
            format!("`id` is '{}'; GET /admin/v1/orders lists them", crate::http::shown(id)),
        )
        .because("not_found")
    })?;
    let order =
        records.revoke_order(number, &call.author(), &reason).await.map_err(|error| refused(&error))?;
    call.operations
        .events
        .tell_change(&json!({ "what": "order.revoke", "order": order, "by": call.caller.name }));
    ok(&order)
}
