//! What an answer of a ledger comes to, and why a settlement failed, in words.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::{Answer, SettleFault};
use crate::{StoreMode, Verdict};

impl Answer {
    /// Whether to go ahead.
    pub const fn is_admitted(&self) -> bool {
        matches!(self, Answer::Decided { verdict: Verdict::Admit { .. }, .. })
    }

    /// What was decided; `None` where the store did not answer and nobody is let through then.
    pub const fn verdict(&self) -> Option<Verdict> {
        match self {
            Answer::Decided { verdict, .. } => Some(*verdict),
            Answer::Unavailable { .. } => None,
        }
    }

    /// Upon what it rests.
    pub const fn mode(&self) -> StoreMode {
        match self {
            Answer::Decided { mode, .. } => *mode,
            Answer::Unavailable { .. } => StoreMode::Fallback,
        }
    }

    /// How long to wait before trying again; `None` if it was admitted, or if waiting does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Answer::Decided { verdict, .. } => verdict.retry_after(),
            Answer::Unavailable { wait } => Some((*wait).into()),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Decided { verdict, .. } => verdict.fmt(f),
            Answer::Unavailable { wait } => {
                write!(f, "refused, since the shared store does not answer; retry in {wait}")
            }
        }
    }
}

impl fmt::Display for SettleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettleFault::Refused(error) => error.fmt(f),
            SettleFault::Down(down) => down.fmt(f),
        }
    }
}

impl Error for SettleFault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            SettleFault::Refused(error) => Some(error),
            SettleFault::Down(down) => Some(down),
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::{BucketSet, Span, Tokens};

    use super::*;
    use crate::Cause;
    use crate::ledger::LedgerDown;

    #[test]
    fn an_answer_says_whether_to_go_ahead_how_long_to_wait_and_what_it_rests_upon() {
        let remaining = Tokens::ZERO;
        let decided = |verdict| Answer::Decided { verdict, buckets: Vec::new(), mode: StoreMode::Exact };
        let admitted = decided(Verdict::Admit { remaining, delay: Span::ZERO });
        assert!(admitted.is_admitted() && admitted.retry_after().is_none());
        assert_eq!((admitted.to_string().as_str(), admitted.mode()), ("admitted, 0 left", StoreMode::Exact));

        let (wait, denied) = (Span::from_secs(3), BucketSet::of(0));
        let denied = decided(Verdict::Deny { wait, remaining, denied, cause: Cause::Exceeded });
        assert!(!denied.is_admitted() && denied.verdict().is_some());
        assert_eq!(denied.retry_after(), Some(Duration::from_secs(3)));

        let refused = Answer::Unavailable { wait };
        assert!(!refused.is_admitted() && refused.verdict().is_none());
        assert_eq!((refused.retry_after(), refused.mode()), (Some(wait.into()), StoreMode::Fallback));
        assert_eq!(refused.to_string(), "refused, since the shared store does not answer; retry in 3s");
        let down = SettleFault::Down(LedgerDown);
        assert_eq!(down.to_string(), "the shared store does not answer; try again in a moment");
    }
}
