//! What one instance tells the others of who talks most: of each rule its first clients, as a short text. Sheets of several instances are added up
//! by rule and client. It does not know where sheets are kept.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use tollgate::policy::Rule;

use super::{Figure, Measure, Talker};
use crate::engine::Engine;

/// Most rules of one sheet, the first of the policy that have talkers.
const RULES_MAX: usize = 100;
/// Clients of each rule by each measure; those of all measures together are told.
const CLIENTS_EACH: usize = 20;

/// Who talks most at one instance. Fields that a later program adds are passed over.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sheet {
    pub(crate) rules: Vec<RuleTalkers>,
}

/// The clients of a rule.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleTalkers {
    pub(crate) rule: String,
    pub(crate) clients: Vec<Client>,
}

/// A client, as operators are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Client {
    /// For people.
    #[serde(rename = "client")]
    pub(crate) name: String,
    /// As /buckets and /orders read it, if it can be told.
    pub(crate) key: Option<String>,
    pub(crate) admitted: Figure,
    pub(crate) denied: Figure,
    pub(crate) near: Figure,
}

impl Sheet {
    /// Who talks most here. Some milliseconds of work where many rules have many clients: not for a thread that answers.
    pub(crate) fn of(engine: &Engine) -> Sheet {
        let (policy, now) = (engine.limiter.policy(), engine.limiter.limiter().now());
        let rules = engine.talkers.firsts(&policy, CLIENTS_EACH, now).take(RULES_MAX);
        let told = rules.map(|(rule, talkers)| RuleTalkers {
            rule: rule.name.to_string(),
            clients: talkers.into_iter().map(|talker| Client::new(rule, talker)).collect(),
        });
        Sheet { rules: told.collect() }
    }

    /// As JSON of at most so many bytes: what does not fit is left out, the last rules first.
    pub(crate) fn text(&self, bytes_max: usize) -> String {
        const END: &str = "]}";
        let mut text = String::from(r#"{"rules":["#);
        for of in &self.rules {
            // Texts and numbers: nothing in it can fail to be written.
            let told = serde_json::to_string(of).unwrap_or_default();
            let comma = if text.ends_with('[') { "" } else { "," };
            if text.len() + comma.len() + told.len() + END.len() > bytes_max {
                break;
            }
            text.push_str(comma);
            text.push_str(&told);
        }
        text.push_str(END);
        text
    }

    /// What another instance has written; `None` if that is no sheet.
    pub(crate) fn read(text: &str) -> Option<Sheet> {
        serde_json::from_str(text).ok()
    }
}

impl Client {
    pub(crate) fn new(rule: &Rule, talker: Talker) -> Client {
        let Talker { client: name, key, admitted, denied, near } = talker;
        Client { name, key: rule.keys_text(&key), admitted, denied, near }
    }

    /// Adds clients of several instances up: of one that several have seen, the figures are summed. The first `limit` by a measure, the first
    /// first, as at one instance alone.
    pub(crate) fn merged(seen: impl IntoIterator<Item = Client>, by: Measure, limit: usize) -> Vec<Client> {
        let (mut clients, mut places) = (Vec::<Client>::new(), HashMap::<String, usize>::new());
        for client in seen {
            let place = *places.entry(client.identity().to_owned()).or_insert(clients.len());
            match clients.get_mut(place) {
                Some(known) => known.add(&client),
                None => clients.push(client),
            }
        }
        clients.retain(|client| client.figure(by).at_most > 0);
        clients.sort_unstable_by(|a, b| {
            let rank = |client: &Client| (client.figure(by).at_least, client.figure(by).at_most);
            rank(b).cmp(&rank(a)).then_with(|| a.identity().cmp(b.identity()))
        });
        clients.truncate(limit);
        clients
    }

    /// What it is known by at every instance: long names are cut, keys are not.
    fn identity(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.name)
    }

    fn figure(&self, by: Measure) -> Figure {
        match by {
            Measure::Admitted => self.admitted,
            Measure::Denied => self.denied,
            Measure::Near => self.near,
        }
    }

    fn add(&mut self, other: &Client) {
        for (figure, more) in [
            (&mut self.admitted, other.admitted),
            (&mut self.denied, other.denied),
            (&mut self.near, other.near),
        ] {
            figure.at_least = figure.at_least.saturating_add(more.at_least);
            figure.at_most = figure.at_most.saturating_add(more.at_most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(count: u64) -> Figure {
        Figure { at_least: count, at_most: count }
    }

    fn client(name: &str, key: Option<&str>, denied: u64) -> Client {
        let (admitted, near) = (exactly(1), exactly(0));
        Client { name: name.to_owned(), key: key.map(str::to_owned), admitted, denied: exactly(denied), near }
    }

    fn sheet(rules: usize) -> Sheet {
        let of = |at: usize| RuleTalkers {
            rule: format!("rule-{at}"),
            clients: vec![client("user:\"an\u{7f}n\"", Some("user:ann"), 7)],
        };
        Sheet { rules: (0..rules).map(of).collect() }
    }

    #[test]
    fn a_sheet_is_read_as_it_was_written_and_what_is_unknown_is_passed_over() {
        for rules in [0, 1, 3] {
            assert_eq!(Sheet::read(&sheet(rules).text(usize::MAX)), Some(sheet(rules)));
        }
        let later = r#"{"rules": [{"rule": "r", "clients": [], "new": 1}], "since": 5}"#;
        assert_eq!(Sheet::read(later).unwrap().rules[0].rule, "r");
        for text in ["", "x", "5", "{}", r#"{"rules": [{"rule": 1}]}"#, r#"{"rules": [{}]}"#, "\u{fffd}"] {
            assert_eq!(Sheet::read(text), None, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_end_and_never_too_much() {
        let whole = sheet(5).text(usize::MAX).len();
        for bytes_max in 12..=whole {
            let text = sheet(5).text(bytes_max);
            assert!(text.len() <= bytes_max, "{bytes_max}: {text}");
            let read = Sheet::read(&text).unwrap().rules;
            assert_eq!(read, sheet(read.len()).rules);
            assert_eq!(read.len() == 5, bytes_max == whole);
        }
    }

    #[test]
    fn clients_of_several_instances_are_added_up_and_ranked_as_one() {
        let seen = [
            client("user:a…", Some("user:ann"), 3),
            client("user:b", Some("user:bob"), 5),
            client("user:a…", Some("user:alf"), 1),
            client("6f", None, 0),
            client("user:a…", Some("user:ann"), 4),
            client("6e", None, 2),
            client("6e", None, u64::MAX),
        ];
        let merged = Client::merged(seen, Measure::Denied, 3);
        let told: Vec<(&str, u64)> =
            merged.iter().map(|client| (client.identity(), client.denied.at_least)).collect();
        assert_eq!(told, [("6e", u64::MAX), ("user:ann", 7), ("user:bob", 5)]);
        assert_eq!((merged[1].admitted, merged[1].near), (exactly(2), exactly(0)));
    }
}
