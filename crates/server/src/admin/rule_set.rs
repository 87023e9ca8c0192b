//! `/admin/v1/rules`, as they are on record: put, deleted, switched, proposed, written out.
//!
//! ```text
//!  what was typed ─► RuleSetChange ─► judged with file, rows and orders ─► a new version, or a conflict, or every mistake
//! ```
//! Whoever changes rules says which version it knows. Of two who know the same one, one wins and the other is told.

mod changing;
mod export;
mod proposing;
mod raw;
mod text;

use http::StatusCode;
use http::header::IF_MATCH;
use tollgate_records::{PlainRow, RuleSet};

use super::call::Call;
use super::judge::rules_of;
use crate::http::{Problem, shown};

pub(super) use changing::{activate, apply, deactivate, delete, put};
pub(super) use export::export;
pub(super) use proposing::{diff, validate};
pub(super) use raw::RawBase;
pub(super) use text::text;

/// The version that a caller knows: by `If-Match`, or as it stands in the body.
pub(super) async fn base_version(call: &Call, in_body: Option<i64>) -> Result<i64, Problem> {
    let mut fields = call.head.headers.get_all(IF_MATCH).iter();
    let field = match (fields.next(), fields.next()) {
        (None, _) => None,
        (Some(field), None) => Some(field.to_str().unwrap_or_default().trim()),
        (Some(_), Some(_)) => Some(""),
    };
    let named = |text: &str| text.strip_prefix('"')?.strip_suffix('"')?.parse().ok();
    match (field, in_body) {
        (Some("*"), None) => Ok(rules_of(call.operations.on_record()?).await?.version),
        (Some(text), None) => named(text).ok_or_else(|| {
            let detail =
                format!("`If-Match` is '{}'; use the version that you know, as in \"7\"", shown(text));
            Problem::field("If-Match", detail).because("bad_version")
        }),
        (None, Some(version)) => Ok(version),
        (Some(_), Some(_)) => {
            let detail = "`base_version` is there beside `If-Match`; send one of them".to_owned();
            Err(Problem::field("base_version", detail).because("bad_version"))
        }
        (None, None) => {
            let current = rules_of(call.operations.on_record()?).await?.version;
            let detail = format!(
                "the version that you know is missing; send `If-Match: \"{current}\"` or `base_version`, so that nobody's change is lost"
            );
            let problem = Problem::new(StatusCode::PRECONDITION_REQUIRED, detail).because("version_needed");
            Err(problem.with("current_version", current).with_header("etag", format!("\"{current}\"")))
        }
    }
}

/// The rule set on record; an empty one where nothing is kept.
async fn on_record_or_empty(call: &Call) -> Result<RuleSet, Problem> {
    match &call.operations.records {
        Some(records) => rules_of(records).await,
        None => Ok(RuleSet {
            version: 0,
            revision: 0,
            is_unversioned: false,
            entries: Vec::new(),
            rows: Vec::new(),
        }),
    }
}

/// The row whose rule is called so, as in `user-1`.
fn row_called<'r>(rules: &'r RuleSet, name: &str) -> Option<&'r PlainRow> {
    rules.rows.iter().find(|row| format!("{}-{}", row.terms.scope, row.rule_id) == name)
}
