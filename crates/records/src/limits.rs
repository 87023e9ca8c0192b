//! How much of everything there may be, and the check of a text against its maximum. The migrations have the same numbers, for whoever edits by SQL.

use crate::RecordsError;

/// Longest name of an entry, a rule, a token or an author, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Longest text of an entry, in bytes.
pub const ENTRY_BYTES_MAX: usize = 64 * 1_024;
/// Longest description of an entry or a row, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 1_024;
/// Longest pattern of a row's key, and longest key or client of an order or operation, in bytes.
pub const KEY_BYTES_MAX: usize = 512;
/// Longest scope of a row, in bytes.
pub const SCOPE_BYTES_MAX: usize = 64;
/// Longest plan of a row, in bytes.
pub const PLAN_BYTES_MAX: usize = 128;
/// Longest rate, burst or amount as decimal text, in bytes.
pub const DECIMAL_BYTES_MAX: usize = 64;
/// Longest reason of an order or operation, and longest comment of a version, in bytes.
pub const REASON_BYTES_MAX: usize = 1_024;
/// Longest address that a change came from, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 64;
/// Longest text of what was before or after a change in the audit trail, in bytes; what is longer is cut, and ends in `…`.
pub const AUDIT_TEXT_BYTES_MAX: usize = 64 * 1_024;
/// Most entries of a rule set.
pub const ENTRIES_MAX: usize = 10_000;
/// Most plain rows of a rule set.
pub const ROWS_MAX: usize = 10_000;
/// Largest rule set, as a version keeps it, in bytes.
pub const RULE_SET_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Most versions that are kept; the oldest go first.
pub const VERSIONS_KEPT_MAX: i64 = 1_000;
/// How many orders ago one that ended is forgotten.
pub const ORDERS_KEPT_MAX: i64 = 200_000;
/// Most operations that are kept; the oldest go first.
pub const OPERATIONS_KEPT_MAX: i64 = 10_000;
/// Most tokens. Those that ended are forgotten where they stand in the way.
pub const TOKENS_MAX: usize = 1_000;
/// Most lines of the audit trail; the oldest go first.
pub const AUDIT_KEPT_MAX: i64 = 1_000_000;
/// Longest sheet of what an instance tells the others of who talks most, in bytes.
pub const TALKER_SHEET_BYTES_MAX: usize = 256 * 1_024;
/// Most of those sheets that one call returns.
pub const TALKER_SHEETS_MAX: usize = 256;
/// Most records that one call returns.
pub const PAGE_MAX: usize = 1_000;

/// Refuses a text that is empty, too long, or holds a NUL, which PostgreSQL cannot keep.
pub(crate) fn text(field: &'static str, value: &str, bytes_max: usize) -> Result<(), RecordsError> {
    if value.is_empty() {
        return Err(RecordsError::Invalid { field, why: "is empty; say what it is".to_owned() });
    }
    text_or_empty(field, value, bytes_max)
}

/// The same, where nothing may be said.
pub(crate) fn text_or_empty(field: &'static str, value: &str, bytes_max: usize) -> Result<(), RecordsError> {
    let bytes = value.len();
    if bytes > bytes_max {
        let why = format!("has {bytes} bytes, {bytes_max} at most; shorten it");
        return Err(RecordsError::Invalid { field, why });
    }
    if value.contains('\0') {
        return Err(RecordsError::Invalid { field, why: "holds a NUL; leave it out".to_owned() });
    }
    Ok(())
}

/// Refuses more than there may be.
pub(crate) fn count(field: &'static str, count: usize, max: usize) -> Result<(), RecordsError> {
    if count > max {
        let why = format!("would be {count}, {max} at most; end or remove some first");
        return Err(RecordsError::Invalid { field, why });
    }
    Ok(())
}

/// How many records a call returns that asks for so many, as SQL counts.
pub(crate) fn page(asked: usize) -> i64 {
    i64::try_from(asked.clamp(1, PAGE_MAX)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(value: &str, expected: &str) {
        assert_eq!(text("reason", value, 5).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_text_beyond_its_maximum_is_refused_with_both_numbers() {
        refused("sixsix", "`reason` has 6 bytes, 5 at most; shorten it");
        refused("", "`reason` is empty; say what it is");
        refused("a\0b", "`reason` holds a NUL; leave it out");
        assert!(text("reason", "fives", 5).is_ok() && text_or_empty("comment", "", 5).is_ok());
    }

    #[test]
    fn a_page_is_never_empty_and_never_endless() {
        assert_eq!((page(0), page(7), page(usize::MAX)), (1, 7, 1_000));
    }
}
