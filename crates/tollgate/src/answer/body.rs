//! The body of a denial: RFC 9457, or the plain object that some clients expect.

use tollgate_core::CHARGES_MAX;
use tollgate_policy::BodyProfile;

use super::json::Object;
use super::retry::millis_up;
use super::{Answering, Outcome, Refusal, RefusalKind, detail};

/// Media type, and text; `None` if it was admitted.
pub(super) fn render(answering: &Answering<'_>) -> Option<(&'static str, String)> {
    let reason = answering.reason()?;
    Some(match answering.settings.body {
        BodyProfile::Problem => ("application/problem+json", problem(answering, reason)),
        BodyProfile::Simple => ("application/json", simple(answering, reason)),
    })
}

/// As RFC 9457 has it; `None` if it was admitted.
pub(super) fn problem_of(answering: &Answering<'_>) -> Option<String> {
    answering.reason().map(|reason| problem(answering, reason))
}

fn problem(answering: &Answering<'_>, reason: &str) -> String {
    let outcome = &answering.outcome;
    let (kind, title) = problem_type(outcome);
    let violated = || outcome.violated().take(CHARGES_MAX);
    let mut object = Object::new();
    object.member("type", kind).member("title", title).member("status", answering.status());
    object.member("detail", detail::of(answering));
    if violated().next().is_some() {
        let names: Vec<&str> = violated().map(|violation| violation.standing.rule()).collect();
        object.member("violated-policies", names);
    }
    object.member("admitted", false).member("mode", answering.mode.name()).member("reason", reason);
    object.optional("remaining", outcome.standing().map(|standing| standing.remaining()));
    object.optional("retry_after_ms", answering.retry.map(|retry| retry.exact_ms()));
    object.objects(
        "violated",
        violated().map(|violation| {
            let mut one = Object::new();
            one.member("rule", violation.standing.rule()).member("scope", violation.standing.scope());
            // The wait of a rule that can never admit means nothing.
            one.optional("retry_after_ms", answering.retry.map(|_| millis_up(violation.wait)));
            one
        }),
    );
    object.finish()
}

fn simple(answering: &Answering<'_>, reason: &str) -> String {
    let mut object = Object::new();
    object.member("error", reason).member("message", detail::of(answering));
    object.optional("retryAfter", answering.retry_after_s());
    object.optional("retry_after_ms", answering.retry.map(|retry| retry.exact_ms()));
    object
        .optional("violated_tier", answering.outcome.decisive().map(|violation| violation.standing.scope()));
    object.finish()
}

/// Its address and its title, which never changes with the occurrence.
const fn problem_type(outcome: &Outcome<'_>) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Unavailable { .. } => (
            "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
            "Request cannot be satisfied due to temporary server capacity constraints",
        ),
        // Of a problem without a type of its own, the title is the status's.
        Outcome::Refused(Refusal { kind: RefusalKind::Blocked | RefusalKind::KeyMissing, .. }) => {
            ("about:blank", "Forbidden")
        }
        Outcome::Refused(Refusal { kind: RefusalKind::PathEncoded, .. }) => ("about:blank", "Bad Request"),
        Outcome::Refused(_) => ("about:blank", "Service Unavailable"),
        Outcome::Denied { .. } | Outcome::Never { .. } | Outcome::Admitted { .. } => (
            "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "Request cannot be satisfied as assigned quota has been exceeded",
        ),
    }
}
