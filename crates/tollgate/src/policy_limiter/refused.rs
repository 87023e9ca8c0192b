//! Why a policy refuses a request whatever its buckets hold.

use std::fmt;

use tollgate_core::{CHARGES_MAX, Span};

/// Why a policy refuses a request whatever its buckets hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// A rule blocks it.
    Blocked {
        /// Position of the rule in the policy.
        rule: usize,
    },
    /// It lacks a part of the key of a rule that denies such requests.
    KeyMissing {
        /// Position of the rule in the policy.
        rule: usize,
    },
    /// Its path has an encoded slash or the like, and the policy says `path_encoded: refuse`.
    PathEncoded,
    /// A kill switch is on.
    Killed {
        /// Its position in the policy.
        switch: usize,
    },
    /// More than [`CHARGES_MAX`] rules apply to it: some would not be enforced.
    TooManyRules,
    /// The shared ledger that has its buckets cannot be asked at the moment, and a rule would have nobody through then.
    LedgerDown {
        /// When to try again.
        wait: Span,
    },
    /// Its buckets are in a shared ledger, which has to be waited for: this is a fault of the program.
    NotAwaited,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Blocked { .. } => f.write_str("a rule of the policy blocks it"),
            Refused::KeyMissing { .. } => {
                f.write_str("it lacks what a rule of the policy tells clients apart by")
            }
            Refused::PathEncoded => f.write_str(
                "its path has an encoded slash, a backslash, white space at the end of a segment, a NUL byte, or `//` at the beginning",
            ),
            Refused::Killed { .. } => f.write_str("a kill switch is on"),
            Refused::TooManyRules => {
                write!(f, "more than {CHARGES_MAX} rules of the policy apply to it; narrow their `match`")
            }
            Refused::LedgerDown { .. } => f.write_str("the shared store does not answer"),
            Refused::NotAwaited => {
                f.write_str("its buckets are in a shared ledger, which has to be waited for; use `decide`")
            }
        }
    }
}
