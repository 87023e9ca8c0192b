//! What the server answers, whatever client read it.

use std::fmt;

/// A reply of the Redis protocol, as far as the scripts use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A whole number.
    Integer(i64),
    /// Bytes, or a simple string.
    Bytes(Vec<u8>),
    /// Several.
    List(Vec<Reply>),
    /// Null.
    Nothing,
    /// An error, as it stands on the wire, without its dash.
    Error(String),
}

/// A reply that is none of the scripts'. Nothing is known of what was charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyError {
    /// What was found where, and what was expected.
    pub problem: String,
}

impl ReplyError {
    pub(crate) fn new(problem: impl Into<String>) -> ReplyError {
        ReplyError { problem: problem.into() }
    }
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the server's reply is not one of Tollgate's script ({}); is something else between, or another script of that name?",
            self.problem
        )
    }
}

impl std::error::Error for ReplyError {}

/// The whole numbers of a reply, one after the other.
pub(crate) enum Integers<'r> {
    /// Those of the list.
    Listed(std::slice::Iter<'r, Reply>),
    /// Those of one of its strings, eight bytes each, big endian.
    Packed(std::slice::Iter<'r, [u8; 8]>),
}

impl<'r> Integers<'r> {
    pub(crate) fn of(reply: &'r Reply) -> Result<Integers<'r>, ReplyError> {
        match reply {
            Reply::List(list) => Ok(Integers::Listed(list.iter())),
            other => Err(ReplyError::new(format!("a list was expected, {} came", kind(other)))),
        }
    }

    pub(crate) fn next(&mut self) -> Result<i64, ReplyError> {
        let too_early = || ReplyError::new("it ends too early");
        match self {
            Integers::Packed(words) => {
                words.next().map(|word| i64::from_be_bytes(*word)).ok_or_else(too_early)
            }
            Integers::Listed(rest) => match rest.next().ok_or_else(too_early)? {
                Reply::Integer(number) => Ok(*number),
                other => Err(ReplyError::new(format!("a number was expected, {} came", kind(other)))),
            },
        }
    }

    /// The numbers that the next string holds.
    pub(crate) fn next_many(&mut self) -> Result<Integers<'r>, ReplyError> {
        let next = match self {
            Integers::Listed(rest) => rest.next(),
            Integers::Packed(_) => None,
        };
        match next {
            Some(Reply::Bytes(bytes)) => match bytes.as_chunks() {
                (words, []) => Ok(Integers::Packed(words.iter())),
                _ => Err(ReplyError::new(format!("{} bytes are no whole numbers", bytes.len()))),
            },
            Some(other) => Err(ReplyError::new(format!("a string was expected, {} came", kind(other)))),
            None => Err(ReplyError::new("it ends too early")),
        }
    }

    /// A number that is not negative.
    pub(crate) fn next_amount(&mut self) -> Result<u64, ReplyError> {
        let number = self.next()?;
        u64::try_from(number).map_err(|_| ReplyError::new(format!("{number} is negative")))
    }

    pub(crate) fn end(self) -> Result<(), ReplyError> {
        let left = match self {
            Integers::Listed(rest) => rest.len(),
            Integers::Packed(words) => words.len(),
        };
        if left == 0 { Ok(()) } else { Err(ReplyError::new("it is too long")) }
    }
}

pub(crate) fn kind(reply: &Reply) -> &'static str {
    match reply {
        Reply::Integer(_) => "a number",
        Reply::Bytes(_) => "text",
        Reply::List(_) => "a list",
        Reply::Nothing => "nothing",
        Reply::Error(_) => "an error",
    }
}
