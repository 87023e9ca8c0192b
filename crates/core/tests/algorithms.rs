//! The promises of A10, and A4, A6–A9 for every algorithm, on generated cases: 10^5 steps and more of each. `proof_algorithms.rs`
//! runs millions.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

mod promises;

use promises::{
    any_input, concurrency, demands, fixed_window, leaky_bucket, leaky_changes, refunds, rulers,
    sliding_counter, sliding_counter_bounds, sliding_log,
};

#[test]
fn a_leaky_bucket_drains_evenly_and_in_order_and_bounds_queue_and_wait() {
    leaky_bucket::drains_evenly(0..1_200);
    const { assert!(1_200 * leaky_bucket::STEPS >= 100_000) };
}

#[test]
fn a_leaky_bucket_keeps_its_backlog_when_the_limit_changes() {
    leaky_changes::keep_the_backlog(0..300);
    const { assert!(300 * leaky_changes::STEPS >= 30_000) };
}

#[test]
fn a_fixed_window_follows_the_calendar() {
    fixed_window::follows_the_calendar(0..500);
    const { assert!(500 * fixed_window::STEPS >= 100_000) };
}

#[test]
fn a_fixed_window_admits_twice_the_quota_around_a_boundary_and_no_more() {
    fixed_window::admits_twice_the_quota_around_a_boundary(0..2_000);
}

#[test]
fn a_sliding_log_is_exact() {
    sliding_log::follows_the_list(0..1_000);
    const { assert!(1_000 * sliding_log::STEPS >= 100_000) };
}

#[test]
fn a_sliding_log_that_merges_entries_never_admits_more() {
    sliding_log::merging_never_admits_more(0..2);
}

#[test]
fn a_sliding_counter_equals_its_estimate() {
    sliding_counter::equals_the_estimate(0..1_000);
    const { assert!(1_000 * sliding_counter::STEPS >= 100_000) };
}

#[test]
fn a_sliding_counter_gives_nothing_to_a_slow_clock() {
    sliding_counter::words_of_neighbouring_windows_give_nothing(0..300);
}

#[test]
fn a_sliding_counter_stays_within_its_documented_bound() {
    let worst = sliding_counter_bounds::stay_within_the_documented_bound(0..1_000);
    const { assert!(1_000 * sliding_counter_bounds::STEPS >= 100_000) };
    assert!(worst.over < 1_000, "{worst:?} thousandths of the quota");
    assert!(worst.over > 900 && worst.under == 1_000, "the bounds are as tight as documented: {worst:?}");
}

#[test]
fn places_never_have_more_at_work_than_there_are() {
    concurrency::never_has_more_at_work(0..1_000);
    const { assert!(1_000 * concurrency::STEPS >= 100_000) };
}

#[test]
fn lost_places_are_safe_for_the_timeout_and_free_after_half_as_much_more() {
    concurrency::lost_places_come_back_in_time(0..5_000);
}

#[test]
fn places_give_nothing_to_a_slow_clock() {
    concurrency::words_of_the_next_generation_give_nothing(0..300);
}

#[test]
fn a_demand_leaves_what_must_be_kept() {
    demands::leave_what_must_be_kept(0..2_000);
    const { assert!(2_000 * demands::STEPS >= 100_000) };
}

#[test]
fn adjusting_a_bucket_mints_nothing_and_a_debt_never_reads_as_full() {
    demands::adjusting_mints_nothing(0..2_000);
}

#[test]
fn a_refund_leaves_no_more_than_if_nothing_had_been_charged() {
    refunds::leave_no_more_than_without_the_charge(0..5_000);
}

#[test]
fn the_words_of_a_ruler_come_back_and_damaged_ones_do_not() {
    rulers::words_come_back(0..20_000);
}

#[test]
fn a_changed_ruler_keeps_balances() {
    rulers::keep_balances(0..20_000);
}

#[test]
fn rulers_answer_anything_without_a_panic() {
    any_input::rulers_answer_anything(0..5_000);
    any_input::any_words_are_refused_or_answer_anything(0..50_000);
}

#[test]
fn logs_answer_anything_without_a_panic() {
    any_input::logs_answer_anything(0..5_000);
}
