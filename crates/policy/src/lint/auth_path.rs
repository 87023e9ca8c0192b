//! Paths where secrets are guessed: logins, one-time codes, password resets.
//!
//! Fires for a rule that names such a path if no rule slows it to one request per second or less, over any longer time.
//! Reading (GET, HEAD, OPTIONS, TRACE) guesses nothing and is not judged. Knows only the paths that rules name.

use tollgate_core::{Algorithm, Span, Tokens};

use super::terms::{Atom, Term, Terms, has_segment};
use super::{Book, Lint, LintKind, Subject};
use crate::{Action, Condition, MethodSet};

/// Words that are a segment of a path, or a part of it between dashes, dots or underscores.
const WORDS: [&str; 16] = [
    "2fa",
    "auth",
    "credentials",
    "forgot",
    "logon",
    "mfa",
    "oauth",
    "oauth2",
    "otp",
    "passcode",
    "register",
    "reset",
    "signon",
    "token",
    "totp",
    "verify",
];
/// Words that tell wherever they stand in a segment.
const PARTS: [&str; 8] = ["login", "signin", "sign-in", "sign_in", "signup", "sign-up", "sign_up", "passw"];
/// More than one request in this time is not slow.
const SLOW: Span = Span::from_secs(1);

/// `lax-auth-path`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let reads = ["GET", "HEAD", "OPTIONS", "TRACE"]
        .map(MethodSet::of)
        .into_iter()
        .fold(MethodSet::NONE, MethodSet::with);
    let writes = Condition::Not(Box::new(Condition::Method(reads)));
    let writes = Terms::of(&writes);
    let slow = book.company(is_slow);
    for subject in book.rules().filter(|subject| matches!(subject.rule.action, Action::Limit(_))) {
        if subject.always_limits() && is_slow(subject) {
            continue;
        }
        let is_lax = |term: &&Term<'_>| {
            let guesses = Terms::only(term).and(&writes);
            !guesses.is_never() && !slow.limits(subject, &guesses)
        };
        if subject.terms.each().iter().filter(|term| is_auth(term)).any(|term| is_lax(&term)) {
            let message =
                "secrets can be guessed on this path, and no rule slows it to one request per second";
            let cure =
                "add a rule for this path with `preset: password-reset`, or another slow one per client";
            found.push(subject.lint(LintKind::LaxAuthPath, message, cure));
        }
    }
}

/// Whether it is about a path where secrets are guessed.
fn is_auth(term: &Term<'_>) -> bool {
    term.literals().iter().any(|literal| match &literal.atom {
        Atom::Path(test) => !literal.is_negated && has_segment(test, is_auth_segment),
        Atom::Host(_) | Atom::OneOf(..) | Atom::Value(..) => false,
    })
}

fn is_auth_segment(segment: &str) -> bool {
    PARTS.iter().any(|part| segment.contains(part))
        || segment.split(['-', '_', '.']).any(|word| WORDS.contains(&word))
}

/// Whether it admits one request per second or fewer, over any longer time.
fn is_slow(subject: &Subject<'_>) -> bool {
    let Action::Limit(algorithm) = subject.rule.action else { return false };
    let within = |quota: Tokens, window: Span| {
        let seconds_worth = u128::from(quota.as_micros()) * u128::from(SLOW.as_nanos());
        seconds_worth <= u128::from(subject.rule.cost.min.as_micros()) * u128::from(window.as_nanos())
    };
    match algorithm {
        Algorithm::TokenBucket(limit) => within(limit.minted_in(SLOW), SLOW),
        Algorithm::LeakyBucket(leaky) => within(leaky.limit().minted_in(SLOW), SLOW),
        Algorithm::FixedWindow(window) => within(window.quota(), window.window().length()),
        Algorithm::SlidingCounter(counter) => within(counter.quota(), counter.window()),
        Algorithm::SlidingLog(log) => within(log.quota(), log.window()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::{Burst, Cost, SlidingLog};

    use super::*;
    use crate::lint::built_by_hand::{all, found, limit, method, not, path, policy, rule, slow};
    use crate::{CostPlan, CostSource, Mode, Rule};

    const LAX: LintKind = LintKind::LaxAuthPath;

    fn on(text: &str) -> Rule {
        Rule { condition: path(text), ..rule("x") }
    }

    #[test]
    fn a_fast_limit_on_a_path_where_secrets_are_guessed_is_lax() {
        for text in [
            "/login",
            "/api/v1/signin",
            "/users/sign_in",
            "/password/reset",
            "/forgot-password",
            "/otp",
            "/2fa/verify",
            "/oauth/token",
            "/register",
            "/auth/*",
            "/users/{id}/passwd",
            "/account/login.php",
        ] {
            assert_eq!(found([on(text)]), [(LAX, "x".into())], "{text}");
        }
        assert_eq!(
            policy([on("/login")]).lints()[0].to_string(),
            "line 1: rule `x`: secrets can be guessed on this path, and no rule slows it to one request per second; add a \
             rule for this path with `preset: password-reset`, or another slow one per client [lax-auth-path]"
        );
    }

    #[test]
    fn other_paths_are_not_judged() {
        for text in
            ["/api/search", "/authors", "/tokens", "/presets", "/posts/{id}/pin", "/*", "/registered-users"]
        {
            assert_eq!(found([on(text)]), [], "{text}");
        }
        assert_eq!(found([Rule { condition: not(path("/login")), ..rule("x") }]), []);
    }

    #[test]
    fn a_slow_rule_of_any_algorithm_is_enough() {
        let window = SlidingLog::new(Burst::tokens(10), Span::from_secs(10)).unwrap();
        for action in [limit(1, 60), slow(3, 1_000, 5), Action::Limit(window.into())] {
            assert_eq!(found([Rule { action, ..on("/login") }]), []);
            assert_eq!(found([on("/login"), Rule { action, ..on("/login/*") }]), []);
        }
        let dear = Rule {
            cost: CostPlan {
                min: Cost::tokens(10),
                default: Cost::tokens(10),
                max: Cost::tokens(10),
                source: CostSource::Fixed,
            },
            ..on("/login")
        };
        assert_eq!(found([dear]), [], "ten tokens a second at ten each");
        let fast = SlidingLog::new(Burst::tokens(10), Span::from_secs(9)).unwrap();
        assert_eq!(found([Rule { action: Action::Limit(fast.into()), ..on("/login") }]), [(LAX, "x".into())]);
        assert_eq!(found([Rule { action: limit(2, 2), ..on("/login") }]), [(LAX, "x".into())]);
    }

    #[test]
    fn a_slow_rule_must_be_in_force_for_what_guesses() {
        let slowly = || Rule { action: limit(1, 5), ..rule("slow") };
        let posts = Rule { condition: all([path("/login"), method(&["POST"])]), ..slowly() };
        assert_eq!(found([on("/login"), posts]), [(LAX, "x".into())], "PUT may guess, too");
        let writes = Rule { condition: not(method(&["GET", "HEAD", "OPTIONS", "TRACE"])), ..slowly() };
        assert_eq!(found([on("/login"), writes]), []);
        assert_eq!(
            found([on("/login"), Rule { condition: path("/other"), ..slowly() }]),
            [(LAX, "x".into())]
        );
        assert!(found([on("/login"), Rule { mode: Mode::Shadow, ..slowly() }]).contains(&(LAX, "x".into())));
    }

    #[test]
    fn reading_guesses_nothing() {
        let form = Rule { condition: all([path("/login"), method(&["GET", "HEAD"])]), ..rule("x") };
        assert_eq!(found([form]), []);
    }
}
