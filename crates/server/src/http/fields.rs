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
pub(super) struct Fields(HeaderMap);

/// Fields that a response has at most where nothing is unusual: room is made for them at once.
const USUAL: usize = 6;

impl Fields {
    /// Adds one. What is no header field is left out; the answer's renderer makes none such.
    pub(super) fn push(&mut self, name: &str, value: &str) {
        let name = match KNOWN.iter().find(|(known, _)| *known == name) {
            Some((_, parsed)) => Some(parsed.clone()),
            None => HeaderName::from_bytes(name.as_bytes()).ok(),
        };
        if let (Some(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            if self.0.is_empty() {
                self.0.reserve(USUAL);
            }
            self.0.append(name, value);
        }
    }

    /// As the header of a response.
    pub(super) fn into_header(self) -> HeaderMap {
        self.0
    }
}
