//! Who talks most.

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
pub(crate) struct Talkers {
    #[serde(alias = "top", alias = "clients")]
    pub(crate) talkers: Vec<Talker>,
}

/// A client, and what became of its checks in about the last minute.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Talker {
    pub(crate) rule: String,
    #[serde(alias = "client")]
    pub(crate) key: String,
    admitted: Value,
    denied: Value,
    near: Value,
}

impl Talkers {
    /// Asks for them.
    pub(crate) fn ask(
        door: &AdminDoor,
        rule: Option<&str>,
        by: By,
        limit: u32,
    ) -> Result<(Value, Talkers), AdminError> {
        let target = Target::new(&["top"]).with("rule", rule).with("by", Some(by.name()));
        let answer = door.get(&target.with("limit", Some(limit)))?;
        let talkers = admin::read(&answer)?;
        Ok((answer, talkers))
    }
}

impl Talker {
    /// How often, of admitted, denied and near.
    pub(crate) fn figures(&self) -> [String; 3] {
        [&self.admitted, &self.denied, &self.near].map(figure)
    }
}

/// A count; of one that is known between two bounds, with how far it may be off.
fn figure(value: &Value) -> String {
    let bound = |name: &str| value.get(name).and_then(Value::as_u64);
    match (value, bound("at_least"), bound("at_most")) {
        (Value::Null, ..) => String::new(),
        (_, Some(least), Some(most)) if least == most => least.to_string(),
        (_, Some(least), Some(most)) => format!("{least}..{most}"),
        (value, ..) => value.to_string(),
    }
}

pub(super) fn list(flags: &TopFlags, screen: &Screen) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    let (answer, talkers) = Talkers::ask(&door, flags.rule.as_deref(), flags.by, flags.limit)?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => table(&talkers, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

fn table(list: &Talkers, ink: Ink) -> String {
    let mut listing = Listing::new(&["RULE", "KEY", "ADMITTED#", "DENIED#", "NEAR#"]);
    for talker in &list.talkers {
        let figures = talker.figures();
        listing.push([&*talker.rule, &talker.key].into_iter().chain(figures.iter().map(String::as_str)));
    }
    if listing.is_empty() {
        return "Nobody was seen in the last minute.\n".to_owned();
    }
    listing.text(ink)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_count_that_is_not_known_exactly_says_so() {
        let figure = |value: Value| super::figure(&value);
        assert_eq!(figure(json!(7)), "7");
        assert_eq!(figure(json!({ "at_least": 7, "at_most": 7 })), "7");
        assert_eq!(figure(json!({ "at_least": 7, "at_most": 9 })), "7..9");
        assert_eq!(figure(Value::Null), "");
    }
}
