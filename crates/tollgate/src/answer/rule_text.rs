//! What header fields always say of a rule, written once for all answers.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_core::{Algorithm, Tokens};

use super::headers;
use super::line::Line;
use super::standing::Standing;

pub(super) const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub(super) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// What header fields say of a rule, whatever its bucket holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleText {
    /// Its name as a string of RFC 9651: `"user"`.
    pub(super) name: Box<str>,
    /// Its item of `RateLimit-Policy`: `"user";q=50;w=5`.
    pub(super) policy: HeaderValue,
    /// The draft's two fields, in this order: `RateLimit-Policy`, and `RateLimit` without a value.
    pub(super) fields: HeaderMap,
}

impl RuleText {
    /// The text of a rule.
    pub(crate) fn of(rule: &str, algorithm: &Algorithm) -> RuleText {
        let mut line = Line::new();
        headers::policy(&mut line, &Standing::new(rule, "", algorithm, Tokens::ZERO, Duration::ZERO));
        // Always one: the line is printable.
        let policy = HeaderValue::from_str(line.as_str()).unwrap_or(HeaderValue::from_static(""));
        let fields = [(RATE_LIMIT_POLICY, policy.clone()), (RATE_LIMIT, HeaderValue::from_static(""))];
        let name = Line::new().quoted(rule).as_str().into();
        RuleText { name, policy, fields: fields.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::{Burst, Limit, Rate};

    use super::*;

    #[test]
    fn it_says_what_would_be_written_each_time() {
        let limit = Algorithm::from(Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap());
        let text = RuleText::of(r#"per "user""#, &limit);
        assert_eq!(&*text.name, r#""per \"user\"""#);
        assert_eq!(text.policy, r#""per \"user\"";q=50;w=5"#);
    }
}
