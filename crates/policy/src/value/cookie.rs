//! One cookie.
//!
//! A cookie that occurs twice is missing, for the reason that a field of the query is. Values are taken as they are, but
//! for quotation marks around them: some servers drop them, so with and without is one value.

use super::{Scratch, TextRoom};
use crate::Headers;

/// The value of the only cookie of this name; `None` if there is none or another, or it is empty.
pub(super) fn find<'v>(headers: &'v dyn Headers, name: &str, scratch: &'v mut Scratch) -> Option<&'v str> {
    if let Some(field) = headers.get("cookie") {
        let mut found = named(field, name);
        return found.next().filter(|value| found.next().is_none() && !value.is_empty());
    }
    // HTTP/2 clients may send each cookie in a field of its own.
    let mut room = TextRoom::new(scratch.room());
    let (mut seen, mut fits) = (0_usize, true);
    headers.each_value("cookie", &mut |field| {
        for value in named(field, name) {
            seen += 1;
            fits = fits && value.bytes().try_for_each(|byte| room.push(byte)).is_some();
        }
    });
    room.into_text().filter(|value| seen == 1 && fits && !value.is_empty())
}

fn named<'c>(field: &'c str, name: &str) -> impl Iterator<Item = &'c str> {
    field.split(';').filter_map(move |cookie| {
        let (cookie_name, value) = cookie.split_once('=')?;
        let value = value.trim_ascii();
        let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        (cookie_name.trim_ascii() == name).then_some(bare)
    })
}
