//! The same promises over a million generated steps and more. Run by the gate with `--profile proof`.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

mod properties;

use properties::{
    changes_and_restarts, clock_steps, one_bucket, several_buckets, stamped_buckets, ten_years,
};

#[test]
fn a_bucket_is_the_exact_model_to_one_micro_token_over_a_million_steps() {
    const CASES: u64 = 6_000;
    one_bucket::follows_the_model(0..CASES);
    const { assert!(CASES * one_bucket::STEPS >= 1_000_000) };
}

#[test]
fn ten_years_of_re_basing_mint_rate_times_time_in_many_cases() {
    let checks = ten_years::mint_rate_times_time(0..5);
    assert!(checks >= 1_000_000, "{checks}");
}

#[test]
fn re_basing_keeps_every_fraction_of_a_micro_token_in_many_cases() {
    ten_years::re_basing_keeps_every_fraction(0..500);
}

#[test]
fn a_clock_that_jumps_gives_nothing_over_three_million_checks() {
    clock_steps::give_nothing(0..10_000);
}

#[test]
fn several_buckets_are_charged_all_or_none_in_many_cases() {
    several_buckets::are_charged_all_or_none(0..2_000);
}

#[test]
fn a_stamped_bucket_equals_a_metered_one_over_a_million_checks() {
    stamped_buckets::equal_the_meter_under_one_limit(0..10_000);
}

#[test]
fn a_stamped_bucket_follows_the_limits_that_come_with_the_calls_in_many_cases() {
    stamped_buckets::follow_an_exact_balance_and_stamp(0..2_000);
}

#[test]
fn storing_and_restarting_a_meter_keeps_every_balance_in_many_cases() {
    changes_and_restarts::keep_every_balance(0..20_000);
}

#[test]
fn a_higher_rate_that_comes_with_a_call_does_not_deny_in_many_cases() {
    stamped_buckets::are_not_denied_by_a_higher_rate(0..1_000_000);
}
