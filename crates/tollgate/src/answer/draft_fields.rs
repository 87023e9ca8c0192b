//! The two header fields of the draft for an admission by one token bucket (H2), as values to keep until the response comes.
//!
//! Promises what [`super::Answering::each_header`] says of the same admission.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use tollgate_core::{Span, Tokens};

use super::headers::service_limit;
use super::line::Line;
use super::rule_text::{RATE_LIMIT, RATE_LIMIT_POLICY, RuleText};
use super::standing::seconds_up;

/// `RateLimit-Policy: "user";q=50;w=5` and `RateLimit: "user";r=42;t=1`, in printable ASCII. Written when the response is there: it is
/// small to carry about until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFields {
    text: Arc<RuleText>,
    /// Whole tokens.
    remaining: u64,
    /// Until the bucket is full.
    reset_s: u64,
}

impl DraftFields {
    /// Those of a rule whose bucket holds `remaining` and is full in `full_in`.
    #[inline]
    pub(crate) fn new(text: &Arc<RuleText>, remaining: Tokens, full_in: Span) -> DraftFields {
        let (text, remaining, reset_s) = (Arc::clone(text), remaining.whole(), seconds_up(full_in));
        DraftFields { text, remaining, reset_s }
    }

    /// Adds both to the fields of a response, unless it has one of them already.
    #[inline]
    pub fn add_to(&self, headers: &mut HeaderMap) {
        let Ok(limit) = HeaderValue::from_str(self.line().as_str()) else { return };
        if headers.is_empty() {
            // No name has to be hashed.
            headers.clone_from(&self.text.fields);
            if let Some(value) = headers.values_mut().nth(1) {
                *value = limit;
            }
        } else if !headers.contains_key(RATE_LIMIT_POLICY) && !headers.contains_key(RATE_LIMIT) {
            headers.reserve(2);
            headers.insert(RATE_LIMIT_POLICY, self.text.policy.clone());
            headers.insert(RATE_LIMIT, limit);
        }
    }

    #[inline]
    fn line(&self) -> Line {
        let mut line = Line::new();
        line.literal(&self.text.name);
        service_limit(&mut line, self.remaining, Some(self.reset_s));
        line
    }

    /// Shows each field to `visit`.
    pub(crate) fn each(&self, mut visit: impl FnMut(&str, &str)) {
        visit("RateLimit-Policy", str::from_utf8(self.text.policy.as_bytes()).unwrap_or_default());
        visit("RateLimit", self.line().as_str());
    }
}
