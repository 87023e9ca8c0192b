//! What differs between two states of the rules on record, as people read it.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::line_diff::{self, Line};
use crate::screen::Ink;
use crate::visible::visible;

/// What differs, as the server tells it of a proposal, and of two versions.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Difference {
    entries: Differing,
    rows: Differing,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Differing {
    added: Vec<Value>,
    removed: Vec<Value>,
    changed: Vec<Changed>,
}

#[derive(Debug, Deserialize)]
struct Changed {
    before: Value,
    after: Value,
}

/// The same, as versions are compared.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct VersionDifference {
    added_entries: Vec<Value>,
    removed_entries: Vec<Value>,
    changed_entries: Vec<Changed>,
    added_rows: Vec<Value>,
    removed_rows: Vec<Value>,
    changed_rows: Vec<Changed>,
}

impl From<VersionDifference> for Difference {
    fn from(of: VersionDifference) -> Difference {
        Difference {
            entries: Differing {
                added: of.added_entries,
                removed: of.removed_entries,
                changed: of.changed_entries,
            },
            rows: Differing { added: of.added_rows, removed: of.removed_rows, changed: of.changed_rows },
        }
    }
}

impl Difference {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.count() + self.rows.count() == 0
    }

    /// In a few words.
    pub(super) fn summary(&self) -> String {
        let count = |of: fn(&Differing) -> usize| of(&self.entries) + of(&self.rows);
        let counts = [
            (count(|of| of.added.len()), "added"),
            (count(|of| of.changed.len()), "changed"),
            (count(|of| of.removed.len()), "removed"),
        ];
        let told: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if told.is_empty() { "nothing changes".to_owned() } else { told.join(", ") }
    }

    /// Every line; a sign before each says whether it goes or comes.
    pub(super) fn text(&self, ink: Ink) -> String {
        let mut text = String::new();
        for (kind, differing) in [("rule", &self.entries), ("row", &self.rows)] {
            let sides = differing.removed.iter().map(|thing| (Some(thing), None));
            let sides = sides.chain(differing.changed.iter().map(|it| (Some(&it.before), Some(&it.after))));
            for (before, after) in sides.chain(differing.added.iter().map(|thing| (None, Some(thing)))) {
                let sign = match (before, after) {
                    (_, None) => "-",
                    (None, _) => "+",
                    _ => "~",
                };
                let name = name_of(after.or(before).unwrap_or(&Value::Null));
                let _ = writeln!(text, "{}", ink.heading(&format!("{sign} {kind} {}", visible(&name))));
                let (before, after) = (before.map(lines_of), after.map(lines_of));
                let lines =
                    line_diff::between(before.as_deref().unwrap_or(""), after.as_deref().unwrap_or(""));
                for line in lines {
                    let _ = match line {
                        Line::Same(line) => writeln!(text, "    {}", visible(line)),
                        Line::Removed(line) => {
                            writeln!(text, "{}", ink.denied(&format!("  - {}", visible(line))))
                        }
                        Line::Added(line) => {
                            writeln!(text, "{}", ink.admitted(&format!("  + {}", visible(line))))
                        }
                    };
                }
            }
        }
        text
    }
}

impl Differing {
    fn count(&self) -> usize {
        self.added.len() + self.removed.len() + self.changed.len()
    }
}

fn name_of(thing: &Value) -> String {
    match (thing.get("name"), thing.get("rule_id")) {
        (Some(Value::String(name)), _) => name.clone(),
        (_, Some(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// An entry or a row as lines: what it says of itself, then its text. What is as usual is left out.
fn lines_of(thing: &Value) -> String {
    let empty = Map::new();
    let fields = thing.as_object().unwrap_or(&empty);
    let mut lines = String::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("name" | "rule_id" | "text", _) | (_, Value::Null) | ("is_active", Value::Bool(true)) => {}
            (name, Value::String(text)) => {
                let _ = writeln!(lines, "{}: {}", visible(name), visible(text));
            }
            (name, value) => {
                let _ = writeln!(lines, "{}: {value}", visible(name));
            }
        }
    }
    if let Some(Value::String(text)) = fields.get("text") {
        lines.push_str(text);
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_told_line_by_line() {
        let difference: Difference = serde_json::from_value(json!({
            "version": 3,
            "entries": {
                "added": [{ "name": "b", "text": "name: b\n", "is_active": false }],
                "removed": [],
                "changed": [{
                    "before": { "name": "a", "text": "name: a\nrate: 5/s\n", "is_active": true },
                    "after": { "name": "a", "text": "name: a\nrate: 1/s\n", "is_active": true },
                }],
            },
            "rows": { "added": [], "changed": [], "removed": [{ "rule_id": 7, "scope": "ip", "plan": null }] },
        }))
        .unwrap();
        let expected = "\
~ rule a
    name: a
  - rate: 5/s
  + rate: 1/s
+ rule b
  + is_active: false
  + name: b
- row 7
  - scope: ip
";
        assert_eq!(difference.text(Ink::Plain), expected);
        assert_eq!(difference.summary(), "1 added, 1 changed, 1 removed");
        assert_eq!(Difference::default().summary(), "nothing changes");
    }

    #[test]
    fn a_rule_cannot_steer_the_terminal() {
        let difference: Difference = serde_json::from_value(json!({
            "entries": { "added": [{ "name": "a\u{1b}[2J", "text": "name: \u{9b}2J\n", "description": "x\ny" }] }
        }))
        .unwrap();
        let text = difference.text(Ink::Plain);
        assert_eq!(text, "+ rule a\\x1b[2J\n  + description: x\\ny\n  + name: \\u{9b}2J\n");
    }
}
