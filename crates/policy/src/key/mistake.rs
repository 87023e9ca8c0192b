//! Why what an operator typed is no key of a rule.

use std::fmt;

/// What was typed is no key of the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMistake {
    /// What was found.
    pub what: Box<str>,
    /// What to write instead.
    pub cure: Box<str>,
}

impl KeyMistake {
    pub(super) fn new(what: impl Into<Box<str>>, cure: impl Into<Box<str>>) -> KeyMistake {
        KeyMistake { what: what.into(), cure: cure.into() }
    }
}

impl fmt::Display for KeyMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.cure)
    }
}

impl std::error::Error for KeyMistake {}
