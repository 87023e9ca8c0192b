//! One query parameter.
//!
//! Servers differ in which of two parameters of one name they take, so a client could name one client to the gate and
//! another to them: such a parameter is ambiguous. Names and values are percent-decoded first.
//!
//! Servers differ in more than that, so the following are occurrences of a name, too, and make it ambiguous:
//!
//! ```text
//!  ?k=a;k=b   ?x=1;k=b   ?k=a;b    `;` separates parameters for some servers
//!  ?k=a#&k=b  /path#?k=b           what follows a raw `#` is part of the query for some
//!  ??k=b                           `URLSearchParams` skips a `?` at the beginning
//!  ?K=b  ?%20k=b  ?k[]=b  ?[k]=b   names that some take for this one ([`is_spelling_of`])
//! ```
//! `?k=a#top` is clear: the gate and every server that cuts at `#` read `a`.

use std::ops::ControlFlow;

use super::every::{RawValue, Visit};
use super::name::is_spelling_of;
use super::{Ambiguity, Lookup, PartKind, Scratch, TextRoom, has_bad_escape, percent_decoded};

/// The value of the only parameter of this name, decoded.
pub(super) fn find<'v>(target: &'v str, name: &str, scratch: &'v mut Scratch) -> Lookup<'v> {
    let mut only = None;
    let mut is_clear = true;
    for piece in pieces(target) {
        let Some(value) = piece.value_of(name) else { continue };
        if only.replace(value).is_some() {
            return Lookup::Ambiguous(Ambiguity::Repeated);
        }
        is_clear = piece.is_clear && decoded(piece.name()).eq(name.bytes());
    }
    match only {
        None => Lookup::Missing,
        Some(_) if !is_clear => Lookup::Ambiguous(Ambiguity::Spelling),
        Some(value) => decode(value, scratch),
    }
}

/// Shows every value of this name, still encoded, as `&` separates them and as all separators do, until `visit` breaks.
pub(super) fn each(target: &str, name: &str, visit: &mut Visit<'_>) -> ControlFlow<()> {
    let mut show = |piece: Piece<'_>| match piece.value_of(name) {
        Some(value) => visit(RawValue::Encoded(value)),
        None => ControlFlow::Continue(()),
    };
    pieces(target).try_for_each(&mut show)?;
    let query = target.split('#').next().and_then(|target| target.split_once('?'));
    match query.filter(|(_, query)| query.contains(';')) {
        Some((_, query)) => query.split('&').try_for_each(|text| show(Piece { text, is_clear: true })),
        None => ControlFlow::Continue(()),
    }
}

/// Decodes a value bounded by [`super::VALUE_BYTES_MAX`].
pub(super) fn decode<'v>(value: &'v str, scratch: &'v mut Scratch) -> Lookup<'v> {
    if !value.contains(['%', '+']) {
        return Lookup::of_text(PartKind::Query, value);
    }
    if has_bad_escape(value) {
        return Lookup::Ambiguous(Ambiguity::Undecodable);
    }
    let mut room = TextRoom::new(scratch.room());
    if decoded(value).try_for_each(|byte| room.push(byte)).is_none() {
        return Lookup::Ambiguous(Ambiguity::TooLong);
    }
    match room.into_text() {
        Some(text) => Lookup::of_text(PartKind::Query, text),
        None => Lookup::Ambiguous(Ambiguity::Undecodable),
    }
}

/// The bytes that are meant: `%41` is `A`, `+` is a space; a `%` without two digits is itself.
pub(super) fn decoded(text: &str) -> impl Iterator<Item = u8> {
    percent_decoded(text.bytes(), b' ')
}

/// A stretch of the query between two separators of any kind.
struct Piece<'q> {
    text: &'q str,
    /// Only `&` or an end of the query is beside it, and no `#` before it.
    is_clear: bool,
}

impl<'q> Piece<'q> {
    fn name(&self) -> &'q str {
        self.text.split_once('=').map_or(self.text, |(name, _)| name)
    }

    /// Its value, still encoded, if it has this name in whatever spelling.
    fn value_of(&self, name: &str) -> Option<&'q str> {
        let (own_name, value) = self.text.split_once('=').unwrap_or((self.text, ""));
        is_spelling_of(own_name.trim_start_matches('?').as_bytes(), name).then_some(value)
    }
}

/// All pieces of the query, whatever separates them.
fn pieces(target: &str) -> impl Iterator<Item = Piece<'_>> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut is_before_fragment = !path.contains('#');
    let mut before = b'&';
    let mut rest = Some(query);
    std::iter::from_fn(move || {
        let query = rest?;
        let end = query.bytes().position(|byte| matches!(byte, b'&' | b';' | b'#'));
        let after = end.and_then(|end| query.as_bytes().get(end).copied()).unwrap_or(b'&');
        let text = end.and_then(|end| query.get(..end)).unwrap_or(query);
        rest = end.and_then(|end| query.get(end + 1..));
        let is_clear = is_before_fragment && before == b'&' && after != b';';
        before = after;
        is_before_fragment &= after != b'#';
        Some(Piece { text, is_clear })
    })
}
