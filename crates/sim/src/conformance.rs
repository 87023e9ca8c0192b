//! The conformance suite: it defines what a store is (S6).
//!
//! Named scenarios, one for each promise, and generated histories that are compared step by step with [`Reference`]. A
//! store passes all of it or is none. The suite does not know threads: it is about answers, not about races.
//!
//! ```
//! use tollgate_sim::conformance::{Reference, run_all};
//!
//! let report = run_all(Reference::new);
//! assert!(report.conforms(), "{report}");
//! ```

mod action;
mod answer;
mod generated;
mod of_changes;
mod of_gifts;
mod of_one_bucket;
mod of_other_algorithms;
mod of_places;
mod of_priorities;
mod of_reservations;
mod of_retries;
mod of_several_buckets;
mod of_sliding_windows;
mod precision;
mod reference;
mod report;
mod stage;
mod subject;

pub use action::{Action, Answer};
pub use answer::{Fault, Given, Left, Outcome, SettleFault, Settled};
pub use generated::{STEPS, any_algorithm, any_limit};
pub use precision::Precision;
pub use reference::Reference;
pub use report::{Report, Verdict};
pub use stage::{Mismatch, START};
pub use subject::{Breadth, Charge, ClockControl, KEY_BYTES_MAX, Key, RuleId, Settlement, Subject, Ticket};

use stage::{Played, Stage};

/// How many histories [`run_all`] generates.
pub const HISTORIES: usize = 200;

/// One promise, played out.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The promise in words.
    pub name: &'static str,
    /// Whether it makes sense only where the suite says what time it is.
    moves_time: bool,
    play: fn(&mut Stage<'_>) -> Played,
}

/// Scenarios in reading order, each named as its function.
macro_rules! scenarios {
    ($($constructor:ident $file:ident::$name:ident,)*) => {
        &[$(Scenario::$constructor(stringify!($name), $file::$name),)*]
    };
}

/// All scenarios.
pub const SCENARIOS: &[Scenario] = scenarios![
    moving_time of_one_bucket::refill_is_continuous,
    moving_time of_one_bucket::two_windows_gain_nothing,
    moving_time of_one_bucket::a_denied_check_spends_nothing,
    moving_time of_one_bucket::a_peek_spends_nothing,
    moving_time of_one_bucket::the_wait_is_exact,
    standing_still of_one_bucket::a_cost_above_the_burst_is_never,
    moving_time of_one_bucket::a_clock_that_steps_back_gives_nothing,
    moving_time of_one_bucket::two_nodes_a_second_apart_admit_no_more_than_one,
    moving_time of_one_bucket::the_worked_example,
    moving_time of_one_bucket::idle_time_gives_no_credit_above_the_burst,
    moving_time of_one_bucket::a_burst_of_one_limits,
    moving_time of_one_bucket::rates_above_a_thousand_a_second_limit,
    moving_time of_one_bucket::a_slow_bucket_is_still_limited_after_a_pause,
    moving_time of_several_buckets::one_denial_charges_none,
    moving_time of_several_buckets::a_denial_names_every_bucket_and_the_longest_wait,
    standing_still of_several_buckets::one_bucket_too_small_makes_it_never,
    moving_time of_several_buckets::the_same_bucket_twice_pays_for_both,
    moving_time of_several_buckets::the_same_new_bucket_twice_is_judged_as_one,
    standing_still of_several_buckets::user_42_and_address_42_do_not_share,
    standing_still of_several_buckets::separators_in_keys_do_not_mix_buckets,
    moving_time of_several_buckets::a_batch_decides_each_check_by_itself,
    moving_time of_several_buckets::a_check_at_fault_charges_nothing,
    moving_time of_changes::a_new_rate_holds_from_the_change_on,
    moving_time of_changes::a_raised_burst_is_room_and_not_tokens,
    moving_time of_changes::a_smaller_burst_clamps,
    moving_time of_changes::changing_to_and_fro_mints_nothing,
    moving_time of_changes::a_client_that_changes_tier_keeps_its_balance,
    moving_time of_changes::a_change_of_one_tier_leaves_the_others,
    moving_time of_other_algorithms::a_leaky_bucket_lets_out_evenly,
    moving_time of_other_algorithms::a_leaky_bucket_makes_nobody_wait_too_long,
    moving_time of_other_algorithms::a_leaky_queue_survives_a_change,
    moving_time of_other_algorithms::a_fixed_window_refills_at_its_boundary,
    moving_time of_other_algorithms::a_monthly_quota_refills_on_the_first,
    moving_time of_other_algorithms::a_changed_quota_gives_nothing_in_this_window,
    moving_time of_other_algorithms::another_algorithm_is_refused,
    moving_time of_other_algorithms::one_denial_among_algorithms_charges_none,
    moving_time of_sliding_windows::a_sliding_log_admits_its_quota_in_every_window,
    moving_time of_sliding_windows::a_sliding_log_knows_no_boundary,
    moving_time of_sliding_windows::a_sliding_counter_fades_evenly,
    moving_time of_sliding_windows::a_sliding_counter_rounds_costs_up,
    moving_time of_sliding_windows::a_new_quota_of_a_sliding_window_holds_at_once,
    moving_time of_places::a_place_left_is_free_again,
    moving_time of_places::a_lost_place_is_free_after_its_timeout,
    moving_time of_places::a_place_lost_is_not_given_back_twice,
    moving_time of_places::a_place_needs_somebody_to_give_it_back,
    moving_time of_places::a_part_of_a_place_is_a_place,
    moving_time of_places::fewer_places_let_nobody_in,
    moving_time of_places::a_reset_frees_places,
    moving_time of_reservations::a_reservation_settled_below_its_estimate_gives_the_rest_back,
    moving_time of_reservations::a_reservation_settled_above_its_estimate_becomes_debt_repaid_first,
    moving_time of_reservations::debt_beyond_the_maximum_is_forgiven,
    moving_time of_reservations::a_cancelled_reservation_never_gives_more_than_if_never_made,
    moving_time of_reservations::an_unsettled_reservation_stands_at_its_estimate,
    moving_time of_reservations::a_second_settlement_is_refused,
    moving_time of_reservations::a_denied_reservation_charges_nothing,
    moving_time of_reservations::several_buckets_are_settled_each_at_its_cost,
    moving_time of_reservations::a_settlement_gives_back_only_what_still_counts,
    moving_time of_reservations::a_settled_reservation_gives_its_places_back,
    moving_time of_reservations::a_reset_forgives_what_was_reserved_once,
    moving_time of_gifts::a_refund_never_overfills,
    moving_time of_gifts::a_grant_repays_debt_first,
    moving_time of_gifts::a_reset_fills_the_bucket,
    moving_time of_gifts::a_balance_is_what_can_be_spent,
    moving_time of_gifts::a_gift_at_fault_is_refused,
    moving_time of_retries::an_idempotency_key_charges_once,
    moving_time of_retries::an_idempotency_key_stands_for_one_check,
    moving_time of_retries::a_denied_check_is_not_remembered,
    moving_time of_priorities::critical_traffic_is_denied_last,
    moving_time of_priorities::a_priority_is_told_what_it_may_spend,
    moving_time of_priorities::several_charges_leave_alone_what_each_must,
];

impl Scenario {
    const fn moving_time(name: &'static str, play: fn(&mut Stage<'_>) -> Played) -> Scenario {
        Scenario { name, moves_time: true, play }
    }

    /// True even if a little time passes between its steps.
    const fn standing_still(name: &'static str, play: fn(&mut Stage<'_>) -> Played) -> Scenario {
        Scenario { name, moves_time: false, play }
    }

    /// Plays it on a fresh store.
    pub fn run(&self, subject: &mut dyn Subject) -> Verdict {
        if self.moves_time && subject.clock() == ClockControl::OfTheStore {
            return Verdict::Skipped;
        }
        match (self.play)(&mut Stage::new(subject)) {
            Ok(()) => Verdict::Kept,
            Err(mismatch) => Verdict::Broken(mismatch),
        }
    }
}

/// Runs every scenario and [`HISTORIES`] generated histories, each on a store of its own.
pub fn run_all<S: Subject>(make: impl Fn() -> S) -> Report {
    let mut report = Report::default();
    for (name, verdict) in runs(make) {
        report.add(name, verdict);
    }
    report
}

/// Plays the generated history of one seed: to look into what a report says of it.
pub fn run_history(seed: u64, subject: &mut dyn Subject) -> Verdict {
    generated::run(seed, subject)
}

/// The same one by one, for those who want to know only whether anything is broken.
pub fn runs<S: Subject>(make: impl Fn() -> S) -> impl Iterator<Item = (String, Verdict)> {
    (0..SCENARIOS.len() + HISTORIES).map(move |run| {
        if let Some(scenario) = SCENARIOS.get(run) {
            return (scenario.name.to_owned(), scenario.run(&mut make()));
        }
        let seed = (run - SCENARIOS.len()) as u64;
        (format!("generated history {seed}"), run_history(seed, &mut make()))
    })
}
