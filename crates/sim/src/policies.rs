//! Any bytes, read as a policy: refused with every mistake in words, or the start of a limiter that answers.
//!
//! The body of the fuzz target `policy` and of the replay of its corpus.

use tollgate::policy::{Facts, Policy, RuleBook};
use tollgate::{Clock, Limiter, Moment};

/// Few buckets: a policy may have many rules, and crowding must not break anything.
const KEYS_MAX: usize = 64;
/// 2027-01-15T08:00:00Z: between the dates that kill switches may have.
const START_S: u64 = 1_800_000_000;

/// What became of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// It is no policy, and was said to be none.
    Refused,
    /// It is one, and the limiter worked.
    Works,
}

/// Reads `bytes` as a policy and puts requests to it.
///
/// # Panics
/// If anything in that panics, a refusal says nothing, or an explanation disagrees with the decision; that is what it is for.
pub fn run(bytes: &[u8]) -> Read {
    let text = String::from_utf8_lossy(bytes);
    let policy = match Policy::parse("fuzz.yaml", &text) {
        Ok(policy) => policy,
        Err(mistakes) => {
            assert!(mistakes.count() > 0, "refused without a mistake");
            assert!(mistakes.to_string().contains("fuzz.yaml"), "{mistakes}");
            return Read::Refused;
        }
    };
    for lint in policy.lints() {
        assert!(!lint.to_string().is_empty());
    }
    let book = RuleBook::new(policy.clone());
    let clock = Clock::manual(Moment::from_nanos(START_S * 1_000_000_000));
    // More rules than a limiter has room for are refused in words.
    let limiter = match Limiter::builder().keys_max(KEYS_MAX).clock(clock).build_with_policy(policy) {
        Ok(limiter) => limiter,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Read::Refused;
        }
    };
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = vec![field("X-Api-Key", "k"), field("Cookie", "a=b; c")];
    let twice = vec![
        field("X-Api-Key", "k"),
        field("x-api-key", "j"),
        field("Cookie", "a=b; session=1; a=c"),
        field("Cookie", "session=2"),
        field("Authorization", "Bearer a"),
        field("Authorization", "Bearer b"),
    ];
    let requests = [
        Facts::new("GET", "/"),
        Facts {
            address: Some([192, 0, 2, 1].into()),
            user: Some("ann"),
            ..Facts::new("POST", "/api/search?q=1")
        },
        Facts {
            headers: &headers,
            plan: Some("pro"),
            host: "a.example.com:80",
            ..Facts::new("X", "http://h/%2e%2e//x")
        },
        Facts {
            address: Some([192, 0, 2, 1].into()),
            headers: &twice,
            ..Facts::new("post", "/api%2fsearch%20?q=1&q=2;Q=3&page=%ff#q=4")
        },
    ];
    for facts in &requests {
        let (mut hits, explained) = (0, book.explain(facts, START_S));
        let ruling = book.rule_on(facts, START_S, |_| hits += 1);
        assert_eq!(explained.ruling, ruling);
        let decision = limiter.check(facts);
        let answer = limiter.answer(&decision, |answering| answering.render());
        assert_eq!(answer.status == 200, decision.is_admitted());
        limiter.settle(&decision, 503, |_| Some("1.5"));
    }
    Read::Works
}
