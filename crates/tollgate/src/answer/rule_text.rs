//! What header fields always say of a rule, written once for all answers.

use std::time::Duration;

use tollgate_core::{Algorithm, Span, Tokens};

use super::headers;
use super::line::Line;
use super::standing::Standing;

/// What header fields say of a rule, whatever its bucket holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleText {
    /// `"user";q=50;w=5`.
    policy: Box<str>,
    /// How much of that is the name, in quotes.
    name_bytes: usize,
}

impl RuleText {
    /// The text of a rule.
    pub(crate) fn of(rule: &str, algorithm: &Algorithm) -> RuleText {
        let name_bytes = Line::new().quoted(rule).as_str().len();
        let mut line = Line::new();
        headers::policy(&mut line, &Standing::new(rule, "", algorithm, Tokens::ZERO, Duration::ZERO));
        RuleText { policy: line.as_str().into(), name_bytes }
    }

    /// Shows `visit` the draft's two fields of an admission by this rule alone, whose bucket holds `remaining` and is full in
    /// `full_in`.
    #[inline]
    pub(crate) fn each_field(&self, remaining: Tokens, full_in: Span, visit: impl FnMut(&str, &str)) {
        headers::draft(self, remaining, full_in, visit);
    }

    /// Its name as a string of RFC 9651: `"user"`.
    pub(super) fn name(&self) -> &str {
        self.policy.get(..self.name_bytes).unwrap_or_default()
    }

    /// Its item of `RateLimit-Policy`: `"user";q=50;w=5`.
    pub(super) fn policy(&self) -> &str {
        &self.policy
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
        assert_eq!((text.name(), text.policy()), (r#""per \"user\"""#, r#""per \"user\"";q=50;w=5"#));
    }
}
