//! Why nothing was opened by a URL, or a rule not declared. A store that is not there is no such reason: it may come.

use std::error::Error;
use std::fmt;

use tollgate::ledger::LedgerRefusal;
use tollgate::{NAME_BYTES_MAX, PolicyError};

use crate::shared_limiter::RULES_MAX;
use crate::{LimitRefused, StoreUrlError, TlsError};

/// Why nothing was opened by a URL. Each message says what to do instead; none has a password in it.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL means no store.
    Url(StoreUrlError),
    /// The files that TLS needs cannot be used.
    Tls(TlsError),
    /// It was not called within a Tokio runtime.
    NoRuntime,
    /// The policy cannot be put in force there.
    Policy(PolicyError),
}

/// Why a rule cannot be kept in the shared store. The rule of that name stays as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedRuleError {
    /// A rule without a name.
    EmptyName,
    /// A name above [`NAME_BYTES_MAX`].
    NameTooLong {
        /// Its length.
        bytes: usize,
    },
    /// More than [`RULES_MAX`] names.
    TooManyRules,
    /// The store cannot keep the limit exactly.
    Limit(LimitRefused),
    /// The ledger's settings are at fault.
    Ledger(LedgerRefusal),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Url(error) => error.fmt(f),
            OpenError::Tls(error) => error.fmt(f),
            OpenError::NoRuntime => f.write_str(
                "a shared store needs a Tokio runtime; open it within one, as in `#[tokio::main]`",
            ),
            OpenError::Policy(error) => error.fmt(f),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            OpenError::Url(error) => Some(error),
            OpenError::Tls(error) => Some(error),
            OpenError::NoRuntime => None,
            OpenError::Policy(error) => Some(error),
        }
    }
}

impl fmt::Display for SharedRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyName => {
                f.write_str("`name` is empty; name the rule, for instance after what it protects")
            }
            Self::NameTooLong { bytes } => {
                write!(f, "`name` has {bytes} bytes; use at most {NAME_BYTES_MAX}")
            }
            Self::TooManyRules => write!(
                f,
                "`name` would be one of more than {RULES_MAX} in this limiter; for limits of single clients use explicit buckets"
            ),
            Self::Limit(refused) => refused.fmt(f),
            Self::Ledger(refusal) => refusal.fmt(f),
        }
    }
}

impl Error for SharedRuleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_says_what_to_do() {
        let url = OpenError::Url(crate::StoreUrl::parse("localhost").unwrap_err());
        assert!(url.to_string().contains("redis://"), "{url}");
        assert!(OpenError::NoRuntime.to_string().contains("#[tokio::main]"));
        let long = SharedRuleError::NameTooLong { bytes: 129 };
        assert_eq!(long.to_string(), "`name` has 129 bytes; use at most 128");
        assert!(SharedRuleError::TooManyRules.to_string().contains("10000"));
        assert!(SharedRuleError::EmptyName.to_string().contains("name the rule"));
    }
}
