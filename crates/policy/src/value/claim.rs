//! One claim of a token.
//!
//! Text, numbers and booleans count, each as a kind of its own; objects and null are missing. A list is several values, and
//! so is a claim that occurs more than once in its token: the reader of tokens makes a list of it.

use std::fmt::Write;

use serde_json::Value;

use super::{Ambiguity, Found, Lookup, PartKind, Scratch, TextRoom};

/// The claim at this path, each step a member of an object. Names that contain dots (`https://example.com/plan`) are
/// found, too, where no object is nested that way.
pub(super) fn find<'v>(claims: &'v Value, path: &[Box<str>], scratch: &'v mut Scratch) -> Lookup<'v> {
    match at(claims, path) {
        Some(Value::Array(values)) if values.is_empty() => Lookup::Missing,
        Some(Value::Array(_)) => Lookup::Ambiguous(Ambiguity::List),
        Some(value) => scalar(value, scratch),
        None => Lookup::Missing,
    }
}

/// Shows every value of the claim, those of lists one by one.
pub(super) fn each(claims: &Value, path: &[Box<str>], visit: &mut dyn FnMut(PartKind, &[u8])) {
    match claims {
        Value::Array(values) => values.iter().for_each(|value| each(value, path, visit)),
        Value::Object(members) => {
            for steps in 1..=path.len() {
                let (name, rest) = path.split_at(steps);
                let named = members.iter().filter(|(member, _)| is_joined(member, name));
                named.for_each(|(_, member)| each(member, rest, visit));
            }
        }
        Value::String(text) if path.is_empty() => visit(PartKind::ClaimText, text.as_bytes()),
        value if path.is_empty() => {
            if let Lookup::One(Found::Text(kind, text)) = scalar(value, &mut Scratch::default()) {
                visit(kind, text.as_bytes());
            }
        }
        _ => {}
    }
}

fn scalar<'v>(value: &'v Value, scratch: &'v mut Scratch) -> Lookup<'v> {
    match value {
        Value::String(text) => Lookup::of_text(PartKind::ClaimText, text),
        Value::Bool(yes) => Lookup::of_text(PartKind::ClaimBoolean, if *yes { "true" } else { "false" }),
        Value::Number(number) => {
            let mut room = TextRoom::new(scratch.room());
            // A whole number is one number, written as 42, 42.0 or 4.2e1.
            let written = match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(whole), _, _) => write!(room, "{whole}"),
                (None, Some(whole), _) => write!(room, "{whole}"),
                (None, None, Some(float)) => write!(room, "{float}"),
                (None, None, None) => return Lookup::Missing,
            };
            match room.into_text().filter(|_| written.is_ok()) {
                Some(text) => Lookup::of_text(PartKind::ClaimNumber, text),
                None => Lookup::Ambiguous(Ambiguity::TooLong),
            }
        }
        Value::Array(_) | Value::Object(_) | Value::Null => Lookup::Missing,
    }
}

/// The value at the path, or the list that is met first on the way.
fn at<'v>(value: &'v Value, path: &[Box<str>]) -> Option<&'v Value> {
    let [first, rest @ ..] = path else { return Some(value) };
    if matches!(value, Value::Array(_)) {
        return Some(value);
    }
    let members = value.as_object()?;
    if let Some(found) = members.get(&**first).and_then(|member| at(member, rest)) {
        return Some(found);
    }
    (2..=path.len()).find_map(|steps| {
        let (name, rest) = path.split_at(steps);
        let (_, member) = members.iter().find(|(member, _)| is_joined(member, name))?;
        at(member, rest)
    })
}

/// Whether `text` is `steps` with dots between them.
fn is_joined(text: &str, steps: &[Box<str>]) -> bool {
    let [first, rest @ ..] = steps else { return text.is_empty() };
    let Some(after) = text.strip_prefix(&**first) else { return false };
    match rest {
        [] => after.is_empty(),
        rest => after.strip_prefix('.').is_some_and(|after| is_joined(after, rest)),
    }
}
