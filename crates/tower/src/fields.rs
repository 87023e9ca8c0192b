//! Header fields to be added to a response.

use std::cell::Cell;

use http::{HeaderMap, HeaderName, HeaderValue};

/// Names that admissions use, parsed when this was compiled.
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

thread_local! {
    /// The last `RateLimit-Policy`. It is the same for every admission by a rule, and costs less to share than to make.
    static LAST_POLICY: Cell<Option<HeaderValue>> = const { Cell::new(None) };
}

/// Fields, each name once.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// `RateLimit-Policy`.
    policy: Option<HeaderValue>,
    /// `RateLimit`.
    limit: Option<HeaderValue>,
    others: Vec<(HeaderName, HeaderValue)>,
}

impl Fields {
    /// Adds one. What is no header field is left out; the answer's renderer makes none such.
    #[inline]
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        match name {
            "RateLimit-Policy" => self.policy = policy(value),
            "RateLimit" => self.limit = HeaderValue::from_str(value).ok(),
            _ => self.push_other(name, value),
        }
    }

    fn push_other(&mut self, name: &str, value: &str) {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        {
            self.others.push((name, value));
        }
    }

    /// Adds all to a response, unless it has one of them already.
    #[inline]
    pub(crate) fn add_to(self, headers: &mut HeaderMap) {
        let is_there = |headers: &HeaderMap| {
            self.policy.is_some() && headers.contains_key(RATE_LIMIT_POLICY)
                || self.limit.is_some() && headers.contains_key(RATE_LIMIT)
                || self.others.iter().any(|(name, _)| headers.contains_key(name))
        };
        if headers.is_empty() || !is_there(headers) {
            self.write_to(headers);
        }
    }

    /// Adds all to a response that is ours.
    #[inline]
    pub(crate) fn write_to(self, headers: &mut HeaderMap) {
        let Fields { policy, limit, others } = self;
        let count = usize::from(policy.is_some()) + usize::from(limit.is_some()) + others.len();
        if count == 0 {
            return;
        }
        headers.reserve(count);
        if let Some(policy) = policy {
            headers.insert(RATE_LIMIT_POLICY, policy);
        }
        if let Some(limit) = limit {
            headers.insert(RATE_LIMIT, limit);
        }
        if !others.is_empty() {
            headers.extend(others);
        }
    }
}

/// A value of `RateLimit-Policy`, shared with the last one if it is the same.
#[inline]
fn policy(value: &str) -> Option<HeaderValue> {
    let made = || HeaderValue::from_str(value).ok();
    let shared = LAST_POLICY.try_with(|last| {
        let same = last.take().filter(|last| last.as_bytes() == value.as_bytes());
        let shared = same.or_else(made);
        last.set(shared.clone());
        shared
    });
    // Without one while the thread ends.
    shared.unwrap_or_else(|_| made())
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
