//! `GET /rules/export`: the rules on record, as they can be applied again.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tollgate_records::{Entry, RuleSet};

use super::rules_of;
use crate::admin::call::{Call, ok};
use crate::http::{Problem, Reply, reply_text, shown};

pub(in crate::admin) async fn export(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["format"])?;
    let rules = rules_of(call.operations.on_record()?).await?;
    let mut reply = match query.get("format").unwrap_or("yaml") {
        "json" => ok(&json!({
            "version": rules.version,
            "rules": rules.entries.iter().map(|entry| fields_of(entry, true)).collect::<Vec<_>>(),
            "rows": rules.rows,
        }))?,
        "yaml" => reply_text("application/yaml", yaml(&rules)),
        other => {
            let detail = format!("`format` is '{}'; use yaml or json", shown(other));
            return Err(Problem::field("format", detail).because("bad_query"));
        }
    };
    if let Ok(tag) = format!("\"{}\"", rules.version).parse() {
        reply.headers_mut().insert(http::header::ETAG, tag);
    }
    Ok(reply)
}

/// A list of rules and one of rows. What is no plain word is written as JSON, which is YAML too.
fn yaml(rules: &RuleSet) -> String {
    let mut text = format!("# The rules on record, version {}.\n", rules.version);
    text.push_str(if rules.entries.is_empty() { "rules: []\n" } else { "rules:\n" });
    for entry in &rules.entries {
        write_fields(&mut text, &fields_of(entry, false));
        // Each line of the text is indented, whatever stands in it; a text that would read otherwise then is written as JSON.
        let is_plain =
            |c: char| c == '\n' || (!c.is_control() && c != '\u{2028}' && c != '\u{2029}' && c != '\u{feff}');
        let is_block = entry.text.chars().all(is_plain)
            && !entry.text.starts_with([' ', '\n'])
            && !entry.text.is_empty();
        if is_block {
            let body = entry.text.trim_end_matches('\n');
            text.push_str("    text: |\n");
            for line in body.lines() {
                let _ = writeln!(text, "      {line}");
            }
        } else {
            let _ = writeln!(text, "    text: {}", json!(entry.text));
        }
    }
    text.push_str(if rules.rows.is_empty() { "rows: []\n" } else { "rows:\n" });
    for row in &rules.rows {
        write_fields(&mut text, &json!(row));
    }
    text
}

fn fields_of(entry: &Entry, has_text: bool) -> Value {
    let mut fields =
        json!({ "name": entry.name, "active": entry.is_active, "description": entry.description });
    if has_text && let Some(fields) = fields.as_object_mut() {
        fields.insert("text".to_owned(), json!(entry.text));
    }
    fields
}

fn write_fields(text: &mut String, fields: &Value) {
    let mut begin = "  - ";
    for (name, value) in fields.as_object().into_iter().flatten() {
        let _ = writeln!(text, "{begin}{name}: {value}");
        begin = "    ";
    }
}
