//! The forms of a path: what different servers make of encoded slashes, white space, `;parameters` and hosts.

use arrayvec::ArrayVec;

use super::{hex_value, put};
use crate::blank::{first_char, is_blank};

/// The readings of one path, of which a client could show one to the gate and mean another. A path has all of them if
/// it has something that servers read differently ([`has_several_forms`]), and only the first one otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathForm {
    /// As it was sent: an encoded slash is part of a segment.
    Sent,
    /// `;parameters` are stripped, and then `%2F`, `%5C` and `\` are slashes, white space and control characters at the
    /// end of a segment are dropped (raw or encoded: `%20`, `%0A`, `%A0`), and the path ends before a NUL byte (raw or
    /// `%00`). Keys use this form.
    Decoded,
    /// As [`PathForm::Decoded`], with `;parameters` stripped last: in `/a;%2fb` they end at `%2f`.
    ParametersLast,
    /// `%2F` is a slash, and nothing else is decoded: `\` is a letter on most systems.
    Slashes,
    /// `%5C` and `\` are slashes, and nothing else is decoded, as in the URLs of browsers.
    Backslashes,
    /// As [`PathForm::Slashes`], and `.` and `..` stay: some servers never remove them.
    Dotted,
    /// As [`PathForm::Backslashes`], of the path after a host: `//host/a` and `/\host/a` are `/a` to URL parsers.
    AfterHost,
    /// As [`PathForm::Decoded`], of the path after a host.
    AfterHostDecoded,
}

impl PathForm {
    /// All forms, in the order of their numbers.
    pub(crate) const ALL: [PathForm; 8] = [
        PathForm::Sent,
        PathForm::Decoded,
        PathForm::ParametersLast,
        PathForm::Slashes,
        PathForm::Backslashes,
        PathForm::Dotted,
        PathForm::AfterHost,
        PathForm::AfterHostDecoded,
    ];
    /// The forms that few requests have.
    pub(crate) const RARE: [PathForm; 6] = {
        let [PathForm::Sent, PathForm::Decoded, rare @ ..] = PathForm::ALL else { panic!() };
        rare
    };

    fn decodes_slashes(self) -> bool {
        !matches!(self, PathForm::Sent | PathForm::Backslashes | PathForm::AfterHost)
    }

    fn decodes_backslashes(self) -> bool {
        !matches!(self, PathForm::Sent | PathForm::Slashes | PathForm::Dotted)
    }

    /// Whether white space at the end of a segment is dropped, and the path ends before a NUL byte.
    fn cuts(self) -> bool {
        matches!(self, PathForm::Decoded | PathForm::ParametersLast | PathForm::AfterHostDecoded)
    }

    /// The part of a path that this form is about.
    pub(super) fn part_of(self, path: &str) -> &str {
        match self {
            PathForm::AfterHost | PathForm::AfterHostDecoded => after_host(path).unwrap_or(path),
            _ => path,
        }
    }
}

/// A set of forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormSet(u8);

impl FormSet {
    pub(crate) const NONE: FormSet = FormSet(0);
    /// The path as sent and no other form.
    pub(crate) const SENT: FormSet = FormSet(1);

    /// The set with one more form.
    #[must_use]
    pub(crate) fn with(self, form: PathForm) -> FormSet {
        FormSet(self.0 | 1 << form as u8)
    }

    /// Its forms, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = PathForm> {
        PathForm::ALL.into_iter().filter(move |form| self.0 & 1 << *form as u8 != 0)
    }
}

/// The path after the host, if a URL parser takes the path for a reference to another host: `//host/a`, `/\host/a`.
pub(crate) fn after_host(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("//").or_else(|| path.strip_prefix("/\\"))?;
    let host = rest.trim_start_matches(['/', '\\']);
    host.get(host.find(['/', '\\']).unwrap_or(host.len())..)
}

/// Whether servers read the path in different ways: it begins with a host, or has an encoded slash, a backslash, white
/// space or a control character at the end of a segment, or a NUL byte, raw or encoded.
pub(crate) fn has_several_forms(path: &str) -> bool {
    if after_host(path).is_some() {
        return true;
    }
    let mut rest = path.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'%' | b'\\' | ..=b' ' | 0x7f..)) {
        let found = rest.get(at..).unwrap_or_default();
        let (sign, len) = meant_char(found);
        rest = found.get(len..).unwrap_or_default();
        if matches!(sign, '/' | '\\' | '\0') {
            return true;
        }
        if is_blank(sign) {
            rest = without_blanks(rest);
            if matches!(meant(rest).0, b'/' | b'\\' | 0) || rest.starts_with(b";") {
                return true;
            }
        }
    }
    false
}

/// Whether a segment is `..` to a server that decodes the path before it splits it.
pub(crate) fn has_parent_segment(path: &[u8]) -> bool {
    let mut rest = path;
    // Dots at the beginning of the segment; `None` once it has something else.
    let mut dots = Some(0_usize);
    while !rest.is_empty() {
        let (sign, len) = meant_char(rest);
        rest = rest.get(len..).unwrap_or_default();
        match sign {
            '/' | '\\' | ';' if dots == Some(2) => return true,
            sign if is_blank(sign) && dots == Some(2) => return true,
            '/' | '\\' => dots = Some(0),
            '.' => dots = dots.map(|dots| dots + 1),
            _ => dots = None,
        }
    }
    dots == Some(2)
}

/// The byte that the path begins with, decoded, and its length as it is written. The end is a NUL byte of no length.
pub(crate) fn meant(path: &[u8]) -> (u8, usize) {
    #[cfg(test)]
    crate::steps::count();
    match path {
        [b'%', high, low, ..] => match (hex_value(*high), hex_value(*low)) {
            (Some(high), Some(low)) => (high << 4 | low, 3),
            _ => (b'%', 1),
        },
        [byte, ..] => (*byte, 1),
        [] => (0, 0),
    }
}

/// The character that the path begins with, decoded, and its length as it is written.
fn meant_char(path: &[u8]) -> (char, usize) {
    let (byte, len) = meant(path);
    if byte.is_ascii() {
        return (char::from(byte), len);
    }
    let (mut bytes, mut ends) = (ArrayVec::<u8, 4>::new(), 0);
    while !bytes.is_full() && ends < path.len() {
        let (byte, len) = meant(path.get(ends..).unwrap_or_default());
        bytes.push(byte);
        ends += len;
    }
    let (sign, count) = first_char(&bytes).unwrap_or((char::from(byte), 1));
    (sign, (0..count).fold(0, |end, _| end + meant(path.get(end..).unwrap_or_default()).1))
}

/// The rest of the path after white space and control characters, or at a NUL byte.
pub(crate) fn without_blanks(mut path: &[u8]) -> &[u8] {
    while let (sign @ '\u{1}'.., len) = meant_char(path)
        && is_blank(sign)
    {
        path = path.get(len..).unwrap_or_default();
    }
    path
}

/// The length of a segment, percent-encoded, without the white space at its end.
fn trimmed_len(segment: &[u8]) -> usize {
    let (mut at, mut end) = (0, 0);
    while at < segment.len() {
        let (sign, len) = meant_char(segment.get(at..).unwrap_or_default());
        at += len;
        if !is_blank(sign) {
            end = at;
        }
    }
    end
}

/// Writes the path in this form, with real slashes and without parameters, and returns the length.
pub(super) fn write_decoded(path: &[u8], form: PathForm, out: &mut [u8]) -> usize {
    let (mut rest, mut end, mut is_in_parameters) = (path, 0, false);
    let mut segment_start = 0;
    let end_of_segment = |out: &[u8], start: usize, end: usize| match out.get(start..end) {
        Some(segment) if form.cuts() => start + trimmed_len(segment),
        _ => end,
    };
    while !rest.is_empty() {
        let (byte, len) = meant(rest);
        let (bytes, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        rest = after;
        let is_slash = match byte {
            b'/' => bytes == b"/" || form.decodes_slashes(),
            b'\\' => form.decodes_backslashes(),
            _ => false,
        };
        if is_in_parameters && (!is_slash || (bytes != b"/" && form != PathForm::ParametersLast)) {
            // An encoded NUL byte within parameters ends nothing if these are stripped first.
            if byte == 0 && form == PathForm::ParametersLast {
                break;
            }
            continue;
        }
        if is_slash {
            end = end_of_segment(out, segment_start, end);
            put(out, end, b'/');
            end += 1;
            segment_start = end;
            is_in_parameters = false;
        } else if byte == 0 && form.cuts() {
            break;
        } else if bytes == b";" {
            is_in_parameters = true;
        } else {
            for byte in bytes {
                put(out, end, *byte);
                end += 1;
            }
        }
    }
    end_of_segment(out, segment_start, end)
}
