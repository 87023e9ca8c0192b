//! Where a page ended, as text that callers hand back and need not understand.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::{RecordsError, Timestamp};

/// What a cursor says first; another version of it says something else.
const KIND: &str = "v1";
/// Longest text that is looked at, in bytes.
const CURSOR_BYTES_MAX: usize = 128;

/// Where a page of violations ended. Shown as opaque text that can stand in a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViolationCursor {
    pub(super) requested_at: Timestamp,
    pub(super) violation_id: i64,
}

impl ViolationCursor {
    /// Reads what was shown. Refuses everything else.
    pub fn parse(text: &str) -> Result<ViolationCursor, RecordsError> {
        decoded(text).ok_or_else(|| RecordsError::Invalid {
            field: "cursor",
            why: "is none of ours; take it as it stands in the page before, or leave it out to begin anew"
                .to_owned(),
        })
    }
}

fn decoded(text: &str) -> Option<ViolationCursor> {
    if text.len() > CURSOR_BYTES_MAX {
        return None;
    }
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let [kind, micros, id] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    let cursor = ViolationCursor {
        requested_at: Timestamp::from_unix_micros(micros.parse().ok()?),
        violation_id: id.parse().ok()?,
    };
    (kind == KIND).then_some(cursor)
}

impl fmt::Display for ViolationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{KIND}:{}:{}", self.requested_at.unix_micros(), self.violation_id);
        f.write_str(&URL_SAFE_NO_PAD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_shown() {
        let cursor = ViolationCursor {
            requested_at: Timestamp::from_unix_micros(1_794_800_000_123_456),
            violation_id: 42,
        };
        assert_eq!(ViolationCursor::parse(&cursor.to_string()), Ok(cursor));
    }

    #[test]
    fn what_is_none_is_refused_with_the_cure() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let nasty = [
            String::new(),
            "1".to_owned(),
            "'; --".to_owned(),
            encoded("v1:1"),
            encoded("v1:1:2:3"),
            encoded("v2:1:2"),
            encoded("v1:1:99999999999999999999"),
            "A".repeat(10_000),
        ];
        for text in nasty {
            let refused = ViolationCursor::parse(&text).unwrap_err().to_string();
            assert_eq!(
                refused,
                "`cursor` is none of ours; take it as it stands in the page before, or leave it out to begin anew"
            );
        }
    }
}
