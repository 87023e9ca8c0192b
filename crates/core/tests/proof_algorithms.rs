//! The promises of every algorithm over millions of generated steps. Run by the gate with `--profile proof`.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

mod promises;

use promises::{
    any_input, concurrency, demands, fixed_window, leaky_bucket, leaky_changes, refunds, rulers,
    sliding_counter, sliding_counter_bounds, sliding_log,
};

/// Steps of every algorithm, at the least.
const STEPS_MIN: u64 = 2_000_000;

#[test]
fn a_leaky_bucket_drains_evenly_over_millions_of_steps() {
    leaky_bucket::drains_evenly(0..STEPS_MIN / leaky_bucket::STEPS);
    leaky_changes::keep_the_backlog(0..STEPS_MIN / leaky_changes::STEPS);
}

#[test]
fn a_fixed_window_follows_the_calendar_over_millions_of_steps() {
    fixed_window::follows_the_calendar(0..STEPS_MIN / fixed_window::STEPS);
    fixed_window::admits_twice_the_quota_around_a_boundary(0..200_000);
}

#[test]
fn a_sliding_log_is_exact_over_millions_of_steps() {
    sliding_log::follows_the_list(0..STEPS_MIN / sliding_log::STEPS);
    sliding_log::merging_never_admits_more(0..40);
}

#[test]
fn a_sliding_counter_equals_its_estimate_over_millions_of_steps() {
    sliding_counter::equals_the_estimate(0..STEPS_MIN / sliding_counter::STEPS);
    sliding_counter::words_of_neighbouring_windows_give_nothing(0..STEPS_MIN / sliding_counter::STEPS);
}

#[test]
fn a_sliding_counter_stays_within_its_documented_bound_over_millions_of_steps() {
    let cases = STEPS_MIN / sliding_counter_bounds::STEPS;
    let worst = sliding_counter_bounds::stay_within_the_documented_bound(0..cases);
    println!("in thousandths of the quota, in one length of the window: {worst:?}");
    assert!(worst.over < 1_000 && worst.under == 1_000);
}

#[test]
fn places_never_have_more_at_work_over_millions_of_steps() {
    concurrency::never_has_more_at_work(0..STEPS_MIN / concurrency::STEPS);
    concurrency::lost_places_come_back_in_time(0..200_000);
    concurrency::words_of_the_next_generation_give_nothing(0..STEPS_MIN / concurrency::STEPS);
}

#[test]
fn demands_and_adjustments_mint_nothing_over_millions_of_steps() {
    demands::leave_what_must_be_kept(0..STEPS_MIN / demands::STEPS);
    demands::adjusting_mints_nothing(0..STEPS_MIN / demands::STEPS);
    refunds::leave_no_more_than_without_the_charge(0..STEPS_MIN / refunds::STEPS);
}

#[test]
fn rulers_keep_words_and_balances_in_a_million_cases() {
    rulers::words_come_back(0..1_000_000);
    rulers::keep_balances(0..1_000_000);
}

#[test]
fn rulers_and_logs_answer_anything_without_a_panic_over_millions_of_steps() {
    any_input::rulers_answer_anything(0..200_000);
    any_input::any_words_are_refused_or_answer_anything(0..2_000_000);
    any_input::logs_answer_anything(0..200_000);
}
