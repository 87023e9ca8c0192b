//! White space and control characters around a value, which some servers strip and others keep.
//!
//! Bytes are read as UTF-8, and a byte that is not UTF-8 as Latin-1: a server that decodes a header by Latin-1 strips
//! `\xa0`. The last byte of a letter, as in `\xc3\xa0`, is part of the letter.

/// Whether some server strips this character at the ends of a value.
pub(crate) fn is_blank(sign: char) -> bool {
    sign.is_whitespace() || sign.is_control() || sign == '\u{feff}'
}

/// The first character and its length in bytes; `None` at the end.
pub(crate) fn first_char(bytes: &[u8]) -> Option<(char, usize)> {
    #[cfg(test)]
    crate::steps::count();
    let latin1 = (char::from(*bytes.first()?), 1);
    if latin1.0.is_ascii() {
        return Some(latin1);
    }
    Some((2..=4).find_map(|len| only_char(bytes.get(..len)?)).unwrap_or(latin1))
}

/// The last character and its length in bytes; `None` if there is none.
fn last_char(bytes: &[u8]) -> Option<(char, usize)> {
    #[cfg(test)]
    crate::steps::count();
    let latin1 = (char::from(*bytes.last()?), 1);
    if latin1.0.is_ascii() {
        return Some(latin1);
    }
    let ends = (2..=4).filter_map(|len| bytes.len().checked_sub(len).and_then(|at| bytes.get(at..)));
    Some(ends.into_iter().find_map(only_char).unwrap_or(latin1))
}

/// The character that these bytes are in UTF-8, if they are one, and its length.
fn only_char(bytes: &[u8]) -> Option<(char, usize)> {
    let mut signs = str::from_utf8(bytes).ok()?.chars();
    let only = signs.next()?;
    signs.next().is_none().then_some((only, bytes.len()))
}

/// All characters, each with the position after it.
pub(crate) fn chars(bytes: &[u8]) -> impl Iterator<Item = (char, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (sign, len) = first_char(bytes.get(at..)?)?;
        at += len;
        Some((sign, at))
    })
}

/// The bytes without the white space and control characters at their ends.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    trim_end(trim_start(bytes))
}

/// The bytes without the white space and control characters at the beginning.
pub(crate) fn trim_start(mut bytes: &[u8]) -> &[u8] {
    while let Some((sign, len)) = first_char(bytes)
        && is_blank(sign)
    {
        bytes = bytes.get(len..).unwrap_or_default();
    }
    bytes
}

/// The bytes without the white space and control characters at the end.
pub(crate) fn trim_end(mut bytes: &[u8]) -> &[u8] {
    while let Some((sign, len)) = last_char(bytes)
        && is_blank(sign)
    {
        bytes = bytes.get(..bytes.len() - len).unwrap_or_default();
    }
    bytes
}
