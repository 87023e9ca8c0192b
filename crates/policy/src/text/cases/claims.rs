//! What a token says: JSON, as it is typed in YAML.

use serde_json::{Map, Number, Value};

use crate::text::found::Found;
use crate::text::tree::{Kind, Node};

/// A mapping of claims, or a mistake.
pub(super) fn read(node: &Node<'_>, field: &str, found: &mut Found) -> Option<Value> {
    if node.entries().is_none() {
        found.unfit(node, field, "a mapping of claims", format!("write `{field}: {{sub: ann, plan: pro}}`"));
        return None;
    }
    Some(value(node))
}

/// The value as JSON has it: what is in quotes is text. The tree's depth is bounded, so this ends.
fn value(node: &Node<'_>) -> Value {
    match &node.kind {
        _ if node.is_null() => Value::Null,
        Kind::Plain(text) => plain(text),
        Kind::Quoted(text) => Value::String(text.clone().into_owned()),
        Kind::List(items) => Value::Array(items.iter().map(value).collect()),
        Kind::Map(entries) => {
            let entries = entries.iter().map(|(key, node)| (key.text.clone().into_owned(), value(node)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Kind::Broken => Value::Null,
    }
}

fn plain(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text.parse::<Number>().map_or_else(|_| Value::String(text.to_owned()), Value::Number),
    }
}
