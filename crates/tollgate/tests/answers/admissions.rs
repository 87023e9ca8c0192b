//! What an admitted client is told.

use std::time::Duration;

use tollgate::policy::AnswerSettings;
use tollgate::{Answering, Concurrency, FixedWindow, Outcome, Span, Window};

use crate::counting_allocator::allocations_of;
use crate::told::{NOW, bucket, plain, profiles, standing, tell};

#[test]
fn an_admission_shows_the_tightest_bucket_and_the_time_to_full() {
    let limit = bucket(10, 50);
    let outcome = Outcome::Admitted { tightest: Some(standing("user", limit, 42_500_000)) };
    let told = tell(&profiles(true, true, true), outcome, "ann");
    assert_eq!(told.status(), 200);
    assert_eq!(told.answer.body, None);
    let fields: Vec<String> =
        told.answer.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(
        fields,
        [
            r#"RateLimit-Policy: "user";q=50;w=5"#,
            r#"RateLimit: "user";r=42;t=1"#,
            "RateLimit-Limit: 50",
            "RateLimit-Remaining: 42",
            "RateLimit-Reset: 1",
            "X-RateLimit-Limit: 50",
            "X-RateLimit-Remaining: 42",
            "X-RateLimit-Reset: 1700000001",
        ]
    );
}

#[test]
fn every_set_of_profiles_shows_its_own_fields_and_no_others() {
    let limit = bucket(10, 50);
    for set in 0..8_u8 {
        let (draft, legacy, x) = (set & 1 > 0, set & 2 > 0, set & 4 > 0);
        let outcome = Outcome::Admitted { tightest: Some(standing("user", limit, 0)) };
        let told = tell(&profiles(draft, legacy, x), outcome, "ann");
        assert_eq!(told.header("RateLimit").is_some(), draft);
        assert_eq!(told.header("RateLimit-Policy").is_some(), draft);
        assert_eq!(told.header("RateLimit-Reset").is_some(), legacy);
        assert_eq!(told.header("X-RateLimit-Reset").is_some(), x);
        assert_eq!(told.names().len(), usize::from(draft) * 2 + (usize::from(legacy) + usize::from(x)) * 3);
    }
}

#[test]
fn where_no_rule_applied_nothing_is_said() {
    let told = tell(&profiles(true, true, true), Outcome::Admitted { tightest: None }, "ann");
    assert_eq!((told.status(), told.answer.headers), (200, vec![]));
}

#[test]
fn defect_10_the_reset_is_computed_and_not_a_constant() {
    let limit = bucket(1, 60);
    for left in 0..=60 {
        let outcome = Outcome::Admitted { tightest: Some(standing("user", limit, left * 1_000_000)) };
        let told = tell(&profiles(false, true, true), outcome, "ann");
        assert_eq!(told.header("RateLimit-Reset"), Some(&*(60 - left).to_string()));
        assert_eq!(told.header("X-RateLimit-Reset"), Some(&*(1_700_000_060 - left).to_string()));
    }
    let day = FixedWindow::new(tollgate::Burst::tokens(60), Window::DAY).unwrap().into();
    let outcome = Outcome::Admitted { tightest: Some(standing("day", &day, 1_000_000)) };
    assert_eq!(tell(&plain(), outcome, "ann").header("RateLimit"), Some(r#""day";r=1;t=6400"#));
}

#[test]
fn places_have_a_unit_of_their_own_and_no_window() {
    let places = Concurrency::new(3, Span::from_secs(60)).unwrap().into();
    let outcome = Outcome::Admitted { tightest: Some(standing("exports", &places, 1_000_000)) };
    let told = tell(&profiles(true, true, false), outcome, "ann");
    assert_eq!(told.header("RateLimit-Policy"), Some(r#""exports";q=3;qu="concurrent-requests""#));
    assert_eq!(told.header("RateLimit"), Some(r#""exports";r=1"#));
    assert_eq!(told.header("RateLimit-Reset"), None);
}

#[test]
fn a_reset_told_as_a_time_of_day_is_no_earlier_than_the_bucket_is_full() {
    let (limit, settings) = (bucket(1, 60), profiles(false, false, true));
    let outcome = Outcome::Admitted { tightest: Some(standing("user", limit, 59_000_000)) };
    // 0.9 s into the second, 1 s to full: at 1.9 s, so not before the second one after.
    let answering = Answering::new(&settings, outcome, b"ann", NOW + Duration::from_millis(900));
    answering.each_header(|name, value| {
        if name == "X-RateLimit-Reset" {
            assert_eq!(value, "1700000002");
        }
    });
}

#[test]
fn an_admission_allocates_nothing() {
    let (limit, settings) = (bucket(1_000, 1_000_000_000_000), profiles(true, true, true));
    for name in ["user", &"n".repeat(128), &"\"".repeat(128)] {
        let (mut fields, mut bytes) = (0, 0);
        let calls = allocations_of(|| {
            let outcome = Outcome::Admitted { tightest: Some(standing(name, limit, 0)) };
            Answering::new(&settings, outcome, b"ann", NOW).each_header(|name, value| {
                fields += 1;
                bytes += name.len() + value.len();
            });
        });
        assert_eq!((calls, fields), (0, 8), "{bytes} bytes");
    }
}

#[test]
fn the_defaults_are_the_draft_and_a_problem() {
    let limit = bucket(10, 50);
    let outcome = Outcome::Admitted { tightest: Some(standing("user", limit, 0)) };
    let told = tell(&AnswerSettings::default(), outcome, "ann");
    assert_eq!(told.names(), ["RateLimit-Policy", "RateLimit"]);
}
