//! Header fields to be added to a response.

use http::{HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;

/// Names that the answer uses, parsed when this was compiled, so that the usual fields cost no parsing and no allocation.
static KNOWN: [(&str, HeaderName); 12] = [
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
    ("grpc-status", HeaderName::from_static("grpc-status")),
];

/// An admission has so many fields, unless the policy asks for more.
const FIELDS_USUAL: usize = 2;

/// Fields, in the order in which they were rendered.
#[derive(Debug, Default)]
pub(crate) struct Fields(SmallVec<[(HeaderName, HeaderValue); FIELDS_USUAL]>);

impl Fields {
    /// Adds one. What is no header field is left out; the answer's renderer makes none such.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        if let (Some(name), Ok(value)) = (header_name(name), HeaderValue::from_str(value)) {
            self.0.push((name, value));
        }
    }

    /// Adds all to a response, unless it has one of them already.
    #[inline]
    pub(crate) fn add_to(self, headers: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        if !headers.is_empty() && self.0.iter().any(|(name, _)| headers.contains_key(name)) {
            return;
        }
        self.write_to(headers);
    }

    /// Adds all to a response that is ours.
    pub(crate) fn write_to(self, headers: &mut HeaderMap) {
        headers.reserve(self.0.len());
        headers.extend(self.0);
    }
}

fn header_name(name: &str) -> Option<HeaderName> {
    match KNOWN.iter().find(|(known, _)| *known == name) {
        Some((_, parsed)) => Some(parsed.clone()),
        None => HeaderName::from_bytes(name.as_bytes()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_that_has_one_of_the_fields_keeps_its_own_and_gets_none() {
        let fields = || {
            let mut fields = Fields::default();
            fields.push("RateLimit-Policy", "\"a\";q=1;w=1");
            fields.push("X-Of-Ours", "2");
            fields
        };
        let mut headers = HeaderMap::new();
        fields().add_to(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"a\";q=1;w=1");
        assert_eq!(headers["x-of-ours"], "2");

        let mut own = HeaderMap::from_iter([(HeaderName::from_static("x-of-ours"), HeaderValue::from(7))]);
        fields().add_to(&mut own);
        assert_eq!((own.len(), &own["x-of-ours"]), (1, &HeaderValue::from(7)));
    }

    #[test]
    fn what_is_no_field_is_left_out() {
        let (mut fields, mut headers) = (Fields::default(), HeaderMap::new());
        fields.push("a b", "1");
        fields.push("a", "1\r\n2");
        fields.write_to(&mut headers);
        assert!(headers.is_empty());
    }
}
