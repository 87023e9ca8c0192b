//! An answer as a client reads it.

use std::time::Duration;

use serde_json::Value;
use tollgate::policy::{AnswerSettings, HeaderProfiles};
use tollgate::{
    Algorithm, Answer, Answering, Burst, Limit, Outcome, Rate, Span, Standing, Tokens, Violation,
};

/// 2023-11-14T22:13:20Z.
pub(crate) const NOW: Duration = Duration::from_secs(1_700_000_000);

pub(crate) struct Told {
    pub(crate) answer: Answer,
}

/// What `client` is told with these settings.
pub(crate) fn tell(settings: &AnswerSettings, outcome: Outcome<'_>, client: &str) -> Told {
    Told { answer: Answering::new(settings, outcome, client.as_bytes(), NOW).render() }
}

impl Told {
    pub(crate) fn status(&self) -> u16 {
        self.answer.status
    }

    /// The value of the one field with this name.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.answer.headers.iter().filter(|(field, _)| &**field == name);
        let value = fields.next().map(|(_, value)| &**value);
        assert!(fields.next().is_none(), "two fields `{name}`");
        value
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.answer.headers.iter().map(|(name, _)| &**name).collect()
    }

    /// `Retry-After` in seconds.
    pub(crate) fn retry_after_s(&self) -> Option<u64> {
        self.header("Retry-After").map(|value| value.parse().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.answer.body.as_ref().unwrap().1).unwrap()
    }
}

/// A token bucket, for as long as the tests run.
pub(crate) fn bucket(per_second: u64, burst: u64) -> &'static Algorithm {
    let limit = Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap();
    Box::leak(Box::new(limit.into()))
}

/// Where a client stands with a rule of scope `user`.
pub(crate) fn standing<'a>(rule: &'a str, algorithm: &'a Algorithm, remaining_micros: u64) -> Standing<'a> {
    Standing::new(rule, "user", algorithm, Tokens::from_micros(remaining_micros), NOW)
}

/// A denial by such a rule.
pub(crate) fn violation<'a>(
    rule: &'a str,
    algorithm: &'a Algorithm,
    left_micros: u64,
    wait_ms: u64,
) -> Violation<'a> {
    Violation::new(standing(rule, algorithm, left_micros), Span::from_millis(wait_ms))
}

/// Without jitter, so that a test can name the second.
pub(crate) fn plain() -> AnswerSettings {
    AnswerSettings { jitter_percent: 0, ..AnswerSettings::default() }
}

/// The same with other header profiles.
pub(crate) fn profiles(draft: bool, legacy: bool, x: bool) -> AnswerSettings {
    AnswerSettings { headers: HeaderProfiles { draft, legacy, x }, ..plain() }
}
