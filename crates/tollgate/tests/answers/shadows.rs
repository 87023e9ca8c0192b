//! Rules in shadow are never seen by clients (defect 17).

use tollgate::{Cause, Outcome, Span};

use crate::told::{bucket, profiles, standing, tell, violation};

#[test]
fn defect_17_an_admission_says_nothing_of_a_shadow() {
    let limit = bucket(10, 50);
    let outcome = Outcome::Admitted { tightest: Some(standing("secret", limit, 0).in_shadow()) };
    let told = tell(&profiles(true, true, true), outcome, "ann");
    assert_eq!((told.status(), told.answer.headers), (200, vec![]));
}

#[test]
fn defect_17_a_denial_by_shadows_alone_is_an_admission() {
    let mut secret = violation("secret", bucket(10, 50), 0, 1_000);
    secret.standing = secret.standing.in_shadow();
    let (violated, wait) = ([secret], Span::from_secs(1));
    for outcome in [
        Outcome::Denied { wait, cause: Cause::Exceeded, violated: &violated },
        Outcome::Never { violated: &violated },
    ] {
        let told = tell(&profiles(true, true, true), outcome, "ann");
        assert_eq!((told.status(), told.answer.headers, told.answer.body), (200, vec![], None));
    }
}

#[test]
fn defect_17_a_denial_names_only_the_rules_that_are_enforced() {
    let limit = bucket(10, 50);
    let mut secret = violation("secret", limit, 0, 60_000);
    secret.standing = secret.standing.in_shadow();
    let violated = [secret, violation("user", limit, 0, 1_000)];
    let outcome = Outcome::Denied { wait: Span::from_secs(1), cause: Cause::Exceeded, violated: &violated };
    let told = tell(&profiles(true, true, true), outcome, "ann");
    assert_eq!(told.header("RateLimit"), Some(r#""user";r=0;t=1"#));
    assert!(!format!("{:?}", told.answer).contains("secret"));
}
