//! The forms of a path: what different servers make of encoded slashes, white space, `;parameters` and hosts.

use arrayvec::ArrayVec;

use super::{hex_value, put};
use crate::blank::{first_char, is_blank};

/// A reading of one path, of which a client could show one to the gate and mean another: a place in [`READINGS`]. A path
/// that has something that servers read differently ([`has_several_forms`]) has all of them, any other the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathForm(u8);

/// The bytes that a reading decodes before it removes dot segments. It strips `;parameters` first, unless its [`Segments`]
/// keep them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Nothing: an encoded slash is part of a segment.
    Plain,
    /// A raw `\` is a slash, and `%5C` is a letter: URL parsers of browsers and Node.
    RawBackslashes,
    /// `%2F` is a slash, and nothing else is decoded: `\` is a letter on most systems.
    Slashes,
    /// `%5C` and `\` are slashes, and nothing else is decoded.
    Backslashes,
    /// As [`Pass::Slashes`], and `.` and `..` stay: some servers never remove them.
    Dotted,
    /// `%2F`, `%5C` and `\` are slashes, white space and control characters at the end of a segment are dropped (raw or
    /// encoded: `%20`, `%0A`, `%A0`), and the path ends before a NUL byte (raw or `%00`). Parameters are stripped first.
    Decoded,
    /// As [`Pass::Decoded`], with `;parameters` stripped last: in `/a;%2fb` they end at `%2f`.
    ParametersLast,
}

/// The segments that `..` removes. Empty segments and `;parameters` do not count afterwards, but they may count here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Segments {
    /// Those that are left without parameters, if they are not empty: `/a/;/../b` and `/a//../b` are `/b`.
    Normal,
    /// All of them, as URL parsers of browsers and Node do: `/a/;/../b` and `/a//../b` are `/a/b`.
    All,
    /// Those that are not empty, as nginx and Go do: `/a/;/../b` is `/a/b`, `/a//../b` is `/b`.
    WithParameters,
    /// All that are left without parameters, as Jetty does: `/a/;/../b` and `/a//../b` are `/a/b`, `/a/.;/../b` is `/b`.
    Stripped,
}

/// How a form is made.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    /// It is about the path after a host: `//host/a` and `/\host/a` are `/a` to URL parsers.
    is_after_host: bool,
    pub(super) first: Pass,
    pub(super) segments: Segments,
    /// A second pass, after dot segments were removed once. They are removed again after it.
    pub(super) second: Option<Pass>,
}

/// All readings, by the number of their form.
const READINGS: [Reading; PathForm::COUNT] = {
    const fn once(first: Pass) -> Reading {
        Reading { is_after_host: false, first, segments: Segments::Normal, second: None }
    }
    const fn over(segments: Segments, reading: Reading) -> Reading {
        Reading { segments, ..reading }
    }
    const fn twice(first: Pass, second: Pass) -> Reading {
        Reading { second: Some(second), ..once(first) }
    }
    const fn after_host(reading: Reading) -> Reading {
        Reading { is_after_host: true, ..reading }
    }
    [
        once(Pass::Plain),
        once(Pass::Decoded),
        once(Pass::ParametersLast),
        once(Pass::Slashes),
        once(Pass::Backslashes),
        once(Pass::RawBackslashes),
        once(Pass::Dotted),
        // Apache with `AllowEncodedSlashes On`, or a proxy that removes dot segments.
        twice(Pass::Plain, Pass::Slashes),
        twice(Pass::Plain, Pass::Decoded),
        twice(Pass::Plain, Pass::Dotted),
        // `decodeURIComponent(new URL(url).pathname)` of Node, or a proxy with such a parser.
        twice(Pass::RawBackslashes, Pass::Slashes),
        twice(Pass::RawBackslashes, Pass::Decoded),
        twice(Pass::RawBackslashes, Pass::Dotted),
        after_host(once(Pass::RawBackslashes)),
        after_host(once(Pass::Decoded)),
        after_host(twice(Pass::RawBackslashes, Pass::Slashes)),
        after_host(twice(Pass::RawBackslashes, Pass::Decoded)),
        after_host(twice(Pass::RawBackslashes, Pass::Dotted)),
        over(Segments::All, once(Pass::Plain)),
        over(Segments::All, once(Pass::Slashes)),
        over(Segments::All, once(Pass::Decoded)),
        over(Segments::WithParameters, once(Pass::Plain)),
        over(Segments::WithParameters, once(Pass::Slashes)),
        over(Segments::WithParameters, once(Pass::Decoded)),
        over(Segments::Stripped, once(Pass::Plain)),
        over(Segments::Stripped, once(Pass::Slashes)),
        over(Segments::Stripped, once(Pass::Decoded)),
        over(Segments::WithParameters, twice(Pass::Plain, Pass::Slashes)),
        over(Segments::WithParameters, twice(Pass::Plain, Pass::Decoded)),
        over(Segments::All, once(Pass::RawBackslashes)),
        over(Segments::All, twice(Pass::RawBackslashes, Pass::Slashes)),
        over(Segments::All, twice(Pass::RawBackslashes, Pass::Decoded)),
        after_host(over(Segments::All, once(Pass::RawBackslashes))),
        after_host(over(Segments::All, twice(Pass::RawBackslashes, Pass::Slashes))),
        after_host(over(Segments::All, twice(Pass::RawBackslashes, Pass::Decoded))),
    ]
};

/// Properties of a path that make its readings differ.
pub(super) struct PathShape {
    has_host: bool,
    has_raw_backslash: bool,
    /// As [`most_dots`] returns it.
    most_dots: usize,
    /// Whether the path has parameters, or `..` that may remove an empty segment.
    has_odd_segments: bool,
}

impl PathForm {
    /// Number of forms.
    pub(crate) const COUNT: usize = 35;
    /// As it was sent.
    pub(crate) const SENT: PathForm = PathForm(0);
    /// Decoded. Keys use this form.
    pub(crate) const DECODED: PathForm = PathForm(1);

    /// All forms, in the order of their numbers.
    pub(crate) fn all() -> impl Iterator<Item = PathForm> {
        (0_u8..).take(PathForm::COUNT).map(PathForm)
    }

    /// The forms that few requests have.
    pub(crate) fn rare() -> impl Iterator<Item = PathForm> {
        PathForm::all().skip(2)
    }

    /// The number of the form.
    pub(crate) fn number(self) -> usize {
        usize::from(self.0)
    }

    pub(super) fn reading(self) -> &'static Reading {
        READINGS.get(self.number()).unwrap_or(const { &READINGS[0] })
    }

    /// The part of a path that this form is about.
    pub(super) fn part_of(self, path: &str) -> &str {
        if self.reading().is_after_host { after_host(path).unwrap_or(path) } else { path }
    }
}

impl PathShape {
    pub(super) fn of(path: &str) -> PathShape {
        let most_dots = most_dots(path.as_bytes());
        PathShape {
            has_host: after_host(path).is_some(),
            has_raw_backslash: path.contains('\\'),
            most_dots,
            has_odd_segments: path.contains(';')
                || (most_dots == 2 && (path.contains(['%', '\\']) || path.contains("//"))),
        }
    }

    /// Whether a path of this shape has the form: otherwise an earlier form is the same.
    pub(super) fn has(&self, form: PathForm) -> bool {
        let reading = form.reading();
        (self.has_host || !reading.is_after_host)
            && (self.has_odd_segments || reading.segments == Segments::Normal)
            && match reading {
                Reading { is_after_host: true, .. } => true,
                Reading { first: Pass::RawBackslashes, .. } => self.has_raw_backslash,
                Reading { second: Some(_), .. } => self.most_dots > 0,
                _ => true,
            }
    }
}

impl Segments {
    /// Whether parameters are part of their segment until dot segments were removed.
    pub(super) const fn keep_parameters(self) -> bool {
        matches!(self, Segments::All | Segments::WithParameters)
    }

    /// Whether `..` removes an empty segment.
    pub(super) const fn count_empty(self) -> bool {
        matches!(self, Segments::All | Segments::Stripped)
    }
}

impl Pass {
    fn decodes_slashes(self) -> bool {
        !matches!(self, Pass::Plain | Pass::RawBackslashes | Pass::Backslashes)
    }

    fn decodes_backslashes(self) -> bool {
        matches!(self, Pass::Backslashes | Pass::Decoded | Pass::ParametersLast)
    }

    /// Whether white space at the end of a segment is dropped, and the path ends before a NUL byte.
    fn cuts(self) -> bool {
        matches!(self, Pass::Decoded | Pass::ParametersLast)
    }
}

/// A set of forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormSet(u64);

impl FormSet {
    pub(crate) const NONE: FormSet = FormSet(0);
    /// The path as sent and no other form.
    pub(crate) const SENT: FormSet = FormSet::of(PathForm::SENT);

    /// The set of one form.
    pub(crate) const fn of(form: PathForm) -> FormSet {
        FormSet(1 << form.0)
    }

    /// The set with one more form.
    #[must_use]
    pub(crate) fn with(self, form: PathForm) -> FormSet {
        FormSet(self.0 | FormSet::of(form).0)
    }

    /// The set without the forms of the other.
    #[must_use]
    pub(crate) fn without(self, other: FormSet) -> FormSet {
        FormSet(self.0 & !other.0)
    }

    /// Its forms, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = PathForm> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let form = u8::try_from(left.trailing_zeros()).ok().filter(|_| left != 0)?;
            left &= left - 1;
            Some(PathForm(form))
        })
    }
}

/// The path after the host, if a URL parser takes the path for a reference to another host: `//host/a`, `/\host/a`.
pub(crate) fn after_host(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("//").or_else(|| path.strip_prefix("/\\"))?;
    let host = rest.trim_start_matches(['/', '\\']);
    host.get(host.find(['/', '\\']).unwrap_or(host.len())..)
}

/// Whether servers read the path in different ways: it begins with a host, has `..` beside an empty segment or parameters,
/// or has an encoded slash, a backslash, white space or a control character at the end of a segment, or a NUL byte, raw or
/// encoded.
pub(crate) fn has_several_forms(path: &str) -> bool {
    if after_host(path).is_some() {
        return true;
    }
    let splits_segments = path.bytes().any(|byte| byte == b';') || path.contains("//");
    if splits_segments && most_dots(path.as_bytes()) == 2 {
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

/// The most dots of a segment that is `.` or `..` to a server that decodes the path before it splits it; 0 if there is none.
pub(crate) fn most_dots(path: &[u8]) -> usize {
    let mut rest = path;
    let mut most = 0;
    // Dots at the beginning of the segment; `None` once it has something else.
    let mut dots = Some(0_usize);
    while !rest.is_empty() {
        let (sign, len) = meant_char(rest);
        rest = rest.get(len..).unwrap_or_default();
        let is_slash = matches!(sign, '/' | '\\');
        if is_slash || sign == ';' || is_blank(sign) {
            most = most.max(dots.filter(|dots| *dots <= 2).unwrap_or_default());
        }
        dots = match sign {
            _ if is_slash => Some(0),
            '.' => dots.map(|dots| dots + 1),
            _ => None,
        };
    }
    most.max(dots.filter(|dots| *dots <= 2).unwrap_or_default())
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

/// Writes the path without its dot segments, which remove the others as [`Segments::All`] does or, unless `counts_empty`,
/// [`Segments::WithParameters`]. Returns the length, at most one more than that of the path.
pub(super) fn write_without_dots(path: &[u8], counts_empty: bool, out: &mut [u8]) -> usize {
    let mut end = 0;
    for segment in path.strip_prefix(b"/").unwrap_or(path).split(|byte| *byte == b'/') {
        match dots_of(segment) {
            Some(1) => {}
            Some(2) => {
                end =
                    out.get(..end).and_then(|done| done.iter().rposition(|byte| *byte == b'/')).unwrap_or(0);
            }
            _ if segment.is_empty() && !counts_empty => {}
            _ => {
                put(out, end, b'/');
                for (at, byte) in segment.iter().enumerate() {
                    put(out, end + 1 + at, *byte);
                }
                end += 1 + segment.len();
            }
        }
    }
    // A slash at the end stays.
    if path.ends_with(b"/")
        || path.rsplit(|byte| *byte == b'/').next().is_some_and(|last| dots_of(last).is_some())
    {
        put(out, end, b'/');
        end += 1;
    }
    end
}

/// The number of dots that the segment consists of, raw or encoded.
fn dots_of(segment: &[u8]) -> Option<usize> {
    let (mut rest, mut dots) = (segment, 0);
    while let (b'.', len) = meant(rest) {
        dots += 1;
        rest = rest.get(len..).unwrap_or_default();
    }
    rest.is_empty().then_some(dots)
}

/// Writes the path as this pass decodes it, with real slashes, and returns the length. Parameters are stripped unless they are
/// kept for [`write_without_dots`].
pub(super) fn write_decoded(path: &[u8], pass: Pass, keeps_parameters: bool, out: &mut [u8]) -> usize {
    let (mut rest, mut end, mut is_in_parameters) = (path, 0, false);
    let mut segment_start = 0;
    let end_of_segment = |out: &[u8], start: usize, end: usize| match out.get(start..end) {
        Some(segment) if pass.cuts() => start + trimmed_len(segment),
        _ => end,
    };
    while !rest.is_empty() {
        let (byte, len) = meant(rest);
        let (bytes, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        rest = after;
        let is_slash = match byte {
            b'/' => bytes == b"/" || pass.decodes_slashes(),
            b'\\' => pass.decodes_backslashes() || (pass == Pass::RawBackslashes && bytes == b"\\"),
            _ => false,
        };
        if is_in_parameters && (!is_slash || (bytes != b"/" && pass != Pass::ParametersLast)) {
            // An encoded NUL byte within parameters ends nothing if these are stripped first.
            if byte == 0 && pass == Pass::ParametersLast {
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
        } else if byte == 0 && pass.cuts() {
            break;
        } else if bytes == b";" && !keeps_parameters {
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
