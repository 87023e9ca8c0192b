//! The value of a header field.
//!
//! CGI and WSGI hand over `X_Key` and `X-Key` as one variable, so a field whose name differs by `_` and `-` is another
//! occurrence. White space other than that of ASCII around a value makes it ambiguous: some servers strip it.

use std::ops::ControlFlow;

use super::every::{RawValue, Visit};
use super::{Ambiguity, Lookup, PartKind};
use crate::Headers;
use crate::blank::{self, is_blank};

/// Maximum number of fields with another spelling of a name that are looked at. Restricting rules match beyond it.
const OTHER_FIELDS_MAX: usize = 8;

/// The value of the field if it occurs exactly once and is text, without the blanks around it.
pub(super) fn find<'v>(headers: &'v dyn Headers, name: &str) -> Lookup<'v> {
    let text = headers.get(name);
    let has_other = has_other_spelling(headers, name);
    match text.map(str::trim_ascii) {
        _ if has_other => {
            let is_repeated = text.is_some() || headers.is_present(name);
            Lookup::Ambiguous(if is_repeated { Ambiguity::Repeated } else { Ambiguity::Spelling })
        }
        Some(text) if text.trim_matches(is_blank).len() < text.len() => Lookup::Ambiguous(Ambiguity::Blank),
        Some(text) => Lookup::of_text(PartKind::Header, text),
        None if headers.is_present(name) => Lookup::Ambiguous(why_unreadable(headers, name)),
        None => Lookup::Missing,
    }
}

/// Shows every value of the field, and of the fields that some server takes for it, with and without the white space
/// around it, until `visit` breaks. After [`OTHER_FIELDS_MAX`] fields of another name it shows [`RawValue::Unreadable`] and
/// ends.
pub(super) fn each(headers: &dyn Headers, name: &str, visit: &mut Visit<'_>) {
    let mut flow = each_of_name(headers, name, visit);
    let mut left = OTHER_FIELDS_MAX;
    each_other_name(headers, name, &mut |other| {
        if flow.is_break() {
            return;
        }
        if left == 0 {
            _ = visit(RawValue::Unreadable);
            flow = ControlFlow::Break(());
            return;
        }
        left -= 1;
        flow = each_of_name(headers, other, visit);
    });
}

fn each_of_name(headers: &dyn Headers, name: &str, visit: &mut Visit<'_>) -> ControlFlow<()> {
    let mut flow = ControlFlow::Continue(());
    headers.each_line(name, &mut |line| {
        if flow.is_continue() {
            flow = each_reading(line.trim_ascii(), visit);
        }
    });
    flow
}

/// Shows a value with and without the white space around it.
fn each_reading(line: &[u8], visit: &mut Visit<'_>) -> ControlFlow<()> {
    visit(RawValue::Bytes(PartKind::Header, line))?;
    let trimmed = blank::trim(line);
    if trimmed.len() < line.len() {
        visit(RawValue::Bytes(PartKind::Header, trimmed))
    } else {
        ControlFlow::Continue(())
    }
}

/// Returns `true` if a field occurs whose name differs from this one by `_` and `-` alone: CGI and WSGI take it for this one.
pub fn has_other_spelling(headers: &dyn Headers, name: &str) -> bool {
    let mut has_other = false;
    each_other_name(headers, name, &mut |_| has_other = true);
    has_other
}

/// Shows the names of fields that differ from this one by `_` and `-`, as often as they occur.
fn each_other_name(headers: &dyn Headers, name: &str, visit: &mut dyn FnMut(&str)) {
    if !name.contains(['-', '_']) {
        return;
    }
    let is_dash = |byte: u8| matches!(byte, b'-' | b'_');
    let is_same = |one: u8, other: u8| one.eq_ignore_ascii_case(&other) || is_dash(one) && is_dash(other);
    headers.each_name(&mut |other| {
        if other.len() == name.len()
            && !other.eq_ignore_ascii_case(name)
            && other.bytes().zip(name.bytes()).all(|(one, other)| is_same(one, other))
        {
            visit(other);
        }
    });
}

/// Why a field that is present has no single text.
pub(super) fn why_unreadable(headers: &dyn Headers, name: &str) -> Ambiguity {
    let mut lines = 0_usize;
    headers.each_line(name, &mut |_| lines += 1);
    if lines > 1 { Ambiguity::Repeated } else { Ambiguity::Undecodable }
}
