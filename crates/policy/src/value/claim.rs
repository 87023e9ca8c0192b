//! One claim of a token.
//!
//! Text, numbers and booleans count, each as a kind of its own; lists, objects and null are missing.

use std::fmt::Write;

use serde_json::Value;

use super::{Found, PartKind, Scratch, TextRoom};

/// The claim at this path, each step a member of an object. Names that contain dots (`https://example.com/plan`) are
/// found, too, where no object is nested that way.
pub(super) fn find<'v>(claims: &'v Value, path: &[Box<str>], scratch: &'v mut Scratch) -> Option<Found<'v>> {
    match at(claims, path)? {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(Found::Text(PartKind::ClaimText, text)),
        Value::Bool(yes) => Some(Found::Text(PartKind::ClaimBoolean, if *yes { "true" } else { "false" })),
        Value::Number(number) => {
            let mut room = TextRoom::new(scratch.room());
            // A whole number is one number, written as 42, 42.0 or 4.2e1.
            match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(whole), _, _) => write!(room, "{whole}").ok()?,
                (None, Some(whole), _) => write!(room, "{whole}").ok()?,
                (None, None, Some(float)) => write!(room, "{float}").ok()?,
                (None, None, None) => return None,
            }
            room.into_text().map(|text| Found::Text(PartKind::ClaimNumber, text))
        }
        Value::Array(_) | Value::Object(_) | Value::Null => None,
    }
}

fn at<'v>(value: &'v Value, path: &[Box<str>]) -> Option<&'v Value> {
    let [first, rest @ ..] = path else { return Some(value) };
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
