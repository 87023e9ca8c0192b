//! Rules as they were typed.

use serde::Deserialize;
use serde_json::Value;
use tollgate::policy::{EntryReader, Stop};
use tollgate_records::{Entry, PutRow, RowTerms, RuleSet, RuleSetChange};

use super::super::judge::line;
use super::super::on_record::unsound;
use crate::http::{Problem, shown};

/// Names that stand for something else in `/rules/{name}`.
const NAMES_TAKEN: [&str; 4] = ["apply", "diff", "export", "validate"];

/// The version that a caller knows, and why it changes something.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::admin) struct RawBase {
    pub(in crate::admin) base_version: Option<i64>,
    pub(in crate::admin) comment: String,
}

/// One rule or group, as an object or as text of YAML or JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawEntry {
    rule: Option<Value>,
    text: Option<String>,
    active: Option<bool>,
    description: Option<String>,
    /// For whoever reads the list; the rule itself says it.
    name: Option<String>,
    /// Of `PUT`.
    pub(super) base_version: Option<i64>,
    pub(super) comment: String,
}

/// One plain row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    rule_id: Option<i64>,
    key_pattern: String,
    scope: String,
    rate_per_second: Value,
    burst_capacity: Value,
    #[serde(default)]
    plan: Option<String>,
    #[serde(default = "active")]
    is_active: bool,
    #[serde(default)]
    description: Option<String>,
}

fn active() -> bool {
    true
}

/// Several of both.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawRules {
    rules: Vec<RawEntry>,
    rows: Vec<RawRow>,
    /// Whether what is on record and not listed here goes.
    prune: bool,
    pub(super) base_version: Option<i64>,
    pub(super) comment: String,
}

impl RawEntry {
    /// What is to be stored: the text in its one form, by the name that stands in it.
    fn entry(self, place: &str, reader: &EntryReader) -> Result<Entry, Problem> {
        let text = match (self.rule, self.text) {
            (Some(rule), None) => rule.to_string(),
            (None, Some(text)) => text,
            _ => {
                let detail =
                    format!("{place} is no rule; send one as `rule` (an object) or as `text` (YAML or JSON)");
                return Err(Problem::field(place, detail).because("bad_body"));
            }
        };
        let parsed = reader.parse(&text);
        let (name, text) = parsed.map_err(|mistakes| unsound(mistakes.iter().map(line).collect()))?;
        if let Some(said) = self.name.filter(|said| *said != name) {
            let detail = format!(
                "{place} is called '{}', and its rule says `name: {}`; say the same in both",
                shown(&said),
                shown(&name)
            );
            return Err(Problem::field(place, detail).because("other_name"));
        }
        if NAMES_TAKEN.contains(&name.as_str()) {
            let detail = format!(
                "{place} is called `{name}`, and /rules/{name} is another path; use another name, as in `{name}-1`"
            );
            return Err(Problem::field(place, detail).because("name_taken"));
        }
        Ok(Entry { name, text, is_active: self.active.unwrap_or(true), description: self.description })
    }

    /// The same with the name that stands in the path.
    pub(super) fn named(self, name: &str, reader: &EntryReader) -> Result<Entry, Problem> {
        RawEntry { name: Some(name.to_owned()), ..self }.entry("rule", reader)
    }
}

impl RawRules {
    /// What is to be changed of what is on record.
    pub(super) fn change(self, current: &RuleSet, stop: &Stop) -> Result<RuleSetChange, Problem> {
        let reader = EntryReader::until(stop);
        let mut change = RuleSetChange::default();
        for (at, raw) in self.rules.into_iter().enumerate() {
            change.put_entries.push(raw.entry(&format!("rules[{at}]"), &reader)?);
        }
        change.put_rows = self.rows.into_iter().map(RawRow::put).collect();
        if self.prune {
            let stays = |name: &str| change.put_entries.iter().any(|entry| entry.name == name);
            let gone = current.entries.iter().filter(|entry| !stays(&entry.name));
            change.delete_entries = gone.map(|entry| entry.name.clone()).collect();
            let stays = |rule_id: i64| change.put_rows.iter().any(|row| row.rule_id == Some(rule_id));
            let gone = current.rows.iter().filter(|row| !stays(row.rule_id));
            change.delete_rows = gone.map(|row| row.rule_id).collect();
        }
        Ok(change)
    }
}

impl RawRow {
    fn put(self) -> PutRow {
        // A number as it was written, or the text of one; whether it is one, the records say.
        let decimal = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let terms = RowTerms {
            key_pattern: self.key_pattern,
            scope: self.scope,
            rate_per_second: decimal(self.rate_per_second),
            burst_capacity: decimal(self.burst_capacity),
            plan: self.plan,
            is_active: self.is_active,
            description: self.description,
        };
        PutRow { rule_id: self.rule_id, terms }
    }
}
