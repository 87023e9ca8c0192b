//! Why there is no such bucket, and why nothing was done to one.

use std::error::Error;
use std::fmt;

use tollgate_policy::Rule as PolicyRule;

use crate::CheckError;
use crate::ledger::LedgerDown;

/// Most rules that a message names.
const NAMED_MAX: usize = 8;

/// Why a rule and a key name no bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoBuckets {
    /// The policy in force has no rule of that name.
    UnknownRule {
        /// The name.
        rule: Box<str>,
        /// The names of its first rules.
        known: Vec<Box<str>>,
        /// How many more it has.
        more: usize,
    },
    /// The rule blocks or allows, and charges nothing.
    ChargesNothing {
        /// Its name.
        rule: Box<str>,
    },
    /// The rule is off.
    Off {
        /// Its name.
        rule: Box<str>,
    },
    /// The key is none.
    Key(CheckError),
}

/// Why a bucket was not looked at, filled or given tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BucketError {
    /// The key is none.
    Key(CheckError),
    /// A grant of nothing.
    ZeroGrant,
    /// Buckets of this algorithm take nothing back.
    CannotGrant {
        /// Its name.
        algorithm: &'static str,
    },
    /// The shared store did not answer. It may have been done all the same.
    Down(LedgerDown),
}

impl NoBuckets {
    pub(super) fn unknown(rule: &str, rules: &[PolicyRule]) -> NoBuckets {
        let known: Vec<_> = rules.iter().take(NAMED_MAX).map(|rule| rule.name.clone()).collect();
        NoBuckets::UnknownRule { rule: rule.into(), more: rules.len() - known.len(), known }
    }
}

impl fmt::Display for NoBuckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoBuckets::UnknownRule { rule, known, more } => {
                write!(f, "`rule` is {rule:?}, which the policy in force does not have; ")?;
                match known.split_first() {
                    None => return f.write_str("it has no rules"),
                    Some((first, others)) => {
                        write!(f, "it has `{first}`")?;
                        others.iter().try_for_each(|name| write!(f, ", `{name}`"))?;
                    }
                }
                if *more > 0 { write!(f, " and {more} more") } else { Ok(()) }
            }
            NoBuckets::ChargesNothing { rule } => {
                write!(
                    f,
                    "`rule` is `{rule}`, which blocks or allows and has no buckets; name one that limits"
                )
            }
            NoBuckets::Off { rule } => {
                write!(f, "`rule` is `{rule}`, whose `mode` is off; set it to `enforce` or `shadow` first")
            }
            NoBuckets::Key(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for BucketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BucketError::Key(error) => error.fmt(f),
            BucketError::ZeroGrant => {
                f.write_str("`tokens` is 0, which gives nothing; grant more, or reset the bucket")
            }
            BucketError::CannotGrant { algorithm: algorithm @ "concurrency" } => write!(
                f,
                "`algorithm` is {algorithm}, whose places are given back by whoever took them; reset the bucket to free all of \
                 them, or raise `places`"
            ),
            BucketError::CannotGrant { algorithm } => write!(
                f,
                "`algorithm` is {algorithm}, where others have been told when to leave; reset the bucket, or raise `rate`"
            ),
            BucketError::Down(down) => down.fmt(f),
        }
    }
}

impl Error for NoBuckets {}

impl Error for BucketError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_names_the_field_the_value_and_the_cure() {
        let rule = || "client".into();
        let unknown = |known: &[&str], more| NoBuckets::UnknownRule {
            rule: "clent\n".into(),
            known: known.iter().map(|name| (*name).into()).collect(),
            more,
        };
        for (error, said) in [
            (
                unknown(&[], 0),
                r#"`rule` is "clent\n", which the policy in force does not have; it has no rules"#,
            ),
            (
                unknown(&["client", "all"], 3),
                r#"`rule` is "clent\n", which the policy in force does not have; it has `client`, `all` and 3 more"#,
            ),
            (
                NoBuckets::ChargesNothing { rule: rule() },
                "`rule` is `client`, which blocks or allows and has no buckets; name one that limits",
            ),
            (
                NoBuckets::Off { rule: rule() },
                "`rule` is `client`, whose `mode` is off; set it to `enforce` or `shadow` first",
            ),
        ] {
            assert_eq!(error.to_string(), said);
        }
        for (error, said) in [
            (BucketError::ZeroGrant, "`tokens` is 0, which gives nothing; grant more, or reset the bucket"),
            (
                BucketError::CannotGrant { algorithm: "concurrency" },
                "`algorithm` is concurrency, whose places are given back by whoever took them; reset the bucket to free all of \
                 them, or raise `places`",
            ),
            (
                BucketError::CannotGrant { algorithm: "leaky_bucket" },
                "`algorithm` is leaky_bucket, where others have been told when to leave; reset the bucket, or raise `rate`",
            ),
            (BucketError::Down(LedgerDown), "the shared store does not answer; try again in a moment"),
        ] {
            assert_eq!(error.to_string(), said);
        }
    }
}
