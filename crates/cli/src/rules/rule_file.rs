//! Files of rules, as they are sent: policies, single rules, or what `rules export` printed.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::path::PathBuf;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value, json};
use tollgate::policy::Entry;

use crate::problem::Problem;
use crate::source::{self, Content, Source};
use crate::visible::visible;

/// Deepest nesting of what was exported.
const DEPTH_MAX: usize = 64;

/// What the files propose.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Proposal {
    rules: Vec<Value>,
    rows: Vec<Value>,
}

/// What files said of a rule or row so far, and which of them first.
type Said = HashMap<String, (Value, String)>;

impl Proposal {
    /// Reads every file. Every mistake of the first that has some is told with its place; what two files say otherwise is one, too.
    pub(super) fn read(files: &[PathBuf]) -> Result<Proposal, Problem> {
        source::refuse_stdin_twice(files)?;
        let (mut proposal, mut said) = (Proposal::default(), Said::new());
        for path in files {
            let source = Source::read(path, Content::Policy)?;
            let Proposal { rules, rows } = Proposal::of(&source)?;
            for (what, cure, content) in
                rules.iter().filter_map(rule_said).chain(rows.iter().filter_map(row_said))
            {
                take_once(what, cure, content, &source.name, &mut said)?;
            }
            proposal.rules.extend(rules);
            proposal.rows.extend(rows);
        }
        Ok(proposal)
    }

    fn of(source: &Source) -> Result<Proposal, Problem> {
        if let Some((rules, rows)) = exported(&source.text) {
            return Ok(Proposal { rules, rows });
        }
        let entries = Entry::list(&source.name, &source.text)?;
        let rules = entries.iter().map(|entry| json!({ "name": entry.name, "text": entry.text }));
        Ok(Proposal { rules: rules.collect(), rows: Vec::new() })
    }

    /// As it is sent; `more` is sent besides.
    pub(super) fn body(&self, prune: bool, more: Value) -> Value {
        let mut body = Map::new();
        body.insert("rules".to_owned(), self.rules.clone().into());
        body.insert("rows".to_owned(), self.rows.clone().into());
        body.insert("prune".to_owned(), prune.into());
        if let Value::Object(more) = more {
            body.extend(more);
        }
        Value::Object(body)
    }
}

/// Notes what a file says, unless something else was said of the same before: the server would take the last, and tell nobody.
fn take_once(what: String, cure: &str, content: Value, file: &str, said: &mut Said) -> Result<(), Problem> {
    match said.entry(what) {
        Place::Vacant(place) => drop(place.insert((content, file.to_owned()))),
        Place::Occupied(place) => {
            let (before, first) = place.get();
            if *before != content {
                let (what, first, file) = (place.key(), visible(first), visible(file));
                let told = format!("{what} is one thing in {first} and another in {file}; {cure}");
                return Err(Problem::Clash(told));
            }
        }
    }
    Ok(())
}

/// Which rule it is, what to do if there are two, and what it says in the one form that is compared. None of what the server will refuse.
fn rule_said(rule: &Value) -> Option<(String, &'static str, Value)> {
    let (name, text) = Entry::parse(rule.get("text")?.as_str()?).ok()?;
    let is_active = rule.get("active").and_then(Value::as_bool).unwrap_or(true);
    let content = json!([text, is_active, rule.get("description")]);
    Some((format!("rule `{}`", visible(&name)), "delete one of the two, or give it another name", content))
}

/// The same of a row; one without a number is new.
fn row_said(row: &Value) -> Option<(String, &'static str, Value)> {
    let number = row.get("rule_id")?.as_i64()?;
    Some((format!("row {number}"), "delete one of the two", row.clone()))
}

/// The rules and rows of what `rules export` printed; none if the text is something else.
fn exported(text: &str) -> Option<(Vec<Value>, Vec<Value>)> {
    let Value::Object(mut fields) = serde_json::from_str(text).ok().or_else(|| of_yaml(text))? else {
        return None;
    };
    let mut list = |name: &str| match fields.remove(name) {
        None => Some(Vec::new()),
        Some(Value::Array(items)) => Some(items),
        Some(_) => None,
    };
    let (rules, rows) = (list("rules")?, list("rows")?);
    fields.remove("version");
    let is_ours = rules.iter().all(|rule| rule.get("text").is_some_and(Value::is_string));
    (fields.is_empty() && is_ours && rules.len() + rows.len() > 0).then_some((rules, rows))
}

/// A document whose plain words are JSON's: numbers, `true`, `false`, `null`. None if it is something else.
fn of_yaml(text: &str) -> Option<Value> {
    /// What is open, and the name of the value that comes next.
    enum Open {
        List(Vec<Value>),
        Map(Map<String, Value>, Option<String>),
    }
    let (mut open, mut whole): (Vec<Open>, Option<Value>) = (Vec::new(), None);
    for event in Parser::new_from_str(text) {
        let value = match event.ok()?.0 {
            Event::Scalar(text, ScalarStyle::Plain, ..) => {
                serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()))
            }
            Event::Scalar(text, ..) => Value::String(text.into_owned()),
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop()? {
                Open::List(items) => Value::Array(items),
                Open::Map(fields, _) => Value::Object(fields),
            },
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd => continue,
            _ => return None,
        };
        if open.len() > DEPTH_MAX {
            return None;
        }
        match open.last_mut() {
            None if whole.is_none() => whole = Some(value),
            None => return None,
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(fields, name)) => match (name.take(), value) {
                (Some(name), value) => drop(fields.insert(name, value)),
                (None, Value::String(text)) => *name = Some(text),
                (None, _) => return None,
            },
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(text: &str) -> Proposal {
        Proposal::of(&Source { name: "p.yaml".to_owned(), text: text.to_owned() }).unwrap()
    }

    #[test]
    fn a_policy_is_sent_rule_by_rule() {
        let proposal = proposal("rules:\n  - {name: a, scope: ip, rate: 5/s, burst: 10}\n");
        assert_eq!(
            proposal.rules,
            [json!({ "name": "a", "text": "name: a\nscope: ip\nrate: 5/s\nburst: 10\n" })]
        );
        let body = proposal.body(true, json!({ "comment": "why" }));
        assert_eq!(
            (&body["prune"], &body["comment"], &body["rows"]),
            (&json!(true), &json!("why"), &json!([]))
        );
    }

    #[test]
    fn what_was_exported_is_sent_as_it_was() {
        let yaml = "\
# The rules on record, version 3.
rules:
  - active: false
    description: null
    name: \"a\"
    text: |
      name: a
      rate: 5/s
rows:
  - rule_id: 7
    scope: \"ip\"
    is_active: true
";
        let expected = Proposal {
            rules: vec![
                json!({ "active": false, "description": null, "name": "a", "text": "name: a\nrate: 5/s\n" }),
            ],
            rows: vec![json!({ "rule_id": 7, "scope": "ip", "is_active": true })],
        };
        assert_eq!(proposal(yaml), expected);
        let json = json!({ "version": 3, "rules": expected.rules, "rows": expected.rows }).to_string();
        assert_eq!(proposal(&json), expected);
    }

    #[test]
    fn an_anchor_or_a_second_document_is_nothing_that_was_exported() {
        for text in
            ["rules: []\n", "&a {rules: [{text: x}], rows: *a}", "{rules: [{text: x}]}\n---\nb", "[", "1"]
        {
            assert_eq!(exported(text), None, "{text}");
        }
    }
}
