//! One request out of the bytes of a connection, whatever pieces they come in.
//!
//! A request that is not yet complete is not parsed again from its start: where parsing stopped is remembered, so that a client
//! who sends byte by byte costs no more than one who does not. It copies nothing and knows no command.

use super::Limits;
use super::args::{ARGS_KEPT_MAX, Args, Place};
use super::protocol_error::ProtocolError;

/// Digits of a length; any number with more is above every limit.
const DIGITS_MAX: usize = 10;

/// The request at the start of the unconsumed bytes, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// How many arguments it has; 0 as long as that is not known.
    announced: usize,
    /// How many of them were seen.
    seen: usize,
    /// The byte to go on at: a `$`, or the first of an inline command that was not searched for its end.
    cursor: usize,
    places: [Place; ARGS_KEPT_MAX],
    /// Of the arguments behind those; nearly always nothing.
    further: Vec<Place>,
}

/// What stands at the start of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsed {
    /// The beginning of a request, or nothing.
    Incomplete,
    /// A request without arguments, which has no reply.
    Empty {
        /// Its length.
        bytes: usize,
    },
    /// An array of bulk strings: see [`Frame::args`].
    Array {
        /// Its length.
        bytes: usize,
    },
    /// A line.
    Inline {
        /// Its length without the line feed, which is one byte more.
        line: usize,
    },
}

impl Frame {
    /// Forgets the request, to begin with the next one.
    #[inline]
    pub(super) fn restart(&mut self) {
        (self.announced, self.seen, self.cursor) = (0, 0, 0);
        // A connection that once had much to say does not keep the room for it.
        if self.further.capacity() > 0 {
            self.further = Vec::new();
        }
    }

    /// Reads on. `input` must start where it did in the last call, unless the frame was restarted since.
    #[inline]
    pub(super) fn parse(
        &mut self,
        input: &[u8],
        limits: &Limits,
        is_authenticated: bool,
    ) -> Result<Parsed, ProtocolError> {
        if self.announced == 0 {
            let (announced, end) = match input {
                // Nearly all requests have fewer than ten arguments.
                [b'*', ones @ b'1'..=b'9', b'\r', b'\n', ..] => (digit(*ones), 4),
                [b'*', ..] => match read_length(input, 1) {
                    Length::Incomplete => return Ok(Parsed::Incomplete),
                    Length::Malformed => return Err(ProtocolError::InvalidMultibulkLength),
                    Length::Negative { end } | Length::Value { value: 0, end } => {
                        return Ok(Parsed::Empty { bytes: end });
                    }
                    Length::Value { value, end } => (value, end),
                },
                [_, ..] => return self.parse_line(input, limits),
                [] => return Ok(Parsed::Incomplete),
            };
            if announced > limits.args_max {
                return Err(ProtocolError::InvalidMultibulkLength);
            }
            if !is_authenticated && announced > limits.unauthenticated_args_max {
                return Err(ProtocolError::UnauthenticatedMultibulkLength);
            }
            (self.announced, self.cursor) = (announced, end);
        }
        self.parse_arguments(input, limits, is_authenticated)
    }

    /// The arguments of a complete array that `input` starts with.
    #[inline]
    pub(super) fn args<'b>(&self, input: &'b [u8]) -> Args<'b, '_> {
        let kept = self.places.get(..self.seen).unwrap_or(&self.places);
        Args::new(input, kept, &self.further, self.seen)
    }

    #[inline]
    fn parse_arguments(
        &mut self,
        input: &[u8],
        limits: &Limits,
        is_authenticated: bool,
    ) -> Result<Parsed, ProtocolError> {
        while self.seen < self.announced {
            let (len, start) = match input.get(self.cursor..) {
                // Nearly all lengths have one digit or two.
                Some([b'$', ones @ b'1'..=b'9', b'\r', b'\n', ..]) => (digit(*ones), self.cursor + 4),
                Some([b'$', tens @ b'1'..=b'9', ones @ b'0'..=b'9', b'\r', b'\n', ..]) => {
                    (digit(*tens) * 10 + digit(*ones), self.cursor + 5)
                }
                // A length that does not end within the longest request is not waited for.
                Some([b'$', ..]) => {
                    match read_length(up_to(input, limits.frame_bytes_max), self.cursor + 1) {
                        Length::Incomplete if input.len() >= limits.frame_bytes_max => {
                            return Err(ProtocolError::TooBigRequest);
                        }
                        Length::Incomplete => return Ok(Parsed::Incomplete),
                        Length::Malformed | Length::Negative { .. } => {
                            return Err(ProtocolError::InvalidBulkLength);
                        }
                        Length::Value { value, end } => (value, end),
                    }
                }
                Some([found, ..]) => return Err(ProtocolError::ExpectedBulk(*found)),
                Some([]) | None => return Ok(Parsed::Incomplete),
            };
            if len > limits.bulk_bytes_max {
                return Err(ProtocolError::InvalidBulkLength);
            }
            if !is_authenticated && len > limits.unauthenticated_bulk_bytes_max {
                return Err(ProtocolError::UnauthenticatedBulkLength);
            }
            let next = start.saturating_add(len).saturating_add(2);
            if next > limits.frame_bytes_max {
                return Err(ProtocolError::TooBigRequest);
            }
            match input.get(next - 2..next) {
                None => return Ok(Parsed::Incomplete),
                Some(b"\r\n") => {}
                Some(_) => return Err(ProtocolError::ExpectedLineEnd),
            }
            match self.places.get_mut(self.seen) {
                Some(place) => *place = Place { start, len },
                None => self.further.push(Place { start, len }),
            }
            self.seen += 1;
            self.cursor = next;
        }
        Ok(Parsed::Array { bytes: self.cursor })
    }

    fn parse_line(&mut self, input: &[u8], limits: &Limits) -> Result<Parsed, ProtocolError> {
        let fresh = input.get(self.cursor..).unwrap_or_default();
        let line = fresh.iter().position(|&byte| byte == b'\n').map(|at| self.cursor + at);
        match line {
            Some(line) if line <= limits.inline_bytes_max => Ok(Parsed::Inline { line }),
            None if input.len() <= limits.inline_bytes_max => {
                self.cursor = input.len();
                Ok(Parsed::Incomplete)
            }
            Some(_) | None => Err(ProtocolError::TooBigInlineRequest),
        }
    }
}

/// A number and a line end, as they stand after `*` and `$`.
enum Length {
    Incomplete,
    /// Not what Redis takes for a number: no digits, a sign `+`, a leading zero, too many digits, another line end.
    Malformed,
    Negative {
        end: usize,
    },
    Value {
        value: usize,
        /// The first byte after the line end.
        end: usize,
    },
}

/// The number at `at` and its line end.
fn read_length(input: &[u8], at: usize) -> Length {
    let is_negative = input.get(at) == Some(&b'-');
    let first = at + usize::from(is_negative);
    let text = input.get(first..).unwrap_or_default();
    let mut value = 0_usize;
    for (digits, &byte) in text.iter().enumerate() {
        match byte {
            // Ten digits fit in 64 bits; in 32 they are above every limit.
            b'0'..=b'9' if digits < DIGITS_MAX => {
                value = value.saturating_mul(10).saturating_add(digit(byte));
            }
            b'\r' if digits > 0 => {
                let has_leading_zero = text.first() == Some(&b'0') && (digits > 1 || is_negative);
                let end = first + digits + 2;
                return match text.get(digits + 1) {
                    None => Length::Incomplete,
                    Some(b'\n') if has_leading_zero => Length::Malformed,
                    Some(b'\n') if is_negative => Length::Negative { end },
                    Some(b'\n') => Length::Value { value, end },
                    Some(_) => Length::Malformed,
                };
            }
            _ => return Length::Malformed,
        }
    }
    Length::Incomplete
}

fn up_to(input: &[u8], bytes_max: usize) -> &[u8] {
    input.get(..bytes_max).unwrap_or(input)
}

fn digit(byte: u8) -> usize {
    usize::from(byte - b'0')
}
