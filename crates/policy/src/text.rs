//! From text to a policy: YAML or JSON in, a compiled [`Policy`] or every mistake at once out (P9).
//!
//! ```text
//!  text ─► events ─► tree (each node with its place) ─► fields ─► Policy
//!                        └──────────── mistakes, in file order ────────────►
//! ```
//!
//! Knows no file and no clock. Numbers are decimals read from their text; there is no float in here.

mod canonical;
mod cases;
mod choice;
mod compose;
mod condition;
mod cost;
mod date;
mod decimal;
mod default_tier;
mod did_you_mean;
mod document;
mod entry;
mod entry_list;
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
mod order;
mod path;
mod patterns;
mod plain_row;
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
mod standing;
mod store;
mod table;
mod tokens;
mod tree;
mod value_test;

pub(crate) use compose::compose;
pub use entry::EntryReader;
pub use mistakes::{Mistake, Mistakes};
pub use rate::{is_rate, rate_of};
pub use span::span_of;

use std::rc::Rc;

use crate::Policy;
use document::TypedPolicy;

/// A value that stands in no text: the field of a row or an order, by its position among the fields.
fn field_node(text: &str, field: usize, is_number: bool) -> tree::Node<'_> {
    let kind = if is_number { tree::Kind::Plain(text.into()) } else { tree::Kind::Quoted(text.into()) };
    tree::Node { place: field_place(field), kind }
}

/// The place of that field.
fn field_place(field: usize) -> tree::Place {
    tree::Place { start: field, end: field, line: 0 }
}

/// Largest policy text: 4 MiB. More is not written by people, and 10,000 rules fit well.
const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

impl Policy {
    /// Reads a policy, in YAML or JSON: `{rules: […], …}`, a list of rules, or one rule. `name_of_file` is for the messages alone.
    ///
    /// Refused whole, with every mistake listed, or true as it stands.
    pub fn parse(name_of_file: &str, text: &str) -> Result<Policy, Mistakes> {
        let policy = TypedPolicy::parse(name_of_file, text, &Rc::default())?.arranged();
        patterns::check_worst_request(name_of_file, text, &policy)?;
        Ok(policy)
    }
}
