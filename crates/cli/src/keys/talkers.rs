//! Who talks most.

use std::cmp::Reverse;

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::Value;

use super::flags::TopFlags;
use crate::admin::{self, AdminDoor, AdminError, Target};
use crate::format::{self, Format};
use crate::listing::Listing;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};

/// By what clients are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Admitted,
    Denied,
    /// Admitted, with little left
    Near,
}

impl By {
    /// What is said where the list is empty.
    pub(crate) const fn nobody(self) -> &'static str {
        match self {
            By::Admitted => "Nobody was admitted in the last minute.\n",
            By::Denied => "Nobody was denied in the last minute.\n",
            By::Near => "Nobody came near a limit in the last minute.\n",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            By::Admitted => "admitted",
            By::Denied => "denied",
            By::Near => "near",
        }
    }
}

/// What the server says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TopTold {
    rules: Vec<RuleTold>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RuleTold {
    rule: String,
    clients: Vec<ClientTold>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClientTold {
    client: String,
    key: Option<String>,
    admitted: Times,
    denied: Times,
    near: Times,
}

/// How often: the truth is between the two.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Times {
    at_least: u64,
    at_most: u64,
}

/// A client of a rule, and what became of its checks in about the last minute.
#[derive(Debug)]
pub(crate) struct Talker {
    pub(crate) rule: String,
    /// As the other verbs take it; else as people read it.
    pub(crate) key: String,
    times: [Times; 3],
}

impl Talker {
    /// Asks for the first `limit` of a rule, or of all rules.
    pub(crate) fn ask(
        door: &AdminDoor,
        rule: Option<&str>,
        by: By,
        limit: u32,
    ) -> Result<(Value, Vec<Talker>), AdminError> {
        let target = Target::new(&["top"]).with("rule", rule).with("by", Some(by.name()));
        let answer = door.get(&target.with("limit", Some(limit)))?;
        let talkers = Talker::ranked(&answer, by, limit)?;
        Ok((answer, talkers))
    }

    /// Those of all rules together, the first first.
    pub(crate) fn ranked(answer: &Value, by: By, limit: u32) -> Result<Vec<Talker>, AdminError> {
        let TopTold { rules } = admin::read(answer)?;
        let of_rule = |RuleTold { rule, clients }: RuleTold| {
            clients.into_iter().map(move |told| Talker {
                rule: rule.clone(),
                key: told.key.unwrap_or(told.client),
                times: [told.admitted, told.denied, told.near],
            })
        };
        let mut talkers: Vec<Talker> = rules.into_iter().flat_map(of_rule).collect();
        let at = by as usize;
        talkers.sort_by_key(|talker| Reverse(talker.times.get(at).map_or(0, |times| times.at_least)));
        talkers.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(talkers)
    }

    /// Over how many instances, if they are more than one: a part of a sentence, else nothing.
    pub(crate) fn over(answer: &Value) -> Option<String> {
        let instances = answer.get("instances").and_then(Value::as_u64).filter(|instances| *instances > 1);
        instances.map(|instances| format!("over {instances} instances"))
    }

    /// How often, of admitted, denied and near; of what is known between two bounds, both.
    pub(crate) fn figures(&self) -> [String; 3] {
        self.times.map(|Times { at_least, at_most }| {
            if at_least == at_most { at_least.to_string() } else { format!("{at_least}..{at_most}") }
        })
    }
}

pub(super) fn list(flags: &TopFlags, screen: &Screen) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    let (answer, talkers) = Talker::ask(&door, flags.rule.as_deref(), flags.by, flags.limit)?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => table(&talkers, Talker::over(&answer), flags.by, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

fn table(talkers: &[Talker], over: Option<String>, by: By, ink: Ink) -> String {
    let mut listing = Listing::new(&["RULE", "KEY", "ADMITTED#", "DENIED#", "NEAR#"]);
    for talker in talkers {
        let figures = talker.figures();
        listing.push([&*talker.rule, &talker.key].into_iter().chain(figures.iter().map(String::as_str)));
    }
    let told = if listing.is_empty() { by.nobody().to_owned() } else { listing.text(ink) };
    match over {
        Some(over) => format!("{told}{}\n", ink.faint(&over)),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clients_of_all_rules_are_ranked_together_by_what_was_asked() {
        let times = |count: u64| json!({ "at_least": count, "at_most": count });
        let client = |key: &str, admitted: u64, denied: u64| json!({ "client": "shown", "key": key, "admitted": times(admitted), "denied": times(denied), "near": times(0) });
        let answer = json!({ "rules": [
            { "rule": "a", "clients": [client("user:1", 9, 1), client("user:2", 5, 0)] },
            { "rule": "b", "clients": [client("user:3", 7, 3)] },
        ] });
        let keys = |by: By, limit: u32| {
            let talkers = Talker::ranked(&answer, by, limit).unwrap();
            talkers.into_iter().map(|talker| talker.key).collect::<Vec<_>>()
        };
        assert_eq!(keys(By::Admitted, 2), ["user:1", "user:3"]);
        assert_eq!(keys(By::Denied, 9), ["user:3", "user:1", "user:2"]);
    }

    #[test]
    fn of_several_instances_it_is_said_how_many() {
        let said = |answer: &Value| table(&[], Talker::over(answer), By::Near, Ink::Plain);
        for alone in [json!({}), json!({ "instances": 1 }), json!({ "instances": "3" })] {
            assert_eq!(said(&alone), "Nobody came near a limit in the last minute.\n");
        }
        let fleet = "Nobody came near a limit in the last minute.\nover 3 instances\n";
        assert_eq!(said(&json!({ "instances": 3 })), fleet);
    }

    #[test]
    fn a_count_that_is_not_known_exactly_says_so() {
        let answer = json!({ "rules": [{ "rule": "a", "clients": [
            { "client": "c\u{1b}[2J", "key": null, "admitted": { "at_least": 7, "at_most": 9 } }
        ] }] });
        let talkers = Talker::ranked(&answer, By::Admitted, 1).unwrap();
        assert_eq!(talkers[0].figures(), ["7..9", "0", "0"]);
        assert!(table(&talkers, None, By::Admitted, Ink::Plain).contains("c\\x1b[2J"));
    }
}
