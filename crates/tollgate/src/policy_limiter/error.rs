//! Why a policy cannot be put in force.

use std::error::Error;
use std::fmt;

use tollgate_policy::Rule as PolicyRule;

use crate::ledger::LedgerRefusal;
use crate::{BuildError, RuleError};

/// Why a policy cannot be put in force. The one before stays.
#[derive(Debug)]
#[non_exhaustive]
pub enum PolicyError {
    /// There is no limiter to enforce it.
    Build(BuildError),
    /// The limiter refuses one of its rules.
    Rule {
        /// The rule's name.
        rule: Box<str>,
        /// Why.
        error: RuleError,
    },
    /// The shared ledger refuses one of its rules.
    Ledger {
        /// The rule's name.
        rule: Box<str>,
        /// Why.
        error: LedgerRefusal,
    },
}

impl PolicyError {
    pub(super) fn rule(rule: &PolicyRule, error: RuleError) -> PolicyError {
        PolicyError::Rule { rule: rule.name.clone(), error }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyError::Build(error) => write!(f, "{error}"),
            PolicyError::Rule { rule, error } => write!(f, "rule `{rule}` cannot be put in force: {error}"),
            PolicyError::Ledger { rule, error } => {
                write!(f, "rule `{rule}` cannot be kept in the shared store: {error}")
            }
        }
    }
}

impl Error for PolicyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PolicyError::Build(error) => Some(error),
            PolicyError::Rule { error, .. } => Some(error),
            PolicyError::Ledger { error, .. } => Some(error),
        }
    }
}
