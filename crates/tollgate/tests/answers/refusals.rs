//! What is told to requests that no bucket was asked about, and when the store is out.

use tollgate::policy::{AnswerSettings, BodyProfile};
use tollgate::{Outcome, Refusal, RefusalKind, Span};

use crate::told::{Told, plain, profiles, tell};

const RESTING: Refusal<'_> = Refusal {
    kind: RefusalKind::KillSwitch,
    by: "exports",
    reason: None,
    message: Some("Exports rest until the disk is replaced."),
    expires_in_s: None,
};

fn refused(refusal: Refusal<'_>) -> Told {
    tell(&profiles(true, true, true), Outcome::Refused(refusal), "ann")
}

#[test]
fn a_kill_switch_is_503_and_says_when_it_ends_if_that_is_known() {
    let told = refused(RESTING);
    assert_eq!((told.status(), told.header("Retry-After")), (503, None));
    assert_eq!(told.names(), ["Cache-Control", "Tollgate-Reason"], "no bucket, so no figures");
    assert_eq!(told.header("Tollgate-Reason"), Some("kill_switch"));
    assert_eq!(told.json()["detail"], "Exports rest until the disk is replaced.");
    assert_eq!(told.json()["title"], "Service Unavailable");

    let told = refused(Refusal { expires_in_s: Some(90), ..RESTING });
    assert_eq!(told.retry_after_s(), Some(90));
    assert_eq!(told.json()["retry_after_ms"], 90_000);
    assert_eq!(refused(Refusal { expires_in_s: Some(0), ..RESTING }).retry_after_s(), Some(1));
}

#[test]
fn blocked_clients_and_those_without_a_key_are_forbidden() {
    let blocked = Refusal { kind: RefusalKind::Blocked, by: "bad-bots", message: None, ..RESTING };
    let told = refused(blocked);
    assert_eq!((told.status(), told.header("Retry-After")), (403, None));
    assert_eq!(told.header("Tollgate-Reason"), Some("blocked"));
    assert_eq!(told.json()["detail"], "Rule `bad-bots` blocks the request.");
    assert_eq!(told.json()["type"], "about:blank");
    assert_eq!(
        refused(Refusal { reason: Some("robot"), ..blocked }).header("Tollgate-Reason"),
        Some("robot")
    );

    let told = refused(Refusal { kind: RefusalKind::KeyMissing, by: "api-key", ..blocked });
    assert_eq!((told.status(), told.header("Tollgate-Reason")), (403, Some("key_missing")));
    assert_eq!(told.json()["detail"], "The request lacks what rule `api-key` knows its client by.");
}

#[test]
fn more_rules_than_can_be_enforced_is_503() {
    let told = refused(Refusal { kind: RefusalKind::TooManyRules, by: "", message: None, ..RESTING });
    assert_eq!((told.status(), told.header("Tollgate-Reason")), (503, Some("too_many_rules")));
}

#[test]
fn a_refused_path_is_400_and_says_what_is_wrong() {
    let told = refused(Refusal { kind: RefusalKind::PathEncoded, by: "default", message: None, ..RESTING });
    assert_eq!((told.status(), told.header("Tollgate-Reason")), (400, Some("path_encoded")));
    let body = told.json();
    assert_eq!((body["type"].as_str(), body["title"].as_str()), (Some("about:blank"), Some("Bad Request")));
    assert!(body["detail"].as_str().is_some_and(|detail| detail.contains("an encoded slash")), "{body}");
}

#[test]
fn a_store_that_is_out_is_503_with_a_wait_and_its_own_problem_type() {
    let told = tell(&plain(), Outcome::Unavailable { wait: Span::from_millis(250) }, "ann");
    assert_eq!((told.status(), told.retry_after_s()), (503, Some(1)));
    assert_eq!(told.header("Tollgate-Reason"), Some("store_unavailable"));
    let body = told.json();
    assert_eq!(body["type"], "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity");
    assert_eq!((body["status"].as_u64(), body["retry_after_ms"].as_u64()), (Some(503), Some(250)));
}

#[test]
fn the_simple_body_does_for_refusals_too() {
    let settings = AnswerSettings { body: BodyProfile::Simple, ..plain() };
    let body = tell(&settings, Outcome::Refused(RESTING), "ann").json();
    assert_eq!(body["error"], "kill_switch");
    assert_eq!((body.get("retryAfter"), body.get("violated_tier")), (None, None));
}
