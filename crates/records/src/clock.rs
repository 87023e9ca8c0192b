//! The one place of the filing room that reads a clock: what is filed has a date.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::Timestamp;

/// What time it is by the machine's wall clock.
#[expect(clippy::disallowed_methods, reason = "the date of a record; nothing is decided by it but expiry")]
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(since_1970)
}
