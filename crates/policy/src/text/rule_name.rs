//! What rules and policies are called: typed, or made of what a rule is about. Unique within a policy.

use std::collections::HashMap;

use crate::{Condition, MethodSet, PathPattern, Rule, ValueTest};

use super::choice;
use super::found::Found;
use super::tree::{Node, Place};

/// Longest name.
const NAME_BYTES_MAX: usize = 112;
/// How the names of standing orders begin; their number follows.
pub(super) const OF_ORDERS: &str = "order-";

/// A name that can stand in headers, metrics and keys, or a mistake.
pub(super) fn read(node: &Node<'_>, field: &str, found: &mut Found) -> Option<Box<str>> {
    let text = choice::text(node, field, NAME_BYTES_MAX, found)?;
    let is_fit = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
    if text.trim() != text || !text.bytes().all(is_fit) {
        let what = format!("`{field}` is {}, which cannot stand in a header", node.described());
        found.add(
            node.place,
            what,
            "use letters, digits, dashes and other ASCII signs, but no quotes and backslashes",
        );
        return None;
    }
    Some(text.into())
}

/// The same of a rule or a kill switch, which is not called as a standing order would be: the order would not be in force.
pub(super) fn read_own(node: &Node<'_>, field: &str, found: &mut Found) -> Option<Box<str>> {
    let name = read(node, field, found)?;
    let number = name.strip_prefix(OF_ORDERS).unwrap_or_default();
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        let what = format!("`{field}` is `{name}`, as standing orders are called");
        found.add(node.place, what, "choose a name that is not `order-` and a number");
        return None;
    }
    Some(name)
}

/// What a rule without a name is called: `user:free`, `endpoint:/api/search`, `global`.
pub(super) fn made_of(rule: &Rule) -> Box<str> {
    let mut name = rule.scope.name().to_owned();
    for part in distinctions(&rule.condition) {
        if name.len() + 1 + part.len() > NAME_BYTES_MAX {
            break;
        }
        name.push(':');
        name.push_str(part);
    }
    name.into()
}

/// The plain values that a condition compares with.
fn distinctions(condition: &Condition) -> Vec<&str> {
    match condition {
        Condition::All(tests) => tests.iter().flat_map(distinctions).collect(),
        Condition::Path(path) => match &path.pattern {
            PathPattern::Exact(text) | PathPattern::Prefix(text) | PathPattern::Glob { text, .. } => {
                vec![text]
            }
            PathPattern::Template(_) => Vec::new(),
        },
        // `GET` covers `HEAD` and is named alone.
        Condition::Method(methods) => {
            let is_covered = |name: &&str| *name == "HEAD" && methods.meets(MethodSet::of("GET"));
            methods.names().filter(|name| !is_covered(name)).collect()
        }
        Condition::Value(_, ValueTest::OneOf(values)) if values.len() == 1 => {
            let is_fit =
                |value: &&str| value.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
            values.iter().map(AsRef::as_ref).filter(is_fit).collect()
        }
        _ => Vec::new(),
    }
}

/// Names that have been given, and where.
#[derive(Default)]
pub(super) struct Names {
    lines: HashMap<Box<str>, u32>,
}

impl Names {
    /// Takes a name, or adds a mistake if somebody has it.
    pub(super) fn take(&mut self, name: &str, kind: &str, is_typed: bool, place: Place, found: &mut Found) {
        match self.lines.get(name) {
            None => {
                self.lines.insert(name.into(), place.line);
            }
            Some(line) if is_typed => {
                let what = format!("the name `{name}` is taken by the {kind} on line {line}");
                found.add(place, what, "give each a name of its own: balances and reports go by it");
            }
            Some(line) => {
                let what = format!(
                    "this {kind} has no name, and would be called `{name}` like the one on line {line}"
                );
                found.add(place, what, "add `name`");
            }
        }
    }
}
