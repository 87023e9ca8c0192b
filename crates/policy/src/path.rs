//! One spelling for every path (K6), so that variants of one path meet one rule.
//!
//! Promises that normalising twice changes nothing. No request allocates unless its path is unusual and long: longer than
//! half of [`PATH_BYTES_ON_STACK`], or a tenth if it has encoded separators. Such a path is
//! normalised on the heap, exactly, never cut off (the listener bounds targets). Knows nothing of patterns.

mod form;

use arrayvec::ArrayVec;

pub(crate) use form::{FormSet, PathForm, after_host, has_several_forms, meant, most_dots, without_blanks};
use form::{Pass, PathShape, Reading, Segments, write_decoded, write_without_dots};

/// Room for the two views of a path that is not normal as it came, in bytes; longer ones go to the heap.
const PATH_BYTES_ON_STACK: usize = 4_096;

/// Number of the rarer forms.
const RARE_FORMS: usize = PathForm::COUNT - 2;

/// The path of a request in its one spelling, seen in four ways: with or without case, with or without a final slash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormalPath<'p> {
    cased: &'p str,
    folded: &'p str,
}

/// Where a path is written that is not normal as it came.
#[derive(Debug, Default)]
pub(crate) struct PathRoom {
    stack: ArrayVec<u8, PATH_BYTES_ON_STACK>,
    heap: Vec<u8>,
}

/// A path in the rarer forms, each if the path has it.
pub(crate) type RarePaths<'p> = [Option<NormalPath<'p>>; RARE_FORMS];

/// The one spelling of `target`'s path, for literal patterns: what a request's path is compared with.
///
/// Query and fragment are stripped, unreserved characters percent-decoded and all others that are not allowed in a path
/// percent-encoded in upper case, `//` collapsed, `;parameters` stripped, then dot segments removed; a trailing slash and
/// case are folded unless told otherwise. `*` stays `*`; an absolute target loses its scheme and host.
pub fn normal_path(target: &str, is_case_sensitive: bool, keeps_trailing_slash: bool) -> String {
    NormalPath::of(target, &mut PathRoom::default()).view(is_case_sensitive, keeps_trailing_slash).to_owned()
}

impl<'p> NormalPath<'p> {
    /// `/`.
    pub(crate) const ROOT: NormalPath<'static> = NormalPath { cased: "/", folded: "/" };

    /// The path of a request's target: `/a?b`, `http://host/a?b` or `*`. Anything else is read as if it began with `/`.
    pub(crate) fn of(target: &'p str, room: &'p mut PathRoom) -> NormalPath<'p> {
        let path = path_of(target);
        if path == "*" {
            return NormalPath { cased: path, folded: path };
        }
        let spelling = Spelling::of(path.as_bytes());
        if spelling.is_normal && !spelling.has_upper_case {
            return NormalPath { cased: path, folded: path };
        }
        let (first, second) = room.halves(spelling.normal_bytes_max);
        let cased = if spelling.is_normal {
            path
        } else {
            let len = write_normal(path.as_bytes(), first, false);
            text(first, len)
        };
        NormalPath::of_cased(cased, second)
    }

    /// The decoded form of a target's path. Nothing is decoded twice.
    pub(crate) fn decoded(target: &str, room: &'p mut PathRoom) -> NormalPath<'p> {
        let path = path_of(target);
        let bytes = Spelling::of(path.as_bytes()).normal_bytes_max;
        NormalPath::in_form(path, PathForm::DECODED, room.halves(bytes))
    }

    /// The rarer forms of a target's path.
    pub(crate) fn rare(target: &str, room: &'p mut PathRoom) -> RarePaths<'p> {
        let path = path_of(target);
        let shape = PathShape::of(path);
        let bytes = Spelling::of(path.as_bytes()).normal_bytes_max;
        let count = PathForm::rare().filter(|form| shape.has(*form)).count();
        let mut rooms = room.slice(2 * bytes * count).chunks_exact_mut(2 * bytes);
        let mut forms = PathForm::rare();
        std::array::from_fn(|_| {
            let form = forms.next().filter(|form| shape.has(*form))?;
            Some(NormalPath::in_form(path, form, rooms.next()?.split_at_mut(bytes)))
        })
    }

    fn in_form(
        path: &str,
        form: PathForm,
        (mut to, mut from): (&'p mut [u8], &'p mut [u8]),
    ) -> NormalPath<'p> {
        let Reading { first, segments, second, .. } = *form.reading();
        let mut len = write_decoded(form.part_of(path).as_bytes(), first, segments.keep_parameters(), from);
        if segments != Segments::Normal {
            len = write_without_dots(from.get(..len).unwrap_or_default(), segments.count_empty(), to);
            std::mem::swap(&mut from, &mut to);
        }
        len = write_normal(from.get(..len).unwrap_or_default(), to, first == Pass::Dotted);
        if let Some(pass) = second {
            len = write_decoded(to.get(..len).unwrap_or_default(), pass, false, from);
            len = write_normal(from.get(..len).unwrap_or_default(), to, pass == Pass::Dotted);
        }
        NormalPath::of_cased(text(to, len), from)
    }

    /// The path with its view without case, which is written into `room`.
    fn of_cased(cased: &'p str, room: &'p mut [u8]) -> NormalPath<'p> {
        let folded = room.get_mut(..cased.len()).unwrap_or_default();
        folded.copy_from_slice(cased.as_bytes().get(..folded.len()).unwrap_or_default());
        folded.make_ascii_lowercase();
        let len = folded.len();
        NormalPath { cased, folded: text(folded, len) }
    }

    /// Whether both are the same in every view.
    pub(crate) fn is(self, other: NormalPath<'_>) -> bool {
        self.cased == other.cased
    }

    /// The path as strictly as asked for.
    pub(crate) fn view(self, is_case_sensitive: bool, keeps_trailing_slash: bool) -> &'p str {
        let path = if is_case_sensitive { self.cased } else { self.folded };
        match path.strip_suffix('/') {
            Some(trimmed) if !keeps_trailing_slash && !trimmed.is_empty() => trimmed,
            _ => path,
        }
    }

    /// The path with all folded: what keys and the index take.
    pub(crate) fn folded(self) -> &'p str {
        self.view(false, false)
    }
}

impl PathRoom {
    /// Two rooms of `bytes` each.
    fn halves(&mut self, bytes: usize) -> (&mut [u8], &mut [u8]) {
        self.slice(2 * bytes).split_at_mut(bytes)
    }

    /// A room of `bytes`.
    fn slice(&mut self, bytes: usize) -> &mut [u8] {
        if bytes <= PATH_BYTES_ON_STACK {
            self.stack.clear();
            self.stack.extend(std::iter::repeat_n(0, bytes));
            &mut self.stack
        } else {
            self.heap = vec![0; bytes];
            &mut self.heap
        }
    }
}

/// What of the target is the path, as it came.
pub(crate) fn path_of(target: &str) -> &str {
    if let Some((_, path)) = split_absolute(target) {
        return path;
    }
    let end = target.bytes().position(|byte| matches!(byte, b'?' | b'#'));
    end.and_then(|end| target.get(..end)).unwrap_or(target)
}

/// The authority and path of an absolute target, `http://host:80/path?query`; `None` if it is of another form.
pub(crate) fn split_absolute(target: &str) -> Option<(&str, &str)> {
    if target.starts_with('/') {
        return None;
    }
    let (scheme, rest) = target.split(['?', '#']).next()?.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then(|| rest.split_at(rest.find('/').unwrap_or(rest.len())))
}

/// What one look over a path says of its spelling.
struct Spelling {
    /// But perhaps for its case. Some normal paths are not recognised, such as `/a%20b`: they are rewritten as they are.
    is_normal: bool,
    has_upper_case: bool,
    /// No more bytes than this are needed to write the normal form.
    normal_bytes_max: usize,
}

impl Spelling {
    fn of(path: &[u8]) -> Spelling {
        let (mut is_normal, mut kinds, mut to_encode) = (true, 0, 0);
        let mut before = 0;
        for &byte in path {
            let kind = KINDS[usize::from(byte)];
            kinds |= kind;
            to_encode += usize::from(kind & SPECIAL);
            // A segment that is empty or begins with a dot may have to go.
            is_normal &= !(before == b'/' && (byte == b'/' || byte == b'.'));
            before = byte;
        }
        is_normal &= kinds & SPECIAL == 0 && path.first() == Some(&b'/');
        // A slash before and a slash after the path may have to be added; a bare `%` becomes three bytes.
        let normal_bytes_max = path.len() + 2 * to_encode + 4;
        Spelling { is_normal, has_upper_case: kinds & UPPER_CASE != 0, normal_bytes_max }
    }
}

/// In [`KINDS`]: it has a meaning of its own or is not allowed in a path.
const SPECIAL: u8 = 1;
/// In [`KINDS`]: it has another case.
const UPPER_CASE: u8 = 2;

/// What kind of byte each is, looked up for every byte of every path.
const KINDS: [u8; 256] = {
    let (mut kinds, mut byte) = ([0; 256], 0_u8);
    loop {
        let special = if is_plain(byte) || byte == b'/' { 0 } else { SPECIAL };
        let upper_case = if byte.is_ascii_uppercase() { UPPER_CASE } else { 0 };
        kinds[byte as usize] = special | upper_case;
        if byte == u8::MAX {
            break kinds;
        }
        byte += 1;
    }
};

/// Writes the normal form of `path`, perhaps with its dot segments, and returns its length.
fn write_normal(path: &[u8], out: &mut [u8], keeps_dots: bool) -> usize {
    let mut end = 0;
    let mut is_open = true;
    for segment in path.split(|byte| *byte == b'/') {
        let segment_end = write_segment(segment, out, end + 1);
        match out.get(end + 1..segment_end).unwrap_or_default() {
            b"" => is_open = true,
            b"." if !keeps_dots => is_open = true,
            b".." if !keeps_dots => {
                end =
                    out.get(..end).and_then(|done| done.iter().rposition(|byte| *byte == b'/')).unwrap_or(0);
                is_open = true;
            }
            _ => {
                put(out, end, b'/');
                end = segment_end;
                is_open = false;
            }
        }
    }
    if is_open {
        put(out, end, b'/');
        end += 1;
    }
    end
}

/// Writes one segment without its parameters from `at` on, and tells where it ends.
fn write_segment(segment: &[u8], out: &mut [u8], mut at: usize) -> usize {
    let mut rest = segment;
    while let [byte, after @ ..] = rest {
        rest = after;
        let mut byte = *byte;
        if byte == b';' {
            break;
        }
        let mut is_plain = is_plain(byte);
        if let (b'%', [high, low, after @ ..]) = (byte, after)
            && let (Some(high), Some(low)) = (hex_value(*high), hex_value(*low))
        {
            byte = high << 4 | low;
            is_plain = is_unreserved(byte);
            rest = after;
        }
        if is_plain {
            put(out, at, byte);
            at += 1;
        } else {
            put(out, at, b'%');
            put(out, at + 1, hex_digit(byte >> 4));
            put(out, at + 2, hex_digit(byte & 15));
            at += 3;
        }
    }
    at
}

/// Allowed in a segment as it is, and without a meaning of its own.
const fn is_plain(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(byte, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b'=' | b':' | b'@')
}

const fn is_unreserved(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~')
}

/// The value of a hexadecimal digit of either case.
pub(crate) fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn hex_digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'A' + value - 10 }
}

fn put(out: &mut [u8], at: usize, byte: u8) {
    debug_assert!(at < out.len(), "the room was measured for the path");
    if let Some(slot) = out.get_mut(at) {
        *slot = byte;
    }
}

/// What was written is ASCII, so this never falls back.
fn text(bytes: &[u8], len: usize) -> &str {
    bytes.get(..len).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or("/")
}

#[cfg(test)]
mod tests;
