//! The promises A1–A9 on generated cases, in a number that every `cargo test` can afford. `proof.rs` runs a million steps.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

mod properties;

use properties::{
    changes_and_restarts, clock_steps, one_bucket, several_buckets, stamped_buckets, ten_years,
};

#[test]
fn a_bucket_is_the_exact_model_to_one_micro_token() {
    one_bucket::follows_the_model(0..60);
}

#[test]
fn ten_years_of_re_basing_mint_rate_times_time() {
    ten_years::mint_rate_times_time(0..1);
}

#[test]
fn re_basing_keeps_every_fraction_of_a_micro_token() {
    ten_years::re_basing_keeps_every_fraction(0..5);
}

#[test]
fn a_clock_that_jumps_gives_nothing() {
    clock_steps::give_nothing(0..200);
}

#[test]
fn several_buckets_are_charged_all_or_none() {
    several_buckets::are_charged_all_or_none(0..40);
}

#[test]
fn a_stamped_bucket_equals_a_metered_one_under_one_limit() {
    stamped_buckets::equal_the_meter_under_one_limit(0..200);
}

#[test]
fn a_stamped_bucket_follows_the_limits_that_come_with_the_calls() {
    stamped_buckets::follow_an_exact_balance_and_stamp(0..40);
}

#[test]
fn storing_and_restarting_a_meter_keeps_every_balance() {
    changes_and_restarts::keep_every_balance(0..300);
}

#[test]
fn a_higher_rate_that_comes_with_a_call_does_not_deny() {
    stamped_buckets::are_not_denied_by_a_higher_rate(0..5_000);
}
