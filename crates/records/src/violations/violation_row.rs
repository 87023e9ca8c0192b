//! A violation that is stored: owned, bounded, and as it will stand in the log.

use std::sync::Arc;

use super::identifiers::{Identifier, Identifiers};
use super::{MicroTokens, Violation};
use crate::{KEY_BYTES_MAX, Timestamp};

/// Longest user of a violation, in bytes; what is longer is cut, and ends in `…`.
pub const USER_BYTES_MAX: usize = 256;
/// Longest endpoint of a violation, in bytes; what is longer is cut, and ends in `…`.
pub const ENDPOINT_BYTES_MAX: usize = 512;
/// Longest reason and door of a violation, in bytes; what is longer is cut, and ends in `…`.
pub const WORD_BYTES_MAX: usize = 64;

/// What a text that was cut ends in.
const CUT: &str = "…";
const SECONDS_PER_HOUR: i64 = 3_600;

/// One row, before the database has given it a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ViolationRow {
    pub(crate) rule: Arc<str>,
    pub(crate) key: String,
    pub(crate) user: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) at: Timestamp,
    pub(crate) tokens: MicroTokens,
    pub(crate) cost: MicroTokens,
    pub(crate) reason: String,
    pub(crate) door: String,
    pub(crate) sampled_for: u64,
}

impl ViolationRow {
    /// A copy of what was told, within bounds.
    pub(crate) fn new(violation: &Violation<'_>, rule: &Arc<str>, sampled_for: u64) -> ViolationRow {
        ViolationRow {
            rule: Arc::clone(rule),
            key: bounded(violation.key, KEY_BYTES_MAX),
            user: violation.user.map(|user| bounded(user, USER_BYTES_MAX)),
            address: violation.address.map(|address| address.to_string()),
            endpoint: violation.endpoint.map(|endpoint| bounded(endpoint, ENDPOINT_BYTES_MAX)),
            at: violation.at,
            tokens: violation.tokens,
            cost: violation.cost,
            reason: bounded(violation.reason, WORD_BYTES_MAX),
            door: bounded(violation.door, WORD_BYTES_MAX),
            sampled_for,
        }
    }

    /// Its clients named as they shall be.
    pub(crate) fn named_by(self, identifiers: &Identifiers) -> ViolationRow {
        ViolationRow {
            key: identifiers.shown(Identifier::Key, self.key).unwrap_or_default(),
            user: self.user.and_then(|user| identifiers.shown(Identifier::User, user)),
            address: self.address.and_then(|address| identifiers.shown(Identifier::Address, address)),
            ..self
        }
    }

    /// Its hour since 1970.
    pub(crate) fn hour(&self) -> i64 {
        hour_of(self.at)
    }
}

/// Hours since 1970.
pub(crate) fn hour_of(at: Timestamp) -> i64 {
    at.unix_seconds().div_euclid(SECONDS_PER_HOUR)
}

/// When an hour since 1970 began.
pub(crate) fn hour_began(hour: i64) -> Timestamp {
    Timestamp::from_unix_seconds(hour.saturating_mul(SECONDS_PER_HOUR))
}

/// A text that both databases keep: no longer than it may be, and without NUL, which PostgreSQL cannot keep.
pub(crate) fn bounded(text: &str, bytes_max: usize) -> String {
    let clean = text.replace('\0', "\u{fffd}");
    if clean.len() <= bytes_max {
        return clean;
    }
    let mut end = bytes_max - CUT.len();
    while !clean.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &clean[..end])
}

#[cfg(test)]
mod tests {
    use super::{bounded, hour_began, hour_of};
    use crate::Timestamp;

    #[test]
    fn a_text_is_cut_between_characters_and_says_so() {
        assert_eq!(bounded("/short", 12), "/short");
        assert_eq!(bounded("/a-long-path/", 12), "/a-long-p…");
        assert_eq!(bounded("ääääääää", 8), "ää…");
        assert_eq!(bounded("a\0b", 8), "a\u{fffd}b");
        assert!(bounded(&"\0".repeat(100), 20).len() <= 20);
    }

    #[test]
    fn hours_begin_when_they_begin() {
        let at = Timestamp::parse("2026-11-16T05:59:59.999999Z").unwrap();
        assert_eq!(hour_began(hour_of(at)), Timestamp::parse("2026-11-16T05:00:00Z").unwrap());
    }
}
