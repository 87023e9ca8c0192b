//! The two header fields of the draft for an admission by one token bucket (H2), as values to keep until the response comes.
//!
//! Promises what [`super::Answering::each_header`] says of the same admission.

use http::HeaderValue;
use tollgate_core::{Span, Tokens};

use super::headers::service_limit;
use super::line::Line;
use super::rule_text::RuleText;
use super::standing::seconds_up;

/// The values of `RateLimit-Policy` and `RateLimit`, in printable ASCII.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFields {
    /// `RateLimit-Policy`: `"user";q=50;w=5`. All admissions by one rule share it.
    pub policy: HeaderValue,
    /// `RateLimit`: `"user";r=42;t=1`.
    pub limit: HeaderValue,
}

impl DraftFields {
    /// Those of a rule whose bucket holds `remaining` and is full in `full_in`. Always some: names of rules are printable.
    #[inline]
    pub(crate) fn new(text: &RuleText, remaining: Tokens, full_in: Span) -> Option<DraftFields> {
        let mut line = Line::new();
        line.literal(&text.name);
        service_limit(&mut line, remaining.whole(), Some(seconds_up(full_in)));
        Some(DraftFields { policy: text.policy.clone()?, limit: HeaderValue::from_str(line.as_str()).ok()? })
    }

    /// Shows each field to `visit`.
    pub(crate) fn each(&self, mut visit: impl FnMut(&str, &str)) {
        for (name, value) in [("RateLimit-Policy", &self.policy), ("RateLimit", &self.limit)] {
            visit(name, str::from_utf8(value.as_bytes()).unwrap_or_default());
        }
    }
}
