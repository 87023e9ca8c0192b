//! A line as a request, with the quotes that Redis knows.
//!
//! Words are parted by white space. `"…"` may hold `\n \r \t \b \a`, `\xHH` and any other character after a backslash as itself;
//! `'…'` holds `\'` and nothing else that is special. A quote that ends must be followed by white space or nothing.

use super::args::{ARGS_KEPT_MAX, Args, Place};
use super::protocol_error::ProtocolError;

/// Words that are kept; further ones are only counted. As many as an array may have arguments.
const WORDS_KEPT_MAX: usize = 1_024;

/// The words of a line, unquoted.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: Vec<u8>,
    places: Vec<Place>,
    count: usize,
}

impl Line {
    /// Takes a line apart; `line` is without its line feed.
    pub(super) fn read(line: &[u8]) -> Result<Line, ProtocolError> {
        let mut words = Line::default();
        let mut rest = line;
        loop {
            rest = skip_space(rest);
            if rest.is_empty() {
                return Ok(words);
            }
            let start = words.text.len();
            rest = words.read_word(rest).ok_or(ProtocolError::UnbalancedQuotes)?;
            if words.count < WORDS_KEPT_MAX {
                words.places.push(Place { start, len: words.text.len() - start });
            } else {
                words.text.truncate(start);
            }
            words.count += 1;
        }
    }

    /// The words as arguments.
    pub(super) fn args(&self) -> Args<'_, '_> {
        let (places, further) = self.places.split_at(self.places.len().min(ARGS_KEPT_MAX));
        Args::new(&self.text, places, further, self.count)
    }

    /// Appends the word at the start of `rest`, and gives what follows it; `None` if a quote in it is not closed properly.
    fn read_word<'a>(&mut self, mut rest: &'a [u8]) -> Option<&'a [u8]> {
        loop {
            match rest {
                [] => return Some(rest),
                [space, ..] if is_space(*space) => return Some(rest),
                [b'"', quoted @ ..] => rest = self.read_double_quoted(quoted)?,
                [b'\'', quoted @ ..] => rest = self.read_single_quoted(quoted)?,
                [byte, after @ ..] => {
                    self.text.push(*byte);
                    rest = after;
                }
            }
        }
    }

    fn read_double_quoted<'a>(&mut self, mut rest: &'a [u8]) -> Option<&'a [u8]> {
        loop {
            let (byte, after) = match rest {
                [] => return None,
                [b'"', after @ ..] => return ends_a_word(after).then_some(after),
                [b'\\', b'x', high, low, after @ ..]
                    if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
                {
                    ((hex_value(*high) << 4) | hex_value(*low), after)
                }
                [b'\\', escaped, after @ ..] => (unescaped(*escaped), after),
                [byte, after @ ..] => (*byte, after),
            };
            self.text.push(byte);
            rest = after;
        }
    }

    fn read_single_quoted<'a>(&mut self, mut rest: &'a [u8]) -> Option<&'a [u8]> {
        loop {
            let (byte, after) = match rest {
                [] => return None,
                [b'\'', after @ ..] => return ends_a_word(after).then_some(after),
                [b'\\', b'\'', after @ ..] => (b'\'', after),
                [byte, after @ ..] => (*byte, after),
            };
            self.text.push(byte);
            rest = after;
        }
    }
}

/// What C's `isspace` says: as ASCII white space, and the vertical tab.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn ends_a_word(rest: &[u8]) -> bool {
    rest.first().is_none_or(|byte| is_space(*byte))
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

/// The value of a hexadecimal digit.
fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.saturating_sub(b'A') + 10,
    }
}

/// What follows the leading white space.
fn skip_space(bytes: &[u8]) -> &[u8] {
    let at = bytes.iter().position(|byte| !is_space(*byte)).unwrap_or(bytes.len());
    bytes.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[u8]) -> Result<Vec<Vec<u8>>, ProtocolError> {
        Line::read(line).map(|line| line.args().from(0).map(<[u8]>::to_vec).collect())
    }

    fn check(line: &str, expected: &[&str]) {
        let expected: Vec<Vec<u8>> = expected.iter().map(|word| word.as_bytes().to_vec()).collect();
        assert_eq!(words(line.as_bytes()), Ok(expected), "{line}");
    }

    #[test]
    fn words_are_parted_by_white_space() {
        check("", &[]);
        check(" \t\r", &[]);
        check("PING\r", &["PING"]);
        check("  PING \t a\x0bb ", &["PING", "a", "b"]);
        check("a\\nb c\\", &["a\\nb", "c\\"]);
    }

    #[test]
    fn quotes_hold_what_redis_says_they_hold() {
        check(r#"ping "a b""#, &["ping", "a b"]);
        check(r#"ping "\x41\n\"\q\x4""#, &["ping", "A\n\"qx4"]);
        check(r"ping 'a\'b\n'", &["ping", r"a'b\n"]);
        check("ping '' \"\"", &["ping", "", ""]);
        check(r#"ping a"b""#, &["ping", "ab"]);
        assert_eq!(words(br#""\xfF\x00""#), Ok(vec![vec![0xff, 0x00]]));
    }

    #[test]
    fn quotes_that_do_not_match_are_refused() {
        for line in [r#"ping "abc"#, r#"ping "a"b"#, "ping 'abc", "ping 'a'b", r#"ping "a\""#, r#"""""#] {
            assert_eq!(words(line.as_bytes()), Err(ProtocolError::UnbalancedQuotes), "{line}");
        }
    }

    #[test]
    fn words_beyond_those_that_are_kept_are_counted() {
        let line = Line::read("word ".repeat(2_000).as_bytes()).unwrap();
        assert_eq!((line.args().count(), line.args().from(0).count()), (2_000, ARGS_KEPT_MAX));
        assert_eq!(line.text.len(), 4 * WORDS_KEPT_MAX);
        assert!(line.args().behind_the_name().is_none());
        let line = Line::read("word ".repeat(WORDS_KEPT_MAX).as_bytes()).unwrap();
        assert_eq!(line.args().behind_the_name().map(Iterator::count), Some(WORDS_KEPT_MAX - 1));
    }
}
