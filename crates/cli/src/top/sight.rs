//! What is seen of a server at a moment, and what was done since the moment before.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate_records::Timestamp;

use crate::admin::{self, AdminDoor, AdminError, Target};
use crate::keys::{By, Talker};
use crate::rules::{Counts, RulesInForce};

/// How the program is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) version: String,
    pub(super) policy: PolicyStatus,
    pub(super) store: Value,
    pub(super) records: Value,
    pub(super) keys: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PolicyStatus {
    pub(super) name: String,
    pub(super) version: u64,
    pub(super) outdated: bool,
    /// Standing orders.
    pub(super) orders: u64,
}

/// What is seen.
#[derive(Debug)]
pub(super) struct Sight {
    pub(super) at: Timestamp,
    pub(super) status: Status,
    pub(super) rules: Vec<RuleSeen>,
    pub(super) talkers: Vec<Talker>,
    /// Over how many instances, if they are more than one. All else is of the one that was asked.
    pub(super) talkers_over: Option<String>,
    /// The answers that it was made of.
    answers: [Value; 3],
}

/// A rule.
#[derive(Debug)]
pub(super) struct RuleSeen {
    pub(super) name: String,
    pub(super) does: String,
    pub(super) mode: String,
    pub(super) counts: Counts,
    /// Since the sight before: thousandths of checks per second.
    pub(super) rates: Option<Rates>,
}

/// Thousandths of checks per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rates {
    pub(super) admitted: u64,
    pub(super) denied: u64,
}

impl Sight {
    /// Looks.
    pub(super) fn of(door: &AdminDoor, by: By, limit: u32) -> Result<Sight, AdminError> {
        let status = door.get(&Target::new(&["status"]))?;
        let rules = door.get(&Target::new(&["rules"]))?;
        let (talkers, told) = Talker::ask(door, None, by, limit)?;
        let list: RulesInForce = admin::read(&rules)?;
        let rules_alone = list.rules.into_iter().filter(|rule| !rule.is_order());
        let seen = rules_alone.map(|rule| RuleSeen {
            does: rule.does().to_owned(),
            name: rule.name,
            mode: rule.mode,
            counts: rule.counts,
            rates: None,
        });
        Ok(Sight {
            at: Timestamp::now(),
            status: admin::read(&status)?,
            rules: seen.collect(),
            talkers: told,
            talkers_over: Talker::over(&talkers),
            answers: [status, rules, talkers],
        })
    }

    /// With the rates since another sight, the busiest rules first.
    pub(super) fn since(mut self, before: &Sight) -> Sight {
        let micros = self.at.unix_micros().saturating_sub(before.at.unix_micros());
        let earlier: HashMap<&str, Counts> =
            before.rules.iter().map(|rule| (rule.name.as_str(), rule.counts)).collect();
        for rule in &mut self.rules {
            rule.rates =
                earlier.get(rule.name.as_str()).and_then(|before| rates(*before, rule.counts, micros));
        }
        self.rules.sort_by_key(|rule| {
            std::cmp::Reverse(rule.rates.map_or(0, |rates| rates.admitted.saturating_add(rates.denied)))
        });
        self
    }

    /// For machines.
    pub(super) fn json(&self) -> Value {
        let [status, rules, talkers] = &self.answers;
        let rate = |rule: &RuleSeen| {
            let rates = rule.rates.unwrap_or_default();
            json!({ "rule": rule.name, "admitted_per_1000_s": rates.admitted, "denied_per_1000_s": rates.denied })
        };
        json!({
            "status": status,
            "rules": rules.get("rules"),
            "rates": self.rules.iter().map(rate).collect::<Vec<_>>(),
            "top": talkers,
        })
    }
}

/// Rates between two counts that are so many microseconds apart; a count that began anew counts from 0.
fn rates(before: Counts, after: Counts, micros: i64) -> Option<Rates> {
    let micros = u64::try_from(micros).ok().filter(|micros| *micros > 0)?;
    let rate = |before: u64, after: u64| {
        let done = if after < before { after } else { after - before };
        u64::try_from(u128::from(done) * 1_000_000_000 / u128::from(micros)).unwrap_or(u64::MAX)
    };
    Some(Rates {
        admitted: rate(before.admitted, after.admitted),
        denied: rate(
            before.denied.saturating_add(before.refused),
            after.denied.saturating_add(after.refused),
        ),
    })
}

#[cfg(test)]
impl Sight {
    /// Made of answers.
    pub(super) fn made_of(at: Timestamp, status: &Value, rules: &Value, talkers: &Value) -> Sight {
        let list: RulesInForce = admin::read(rules).unwrap();
        let rules_alone = list.rules.into_iter().filter(|rule| !rule.is_order());
        let seen = rules_alone.map(|rule| RuleSeen {
            does: rule.does().to_owned(),
            name: rule.name,
            mode: rule.mode,
            counts: rule.counts,
            rates: None,
        });
        let told = Talker::ranked(talkers, By::Denied, 9).unwrap();
        let (rules, answers) = (seen.collect(), [status.clone(), rules.clone(), talkers.clone()]);
        let talkers_over = Talker::over(talkers);
        Sight { at, status: admin::read(status).unwrap(), rules, talkers: told, talkers_over, answers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_what_was_done_by_how_long_it_took() {
        let counts = |admitted: u64, denied: u64| Counts { admitted, denied, ..Counts::default() };
        let seen = rates(counts(100, 10), counts(350, 20), 500_000);
        assert_eq!(seen, Some(Rates { admitted: 500_000, denied: 20_000 }));
        assert_eq!(rates(counts(0, 0), counts(1, 0), 0), None, "no time, no rate");
        let seen = rates(counts(100, 0), counts(7, 0), 1_000_000);
        assert_eq!(seen, Some(Rates { admitted: 7_000, denied: 0 }), "a server that began anew");
    }
}
