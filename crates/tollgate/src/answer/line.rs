//! The value of a header field, put together on the stack.
//!
//! Whatever is written, it holds printable ASCII alone: any other character becomes a question mark, so no value can end its
//! field early.

use arrayvec::ArrayString;

use crate::NAME_BYTES_MAX;

/// What fits without the heap: any one rule's name, every character of it escaped, with its figures.
const STACK_BYTES: usize = 320;

/// A value that is being written.
pub(super) struct Line {
    stack: ArrayString<STACK_BYTES>,
    /// All of it, once it is longer than the stack has room for.
    heap: String,
}

impl Line {
    #[inline]
    pub(super) const fn new() -> Line {
        Line { stack: ArrayString::new_const(), heap: String::new() }
    }

    /// A string of RFC 9651, of at most [`NAME_BYTES_MAX`] characters: in quotes, with quotes and backslashes escaped.
    pub(super) fn quoted(&mut self, text: &str) -> &mut Line {
        self.put("\"");
        if text.len() <= NAME_BYTES_MAX && text.bytes().all(is_plain) {
            self.put(text);
        } else {
            self.escaped(text);
        }
        self.put("\"");
        self
    }

    #[cold]
    fn escaped(&mut self, text: &str) {
        for c in text.chars().take(NAME_BYTES_MAX) {
            if matches!(c, '"' | '\\') {
                self.put("\\");
            }
            self.push(c);
        }
    }

    /// Plain text of at most `chars_max` characters, without space around it.
    pub(super) fn text(&mut self, text: &str, chars_max: usize) -> &mut Line {
        let text = text.trim();
        let end = text.char_indices().nth(chars_max).map_or(text.len(), |(end, _)| end);
        text[..end].trim_end().chars().for_each(|c| self.push(c));
        self
    }

    /// Text that is known to be printable.
    #[inline]
    pub(super) fn literal(&mut self, text: &str) -> &mut Line {
        debug_assert!(text.bytes().all(is_printable), "{text:?}");
        self.put(text);
        self
    }

    /// A number in decimal.
    #[inline]
    pub(super) fn number(&mut self, number: u64) -> &mut Line {
        self.put(itoa::Buffer::new().format(number));
        self
    }

    #[inline]
    pub(super) fn as_str(&self) -> &str {
        if self.heap.is_empty() { &self.stack } else { &self.heap }
    }

    fn push(&mut self, c: char) {
        let byte = u8::try_from(c).ok().filter(|byte| is_printable(*byte)).unwrap_or(b'?');
        self.put(char::from(byte).encode_utf8(&mut [0]));
    }

    /// Adds what is printable.
    #[inline]
    fn put(&mut self, text: &str) {
        if !self.heap.is_empty() || self.stack.try_push_str(text).is_err() {
            self.spill(text);
        }
    }

    #[cold]
    fn spill(&mut self, text: &str) {
        if self.heap.is_empty() {
            self.heap.push_str(&self.stack);
        }
        self.heap.push_str(text);
    }
}

/// Whether a byte stands for itself within quotes.
const fn is_plain(byte: u8) -> bool {
    is_printable(byte) && !matches!(byte, b'"' | b'\\')
}

const fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_structured_strings() {
        assert_eq!(Line::new().quoted(r#"a "b" \c"#).as_str(), r#""a \"b\" \\c""#);
        assert_eq!(Line::new().quoted("a\r\nSet-Cookie: b\u{7f}é").as_str(), "\"a??Set-Cookie: b??\"");
        assert_eq!(Line::new().quoted(&"n".repeat(1_000)).as_str().len(), NAME_BYTES_MAX + 2);
    }

    #[test]
    fn text_has_a_maximum_and_no_space_around_it() {
        assert_eq!(Line::new().text("  two words \n", 100).as_str(), "two words");
        assert_eq!(Line::new().text("two words", 4).as_str(), "two");
        assert_eq!(Line::new().text("größer\0", 100).as_str(), "gr??er?");
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for number in [0, 1, 9, 10, 99, 100, 1_000_000, u64::MAX - 1, u64::MAX] {
            assert_eq!(Line::new().number(number).as_str(), number.to_string());
        }
    }

    #[test]
    fn a_line_longer_than_the_stack_is_whole() {
        let numbers: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
        let mut line = Line::new();
        for (index, number) in numbers.iter().enumerate() {
            line.literal(if index == 0 { "" } else { "," }).literal(number);
        }
        assert_eq!(line.as_str(), numbers.join(","));
    }
}
