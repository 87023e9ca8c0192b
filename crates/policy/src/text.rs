//! From text to a policy: YAML or JSON in, a compiled [`Policy`] or every mistake at once out (P9).
//!
//! ```text
//!  text ─► events ─► tree (each node with its place) ─► fields ─► Policy
//!                        └──────────── mistakes, in file order ────────────►
//! ```
//!
//! Knows no file and no clock. Numbers are decimals read from their text; there is no float in here.

mod cases;
mod choice;
mod condition;
mod cost;
mod date;
mod decimal;
mod default_tier;
mod did_you_mean;
mod document;
mod events;
mod fields;
mod fixed_window;
mod foreign_names;
mod found;
mod group;
mod jwt;
mod key_source;
mod kill_switch;
mod limit;
mod limit_fault;
mod mistakes;
mod network;
mod path;
mod rate;
mod reason_header;
mod rule;
mod rule_keys;
mod rule_name;
#[cfg(test)]
mod schema_tests;
mod settings;
mod short_form;
mod snippet;
mod span;
mod store;
mod tokens;
mod tree;
mod value_test;

pub use mistakes::{Mistake, Mistakes};

use crate::Policy;
use found::Found;

/// Largest policy text: 4 MiB. More is not written by people, and 10,000 rules fit well.
const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

impl Policy {
    /// Reads a policy, in YAML or JSON: `{rules: […], …}`, a list of rules, or one rule. `name_of_file` is for the messages alone.
    ///
    /// Refused whole, with every mistake listed, or true as it stands.
    pub fn parse(name_of_file: &str, text: &str) -> Result<Policy, Mistakes> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut found = Found::default();
        let tree = events::read(text, &mut found);
        let policy = tree.as_ref().and_then(|root| document::read(root, &mut found));
        match policy {
            Some(policy) if found.is_empty() => Ok(policy),
            _ => Err(Mistakes::new(name_of_file, text, tree.as_ref(), found)),
        }
    }
}
