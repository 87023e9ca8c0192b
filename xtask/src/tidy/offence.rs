//! One breach of a rule.

use std::fmt;

/// Where a rule is broken, and what to do about it.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Offence {
    path: String,
    line: usize,
    message: String,
}

impl Offence {
    /// A breach at a line of a file, counted from 1.
    pub(super) fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }

    /// A breach by the file as a whole.
    pub(super) fn of_file(path: &str, message: impl Into<String>) -> Self {
        Self::at(path, 1, message)
    }
}

/// `path:line: message`, which editors and terminals turn into a link.
impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}
