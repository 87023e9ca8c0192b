//! The rules in force, as the server enforces them.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};

use super::flags::{ListFlags, NameFlags, ReloadFlags};
use crate::admin::{self, AdminDoor, Target};
use crate::format::{self, Format};
use crate::listing::Listing;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};
use crate::visible::visible;

/// A rule in force. What a server of another release does not say is left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RuleInForce {
    pub(crate) name: String,
    scope: String,
    keys: Vec<String>,
    action: String,
    limit: Option<String>,
    pub(crate) mode: String,
    rollout_percent: Option<u8>,
    group: Option<String>,
    source: Value,
    consistency: String,
    on_store_failure: String,
    pub(crate) counts: Counts,
}

/// What a rule has done since the server began.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    pub(crate) admitted: u64,
    pub(crate) denied: u64,
    pub(crate) refused: u64,
    pub(crate) shadow_denied: u64,
}

/// What the server lists.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RulesInForce {
    policy: String,
    pub(crate) rules: Vec<RuleInForce>,
}

pub(super) fn list(flags: &ListFlags, screen: &Screen) -> Result<Page, Problem> {
    let answer = AdminDoor::of(&flags.asking.admin)?.get(&Target::new(&["rules"]))?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => table(&admin::read(&answer)?, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

fn table(list: &RulesInForce, ink: Ink) -> String {
    let mut listing =
        Listing::new(&["NAME", "SCOPE", "LIMIT", "MODE", "SOURCE", "ADMITTED#", "DENIED#", "SHADOW-DENIED#"]);
    for rule in &list.rules {
        let Counts { admitted, denied, refused, shadow_denied } = rule.counts;
        // A rule that blocks refuses.
        let counts = [admitted, denied.saturating_add(refused), shadow_denied];
        let counts = counts.map(|count| if rule.is_order() { "-".to_owned() } else { count.to_string() });
        let cells =
            [&*rule.name, &rule.scope, rule.does(), &rule.mode, &rule.source_text()].map(str::to_owned);
        listing.push(cells.iter().chain(&counts).map(String::as_str));
    }
    if listing.is_empty() {
        return format!("No rule of `{}` is in force.\n", visible(&list.policy));
    }
    listing.text(ink)
}

pub(super) fn get(flags: &NameFlags, screen: &Screen) -> Result<Page, Problem> {
    let answer = AdminDoor::of(&flags.asking.admin)?.get(&Target::new(&["rules", &flags.name]))?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => one(&admin::read(&answer)?, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

fn one(rule: &RuleInForce, ink: Ink) -> String {
    let Counts { admitted, denied, refused, shadow_denied } = rule.counts;
    let rollout = rule.rollout_percent.filter(|percent| *percent < 100);
    let lines = [
        ("scope", rule.scope.clone()),
        ("keys", rule.keys.join(", ")),
        ("limit", rule.does().to_owned()),
        ("mode", rule.mode.clone()),
        ("rollout", rollout.map_or_else(String::new, |percent| format!("{percent} %"))),
        ("group", rule.group.clone().unwrap_or_default()),
        ("source", rule.source_text()),
        ("consistency", rule.consistency.clone()),
        ("on store failure", rule.on_store_failure.clone()),
        ("admitted", admitted.to_string()),
        ("denied", denied.to_string()),
        ("refused", refused.to_string()),
        ("shadow denied", shadow_denied.to_string()),
    ];
    let mut text = format!("{}\n", ink.heading(&visible(&rule.name)));
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "  {name:17} {}", visible(value));
    }
    text
}

pub(super) fn reload(flags: &ReloadFlags) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    let answer = door.post(&Target::new(&["reload"]), &json!({ "reason": flags.reason }))?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => {
            let became = answer.get("became").and_then(Value::as_str).unwrap_or("read again");
            let version = answer.get("version").and_then(Value::as_u64).unwrap_or_default();
            format!("{}; policy version {version}\n", visible(became))
        }
        Format::Json => format::json(&answer),
    }))
}

impl RuleInForce {
    /// Its limit in words, or what it does instead.
    pub(crate) fn does(&self) -> &str {
        self.limit.as_deref().unwrap_or(&self.action)
    }

    /// Whether it is an order's. There may be thousands: they are counted together, not one by one.
    pub(crate) fn is_order(&self) -> bool {
        self.source_text().starts_with("order ")
    }

    /// Where it is from: the file, an entry, a row, an order.
    fn source_text(&self) -> String {
        match &self.source {
            Value::Null => String::new(),
            Value::String(source) => source.clone(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| match value {
                    Value::String(text) => format!("{name} {text}"),
                    other => format!("{name} {other}"),
                })
                .collect::<Vec<_>>()
                .join(" "),
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let list: RulesInForce = serde_json::from_value(json!({
            "rules": [{ "name": "a\u{1b}[2J", "scope": "ip", "limit": "5/s", "mode": "enforce", "counts": { "denied": 7 } }]
        }))
        .unwrap();
        let text = table(&list, Ink::Plain);
        assert!(text.contains("a\\x1b[2J") && !text.contains('\u{1b}'), "{text}");
        assert!(one(&list.rules[0], Ink::Plain).starts_with("a\\x1b[2J\n"));
    }
}
