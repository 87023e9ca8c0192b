//! `GET /rules/{name}/text`: what a rule says, as it can be put again with changes.

use serde_json::json;
use tollgate::policy::{self, Composition, Policy, Sources, Stop};
use tollgate_records::RuleSet;

use super::{on_record_or_empty, row_called};
use crate::admin::call::{Call, ok};
use crate::admin::rules::unknown_rule;
use crate::http::{Problem, Reply};
use crate::policy_source::PolicyText;

/// The text of a rule, or of the group that it is a tier of: tiers are changed together, unless one is on record by itself.
pub(in crate::admin) async fn text(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let name = call.values.get("name");
    let current = on_record_or_empty(&call).await?;
    let engine = &call.operations.engine;
    let names = [Some(name.to_owned()), group_of(&engine.limiter.policy(), name)];
    let of_file = OfFile::read(&engine.loaded().parts.text, &call.stop);
    let (version, names) = (current.version, names.iter().flatten());
    for name in names.clone() {
        if let Some(entry) = current.entries.iter().find(|entry| entry.name == *name) {
            return ok(&json!({
                "name": name, "source": "record", "text": entry.text, "active": entry.is_active,
                "description": entry.description, "in_file": of_file.names.contains(name),
                "file_text": of_file.text(name), "version": version,
            }));
        }
    }
    for name in names {
        if let Some(text) = of_file.text(name) {
            return ok(&json!({
                "name": name, "source": "file", "text": text, "active": true, "description": null,
                "in_file": true, "file_text": text, "version": version,
            }));
        }
    }
    row(&current, name)
}

/// A plain row has no text, but terms.
fn row(current: &RuleSet, name: &str) -> Result<Reply, Problem> {
    let row = row_called(current, name).ok_or_else(|| unknown_rule(name))?;
    ok(&json!({
        "name": name, "source": "row", "row": row, "active": row.terms.is_active,
        "description": row.terms.description, "in_file": false, "version": current.version,
    }))
}

/// The group that a rule in force is a tier of.
fn group_of(policy: &Policy, name: &str) -> Option<String> {
    let rule = policy.rules.iter().find(|rule| &*rule.name == name)?;
    Some(policy.groups.get(rule.group?)?.name.to_string())
}

/// What the file lists.
struct OfFile {
    entries: Vec<policy::Entry>,
    /// Tiers and groups among them.
    names: Vec<String>,
}

impl OfFile {
    /// Nothing, if there is no file. Without the names of tiers if it is to stop.
    fn read(PolicyText { name, text }: &PolicyText, stop: &Stop) -> OfFile {
        let entries = policy::Entry::list(name, text).unwrap_or_default();
        let mut names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        let file = Sources { file: Some((name, text)), stop: Some(stop), ..Sources::default() };
        if let Ok(Composition { policy, .. }) = Policy::compose(&file) {
            names.extend(policy.rules.iter().map(|rule| rule.name.to_string()));
        }
        OfFile { entries, names }
    }

    fn text(&self, name: &str) -> Option<&str> {
        Some(&self.entries.iter().find(|entry| entry.name == name)?.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_found_by_its_group_and_the_file_knows_both() {
        let text = "rules: [{group: plans, combine: first, rules: [{name: free, scope: user, rate: 1/s, burst: 5}]}]";
        let policy = Policy::parse("p.yaml", text).unwrap();
        assert_eq!(group_of(&policy, "free").as_deref(), Some("plans"));
        assert_eq!((group_of(&policy, "plans"), group_of(&policy, "nobody")), (None, None));
        let of_file =
            OfFile::read(&PolicyText { name: "p.yaml".to_owned(), text: text.to_owned() }, &Stop::default());
        assert_eq!(of_file.names, ["plans", "free"]);
        assert!(of_file.text("plans").unwrap().contains("free") && of_file.text("free").is_none());
    }

    #[test]
    fn without_a_file_nothing_is_of_it() {
        let of_file =
            OfFile::read(&PolicyText { name: String::new(), text: String::new() }, &Stop::default());
        assert!(of_file.entries.is_empty() && of_file.names.is_empty());
    }
}
