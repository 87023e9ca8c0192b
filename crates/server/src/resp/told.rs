//! What became of a described request, as `TOLLGATE.CHECK` tells it: names and values, in a fixed order.

use super::reply::{Protocol, bulk, integer};

/// What the policy decided of a described request. Figures are of the bucket that has least left, or of the one to wait for
/// longest; whole tokens are rounded down, times up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// Whether to go ahead.
    pub is_admitted: bool,
    /// What an HTTP service would answer: 200 admitted, 429 denied, 403 blocked or without a key, 503 killed.
    pub status: u16,
    /// What a full bucket holds; `None` if no bucket was asked.
    pub limit: Option<u64>,
    /// What it holds now.
    pub remaining: Option<u64>,
    /// The exact wait; `None` if it was admitted, or if no wait is known to help.
    pub retry_after_ms: Option<u64>,
    /// When the bucket is full again if nobody spends; `None` if nobody can tell.
    pub reset_after_ms: Option<u64>,
    /// How long the admitted request is to be held back, by a rule that shapes; mostly 0.
    pub delay_ms: u64,
    /// Why it was not admitted, in one word for machines.
    pub reason: Option<String>,
    /// The rule that the figures are of, or that refused.
    pub rule: Option<String>,
    /// Upon what the verdict rests: `exact`, `leased` or `fallback`.
    pub mode: Option<&'static str>,
}

impl Told {
    /// Appends the map; in RESP2, its names and values in turn.
    pub(super) fn write(&self, protocol: Protocol, output: &mut Vec<u8>) {
        let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let number = |output: &mut Vec<u8>, name: &str, value: Option<u64>| {
            bulk(output, name.as_bytes());
            match value {
                Some(value) => integer(output, whole(value)),
                None => protocol.null(output),
            }
        };
        protocol.map(output, 10);
        number(output, "admitted", Some(self.is_admitted.into()));
        number(output, "status", Some(self.status.into()));
        number(output, "limit", self.limit);
        number(output, "remaining", self.remaining);
        number(output, "retry_after_ms", self.retry_after_ms);
        number(output, "reset_after_ms", self.reset_after_ms);
        number(output, "delay_ms", Some(self.delay_ms));
        let (reason, rule) = (self.reason.as_deref(), self.rule.as_deref());
        for (name, text) in [("reason", reason), ("rule", rule), ("mode", self.mode)] {
            bulk(output, name.as_bytes());
            match text {
                Some(text) => bulk(output, text.as_bytes()),
                None => protocol.null(output),
            }
        }
    }
}
