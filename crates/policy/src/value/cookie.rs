//! One cookie.
//!
//! A cookie that occurs more than once is ambiguous, for the reason that a query parameter is. Lines are read byte by
//! byte: a byte that is not UTF-8 spoils only the cookie whose value has it.
//!
//! Servers decode values in different ways, so a value has up to [`READINGS_MAX`] readings:
//!
//! ```text
//!  "a\142%63"   as it was sent
//!   a\142%63    without the quotation marks                Go
//!   ab%63       escapes within them undone: \142 is b      Python, Flask
//!   abc         percent-decoded                            Express, PHP, Rails
//! ```
//! Keys take the last one, the canonical form. A value with a bad escape, or with a reading that is not UTF-8, is
//! ambiguous: servers read it in different ways. Another value with more than one reading is [`Lookup::Encoded`].
//!
//! Servers separate and name cookies in different ways, too: `x=1 k=a`, `x=1,k=a`, `k=a x`, `k=a,x`, `k="a`, `k\xa0=a`,
//! `k=a\xa0`, `K=a` and `k[]=a` make `k` ambiguous.

use std::ops::ControlFlow;

use super::every::{RawValue, Visit};
use super::name::{is_spelling_of, start_of_name};
use super::{
    Ambiguity, Found, Lookup, PartKind, Scratch, TextRoom, VALUE_BYTES_MAX, has_bad_escape, percent_decoded,
};
use crate::Headers;
use crate::blank::{self, first_char, is_blank};

/// The header field.
const FIELD: &str = "cookie";

/// Maximum number of readings of one value.
pub(crate) const READINGS_MAX: usize = 4;

/// Maximum number of values of one name that are looked at. Restricting rules match beyond it.
pub(crate) const OCCURRENCES_MAX: usize = 16;

/// The value of the only cookie of this name.
pub(super) fn find<'v>(headers: &'v dyn Headers, name: &str, scratch: &'v mut Scratch) -> Lookup<'v> {
    if let Some(line) = headers.get(FIELD) {
        let mut found = named(line.as_bytes(), name);
        return match (found.next(), found.next()) {
            (None, _) => Lookup::Missing,
            (Some(only), None) if only.is_plain() => of_bytes(only.value),
            (Some(only), None) => {
                let mut room = TextRoom::new(scratch.room());
                let written = only.write_canonical(&mut room);
                of_written(written, room)
            }
            (Some(_), Some(_)) => Lookup::Ambiguous(Ambiguity::Repeated),
        };
    }
    if !headers.is_present(FIELD) {
        return Lookup::Missing;
    }
    // HTTP/2 clients may send each cookie in a field of its own.
    let mut room = TextRoom::new(scratch.room());
    let mut found = None;
    headers.each_line(FIELD, &mut |line| {
        for cookie in named(line, name) {
            found = Some(match found {
                None => cookie.write_canonical(&mut room),
                Some(_) => Err(Ambiguity::Repeated),
            });
        }
    });
    found.map_or(Lookup::Missing, |written| of_written(written, room))
}

/// Shows every reading of every value of this name, of all lines, until `visit` breaks. After [`OCCURRENCES_MAX`] values
/// it shows [`RawValue::Unreadable`] and ends.
pub(super) fn each(headers: &dyn Headers, name: &str, visit: &mut Visit<'_>) {
    let (mut left, mut flow) = (OCCURRENCES_MAX, ControlFlow::Continue(()));
    headers.each_line(FIELD, &mut |line| {
        if flow.is_break() {
            return;
        }
        flow = named(line, name).try_for_each(|cookie| {
            if left == 0 {
                _ = visit(RawValue::Unreadable);
                return ControlFlow::Break(());
            }
            left -= 1;
            cookie.each_reading(visit)
        });
    });
}

/// One reading of the value of a cookie.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CookieReading<'c> {
    /// These bytes.
    Plain(&'c [u8]),
    /// These bytes without escapes.
    Unescaped(&'c [u8]),
    /// These bytes, percent-decoded.
    Decoded(&'c [u8]),
    /// These bytes without escapes, then percent-decoded.
    UnescapedDecoded(&'c [u8]),
}

impl CookieReading<'_> {
    /// Whether it is this text, which may be written percent-encoded: `s%3Aabc` is `s:abc`. Reads no further than the first
    /// byte that differs.
    pub(crate) fn is(self, text: &str) -> bool {
        self.read(|bytes| bytes.eq(text.bytes()))
            || self.read(|bytes| bytes.eq(percent_decoded(text.bytes(), b'+')))
    }

    pub(super) fn read<R>(self, read: impl FnOnce(&mut dyn Iterator<Item = u8>) -> R) -> R {
        match self {
            CookieReading::Plain(bytes) => read(&mut bytes.iter().copied()),
            CookieReading::Unescaped(bytes) => read(&mut unescaped(bytes)),
            CookieReading::Decoded(bytes) => read(&mut percent_decoded(bytes.iter().copied(), b'+')),
            CookieReading::UnescapedDecoded(bytes) => read(&mut percent_decoded(unescaped(bytes), b'+')),
        }
    }
}

/// Shows a value as it was sent, without quotation marks, without escapes, and percent-decoded, each if it may be another.
fn each_reading(value: &[u8], visit: &mut Visit<'_>) -> ControlFlow<()> {
    let mut show = |reading| visit(RawValue::Cookie(reading));
    let may_have = |bytes: &[u8], byte: u8| bytes.len() > VALUE_BYTES_MAX || bytes.contains(&byte);
    show(CookieReading::Plain(value))?;
    let [b'"', quoted @ .., _] = value else {
        return if may_have(value, b'%') {
            show(CookieReading::Decoded(value))
        } else {
            ControlFlow::Continue(())
        };
    };
    // Some servers take the last byte for a quotation mark, whatever it is.
    show(CookieReading::Plain(quoted))?;
    if may_have(quoted, b'\\') {
        show(CookieReading::Unescaped(quoted))?;
        return show(CookieReading::UnescapedDecoded(quoted));
    }
    if may_have(quoted, b'%') { show(CookieReading::Decoded(quoted)) } else { ControlFlow::Continue(()) }
}

fn of_bytes(value: &[u8]) -> Lookup<'_> {
    match str::from_utf8(value) {
        Ok(text) => Lookup::of_text(PartKind::Cookie, text),
        Err(_) => Lookup::Ambiguous(Ambiguity::Undecodable),
    }
}

fn of_written(written: Result<IsEncoded, Ambiguity>, room: TextRoom<'_>) -> Lookup<'_> {
    match (written, of_bytes(room.into_bytes())) {
        (Err(why), _) => Lookup::Ambiguous(why),
        (Ok(IsEncoded(true)), Lookup::One(found @ Found::Text(..))) => Lookup::Encoded(found),
        (Ok(_), found) => found,
    }
}

/// One occurrence of a cookie.
#[derive(Debug, Clone, Copy)]
struct Occurrence<'c> {
    /// The value as it was sent, without the white space of ASCII around it.
    value: &'c [u8],
    /// The value without any white space and control characters around it.
    trimmed: &'c [u8],
    /// Why some server does not find it or ends it elsewhere, if one does.
    doubt: Option<Ambiguity>,
}

/// Whether the value has another reading than the bytes that were sent.
#[derive(Debug, Clone, Copy)]
struct IsEncoded(bool);

impl Occurrence<'_> {
    /// Whether the canonical form is the bytes that were sent, at a glance.
    fn is_plain(&self) -> bool {
        self.doubt.is_none() && self.value.first() != Some(&b'"') && !self.value.contains(&b'%')
    }

    /// Shows every reading of the value, with and without the blanks around it, and up to the first separator.
    fn each_reading(&self, visit: &mut Visit<'_>) -> ControlFlow<()> {
        each_reading(self.value, visit)?;
        if self.trimmed.len() < self.value.len() {
            each_reading(self.trimmed, visit)?;
        }
        match first_separator(self.trimmed).and_then(|end| self.trimmed.get(..end)) {
            Some(cut) => each_reading(cut, visit),
            None => ControlFlow::Continue(()),
        }
    }

    /// Writes the canonical form.
    fn write_canonical(&self, room: &mut TextRoom<'_>) -> Result<IsEncoded, Ambiguity> {
        if let Some(doubt) = self.doubt {
            return Err(doubt);
        }
        let sent = str::from_utf8(self.value).map_err(|_| Ambiguity::Undecodable)?;
        let bare = sent.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let mut first = [0; VALUE_BYTES_MAX];
        let unescaped = match bare {
            Some(bare) if bare.contains('\\') => {
                let undone = write_all(unescaped(bare.as_bytes()), &mut first).ok_or(Ambiguity::TooLong)?;
                str::from_utf8(undone).map_err(|_| Ambiguity::Undecodable)?
            }
            _ => bare.unwrap_or(sent),
        };
        if has_bad_escape(unescaped) {
            return Err(Ambiguity::Undecodable);
        }
        let mut canonical = percent_decoded(unescaped.bytes(), b'+');
        canonical.try_for_each(|byte| room.push(byte)).ok_or(Ambiguity::TooLong)?;
        let is_encoded = bare.is_some() || percent_decoded(sent.bytes(), b'+').ne(sent.bytes());
        Ok(IsEncoded(is_encoded))
    }
}

/// The occurrences of a cookie in a line, after whatever some server takes for a separator. Linear in the line.
fn named<'c>(line: &'c [u8], name: &str) -> impl Iterator<Item = Occurrence<'c>> {
    line.split(|byte| *byte == b';').flat_map(move |piece| {
        let piece = piece.trim_ascii_end();
        let trimmed_len = blank::trim_end(piece).len();
        let mut end = 0;
        // Each part but the last ends at a `=`, which may follow the name.
        piece.split(|byte| *byte == b'=').filter_map(move |part| {
            let is_first = end == 0;
            end += part.len() + 1;
            let value = piece.get(end..)?.trim_ascii_start();
            let doubt = if is_first && part.trim_ascii() == name.as_bytes() {
                None
            } else if is_first && is_spelling_of(part, name) {
                Some(Ambiguity::Spelling)
            } else if words(part).any(|word| is_spelling_of(word, name)) {
                Some(Ambiguity::Separator)
            } else {
                return None;
            };
            let has_pair = match value {
                [b'"', .., b'"'] => true,
                value => value.first() != Some(&b'"') && value.last() != Some(&b'"'),
            };
            let is_one = has_pair && first_separator(value).is_none();
            let trimmed = blank::trim_start(piece.get(end..trimmed_len).unwrap_or_default());
            Some(Occurrence { value, trimmed, doubt: doubt.or((!is_one).then_some(Ambiguity::Separator)) })
        })
    })
}

/// Whether some server ends a cookie at this character, though it is no semicolon.
fn is_separator(sign: char) -> bool {
    is_blank(sign) || sign == ','
}

/// Where a value ends for a server that ends it at a separator, if it has one.
fn first_separator(value: &[u8]) -> Option<usize> {
    let mut start = 0;
    blank::chars(value).find_map(|(sign, end)| {
        let at = std::mem::replace(&mut start, end);
        is_separator(sign).then_some(at)
    })
}

/// The rest of the text from each word on that follows a separator. No word begins with what may precede a name, so that
/// each run of it is read once.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut rest, mut is_after_separator) = (text, false);
    std::iter::from_fn(move || {
        while !std::mem::take(&mut is_after_separator) {
            let (sign, len) = first_char(rest)?;
            rest = rest.get(len..)?;
            is_after_separator = is_separator(sign);
        }
        rest = start_of_name(rest);
        Some(rest)
    })
}

/// The bytes that are meant within quotation marks: `\142` is `b`, `\"` is `"`; a `\` at the end is itself.
fn unescaped(quoted: &[u8]) -> impl Iterator<Item = u8> + Clone {
    let mut rest = quoted;
    std::iter::from_fn(move || {
        #[cfg(test)]
        crate::steps::count();
        let (&first, after) = rest.split_first()?;
        rest = after;
        match (first, after) {
            (b'\\', [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', after @ ..]) => {
                rest = after;
                Some((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'))
            }
            (b'\\', [escaped, after @ ..]) => {
                rest = after;
                Some(*escaped)
            }
            (first, _) => Some(first),
        }
    })
}

/// Writes all bytes; `None` if there are too many.
fn write_all(mut bytes: impl Iterator<Item = u8>, out: &mut [u8]) -> Option<&[u8]> {
    let mut room = TextRoom::new(out);
    bytes.try_for_each(|byte| room.push(byte))?;
    Some(room.into_bytes())
}
