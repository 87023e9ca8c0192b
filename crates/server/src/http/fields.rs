//! Header fields to be added to a response.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Names that answers use, parsed when this was compiled.
static KNOWN: [(&str, HeaderName); 11] = [
    ("RateLimit-Policy", HeaderName::from_static("ratelimit-policy")),
    ("RateLimit", HeaderName::from_static("ratelimit")),
    ("Retry-After", HeaderName::from_static("retry-after")),
    ("Cache-Control", HeaderName::from_static("cache-control")),
    ("Tollgate-Reason", HeaderName::from_static("tollgate-reason")),
    ("RateLimit-Limit", HeaderName::from_static("ratelimit-limit")),
    ("RateLimit-Remaining", HeaderName::from_static("ratelimit-remaining")),
    ("RateLimit-Reset", HeaderName::from_static("ratelimit-reset")),
    ("X-RateLimit-Limit", HeaderName::from_static("x-ratelimit-limit")),
    ("X-RateLimit-Remaining", HeaderName::from_static("x-ratelimit-remaining")),
    ("X-RateLimit-Reset", HeaderName::from_static("x-ratelimit-reset")),
];

/// Fields, in the order in which they were rendered.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(HeaderName, HeaderValue)>);

impl Fields {
    /// Adds one. What is no header field is left out; the answer's renderer makes none such.
    pub(super) fn push(&mut self, name: &str, value: &str) {
        let name = match KNOWN.iter().find(|(known, _)| *known == name) {
            Some((_, parsed)) => Some(parsed.clone()),
            None => HeaderName::from_bytes(name.as_bytes()).ok(),
        };
        if let (Some(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            self.0.push((name, value));
        }
    }

    /// Adds all to a response.
    pub(super) fn write_to(self, headers: &mut HeaderMap) {
        headers.reserve(self.0.len());
        headers.extend(self.0);
    }
}
