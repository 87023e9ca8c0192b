//! One field of the query.
//!
//! A field that occurs twice is missing: servers differ in which of the two they take, so a client could name one client
//! to us and another to them. Names and values are percent-decoded first, or a spelling would make a second client.

use super::{Scratch, TextRoom, VALUE_BYTES_MAX};
use crate::path::hex_value;

/// The value of the only field of this name, decoded; `None` if there is none or another, or it is no text, or too long.
pub(super) fn find<'v>(target: &'v str, name: &str, scratch: &'v mut Scratch) -> Option<&'v str> {
    let target = target.split('#').next().unwrap_or_default();
    let (_, query) = target.split_once('?')?;
    let mut only = None;
    for field in query.split('&') {
        let (field_name, value) = field.split_once('=').unwrap_or((field, ""));
        if decoded(field_name).eq(name.bytes()) && only.replace(value).is_some() {
            return None;
        }
    }
    decode(only?, scratch)
}

fn decode<'v>(value: &'v str, scratch: &'v mut Scratch) -> Option<&'v str> {
    if !value.contains(['%', '+']) {
        return Some(value).filter(|value| value.len() <= VALUE_BYTES_MAX);
    }
    let mut room = TextRoom::new(scratch.room());
    decoded(value).try_for_each(|byte| room.push(byte))?;
    room.into_text()
}

/// The bytes that are meant: `%41` is `A`, `+` is a space; a `%` without two digits is itself.
fn decoded(text: &str) -> impl Iterator<Item = u8> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let (&first, after) = rest.split_first()?;
        rest = after;
        if let (b'%', [high, low, after @ ..]) = (first, after)
            && let (Some(high), Some(low)) = (hex_value(*high), hex_value(*low))
        {
            rest = after;
            return Some(high << 4 | low);
        }
        Some(if first == b'+' { b' ' } else { first })
    })
}
