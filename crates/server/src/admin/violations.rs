//! `/admin/v1/violations`: who was denied, when and by which rule (R3); newest first, and as files.

use std::net::IpAddr;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde_json::json;
use tollgate_records::{
    EndpointFilter, ExportFormat, Identifiers, Timestamp, ViolationCursor, ViolationFilter, ViolationLog,
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
    let (since, until) = times(&call, &query)?;
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
    let (since, until) = times(call, query)?;
    let filter = ViolationFilter {
        user: text("user"),
        address: query.get("address").map(address).transpose()?,
        rule: text("rule"),
        endpoint,
        since,
        until,
    };
    // Where names are hashed, whoever asks by name finds them all the same.
    Ok(match &call.operations.violations {
        Some(log) => log.named(filter),
        None => filter,
    })
}

/// An address in the one spelling that is kept, or the pseudonym of one; by any other text nobody could ever be found.
fn address(text: &str) -> Result<String, Problem> {
    if Identifiers::is_pseudonym(text) {
        return Ok(text.to_owned());
    }
    text.parse::<IpAddr>().map(|address| address.to_canonical().to_string()).map_err(|_| {
        let detail = format!(
            "`address` is '{}'; use one address like 192.0.2.7 or 2001:db8::1, or a pseudonym as it is listed",
            shown(text)
        );
        Problem::field("address", detail).because("bad_query")
    })
}

/// From when, and until when.
fn times(call: &Call, query: &Query) -> Result<(Option<Timestamp>, Option<Timestamp>), Problem> {
    let times = (time(call, query, "since")?, time(call, query, "until")?);
    if let (Some(since), Some(until)) = times
        && since > until
    {
        let said = |name: &str| shown(query.get(name).unwrap_or_default());
        let detail = format!(
            "`since` is '{}', which is after `until`, '{}'; use an earlier `since` or a later `until`",
            said("since"),
            said("until")
        );
        return Err(Problem::field("since", detail).because("bad_query"));
    }
    Ok(times)
}

/// A date, or how long ago.
fn time(call: &Call, query: &Query, name: &'static str) -> Result<Option<Timestamp>, Problem> {
    query.get(name).map(|text| moment::ago(name, text, call.unix_s())).transpose()
}
