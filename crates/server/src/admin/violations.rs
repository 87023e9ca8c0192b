//! `/admin/v1/violations`: who was denied, when and by which rule (R3); newest first, and as files.

use std::net::IpAddr;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde_json::json;
use tollgate_records::{
    EndpointFilter, ExportFormat, Timestamp, ViolationCursor, ViolationFilter, ViolationLog,
};

use super::call::{Call, PAGE_MAX, PAGE_USUAL, ok};
use super::moment;
use super::on_record::refused;
use super::query::Query;
use crate::http::{Problem, Reply, ReplyBody, shown};

/// `GET /violations`.
pub(super) async fn list(call: Call) -> Result<Reply, Problem> {
    let names =
        ["user", "address", "rule", "endpoint", "endpoint_prefix", "since", "until", "cursor", "limit"];
    let query = call.query(&names)?;
    let filter = filter(&call, &query)?;
    let cursor = query.get("cursor").map(ViolationCursor::parse).transpose();
    let cursor = cursor.map_err(|error| refused(&error))?;
    let limit = query.limit(PAGE_USUAL, PAGE_MAX)? as usize;
    let page = call.operations.on_record()?.violations(&filter, cursor, limit).await;
    let page = page.map_err(|error| refused(&error))?;
    ok(&json!({ "violations": page.violations, "cursor": page.next.map(|next| next.to_string()) }))
}

/// `GET /violations/totals`: the true counts by rule and hour, and those of this instance since it began.
pub(super) async fn totals(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["rule", "since", "until"])?;
    let (since, until) = (time(&call, &query, "since")?, time(&call, &query, "until")?);
    let records = call.operations.on_record()?;
    let totals = records.violation_totals(query.get("rule"), since, until).await;
    let totals = totals.map_err(|error| refused(&error))?;
    let of_this_instance = call.operations.violations.as_ref().map(ViolationLog::status);
    ok(&json!({ "totals": totals, "of_this_instance": of_this_instance }))
}

/// `GET /violations/export`: all of them, piece by piece.
pub(super) async fn export(call: Call) -> Result<Reply, Problem> {
    let names = ["user", "address", "rule", "endpoint", "endpoint_prefix", "since", "until", "format"];
    let query = call.query(&names)?;
    let (format, file) = match query.get("format").unwrap_or("csv") {
        "csv" => (ExportFormat::Csv, "attachment; filename=\"violations.csv\""),
        "jsonl" => (ExportFormat::JsonLines, "attachment; filename=\"violations.jsonl\""),
        other => {
            let detail = format!("`format` is '{}'; use csv or jsonl", shown(other));
            return Err(Problem::field("format", detail).because("bad_query"));
        }
    };
    let filter = filter(&call, &query)?;
    let mut export = call.operations.on_record()?.export_violations(filter, format);
    // The first piece now: a database that is away is said so, and not by a file that is cut off.
    let first = export.next_piece().await.map_err(|error| refused(&error))?.unwrap_or_default();
    let rest = export.into_stream().map_err(|error| {
        tracing::warn!(%error, "an export of violations was cut off");
    });
    let pieces = stream::iter([Ok(first)]).chain(rest).map_ok(Bytes::from);
    let mut reply = Reply::new(ReplyBody::pieces(pieces));
    let fields = reply.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    fields.insert(CONTENT_DISPOSITION, HeaderValue::from_static(file));
    Ok(reply)
}

fn filter(call: &Call, query: &Query) -> Result<ViolationFilter, Problem> {
    let text = |name: &str| query.get(name).map(str::to_owned);
    let endpoint = match (text("endpoint"), text("endpoint_prefix")) {
        (Some(_), Some(_)) => {
            let detail = "`endpoint_prefix` is there beside `endpoint`; send one of them".to_owned();
            return Err(Problem::field("endpoint_prefix", detail).because("bad_query"));
        }
        (endpoint, prefix) => endpoint.map(EndpointFilter::Exact).or(prefix.map(EndpointFilter::Prefix)),
    };
    let filter = ViolationFilter {
        user: text("user"),
        address: text("address").map(canonical),
        rule: text("rule"),
        endpoint,
        since: time(call, query, "since")?,
        until: time(call, query, "until")?,
    };
    // Where names are hashed, whoever asks by name finds them all the same.
    Ok(match &call.operations.violations {
        Some(log) => log.named(filter),
        None => filter,
    })
}

/// An address in the one spelling that is kept; another text as it is, which nobody's address is.
fn canonical(text: String) -> String {
    text.parse::<IpAddr>().map_or(text, |address| address.to_canonical().to_string())
}

/// A date, or how long ago.
fn time(call: &Call, query: &Query, name: &'static str) -> Result<Option<Timestamp>, Problem> {
    query.get(name).map(|text| moment::ago(name, text, call.unix_s())).transpose()
}
