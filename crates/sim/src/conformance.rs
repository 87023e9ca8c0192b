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

mod generated;
mod of_changes;
mod of_one_bucket;
mod of_several_buckets;
mod reference;
mod report;
mod stage;
mod subject;

pub use generated::{STEPS, any_limit};
pub use reference::Reference;
pub use report::{Report, Verdict};
pub use stage::{Mismatch, START};
pub use subject::{Breadth, Charge, ClockControl, Fault, KEY_BYTES_MAX, Key, Outcome, RuleId, Subject};

use stage::{Played, Stage};

/// How many histories [`run_all`] generates.
pub const HISTORIES: u64 = 100;

/// One promise, played out.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The promise in words.
    pub name: &'static str,
    /// Whether it makes sense only where the suite says what time it is.
    moves_time: bool,
    play: fn(&mut Stage<'_>) -> Played,
}

/// All scenarios, in reading order.
pub const SCENARIOS: [Scenario; 28] = [
    Scenario::moving_time("refill_is_continuous", of_one_bucket::refill_is_continuous),
    Scenario::moving_time("two_windows_gain_nothing", of_one_bucket::two_windows_gain_nothing),
    Scenario::moving_time("a_denied_check_spends_nothing", of_one_bucket::a_denied_check_spends_nothing),
    Scenario::moving_time("a_peek_spends_nothing", of_one_bucket::a_peek_spends_nothing),
    Scenario::moving_time("the_wait_is_exact", of_one_bucket::the_wait_is_exact),
    Scenario::standing_still(
        "a_cost_above_the_burst_is_never",
        of_one_bucket::a_cost_above_the_burst_is_never,
    ),
    Scenario::moving_time(
        "a_clock_that_steps_back_gives_nothing",
        of_one_bucket::a_clock_that_steps_back_gives_nothing,
    ),
    Scenario::moving_time(
        "two_nodes_a_second_apart_admit_no_more_than_one",
        of_one_bucket::two_nodes_a_second_apart_admit_no_more_than_one,
    ),
    Scenario::moving_time("the_worked_example", of_one_bucket::the_worked_example),
    Scenario::moving_time(
        "idle_time_gives_no_credit_above_the_burst",
        of_one_bucket::idle_time_gives_no_credit_above_the_burst,
    ),
    Scenario::moving_time("a_burst_of_one_limits", of_one_bucket::a_burst_of_one_limits),
    Scenario::moving_time(
        "rates_above_a_thousand_a_second_limit",
        of_one_bucket::rates_above_a_thousand_a_second_limit,
    ),
    Scenario::moving_time(
        "a_slow_bucket_is_still_limited_after_a_pause",
        of_one_bucket::a_slow_bucket_is_still_limited_after_a_pause,
    ),
    Scenario::moving_time("one_denial_charges_none", of_several_buckets::one_denial_charges_none),
    Scenario::moving_time(
        "a_denial_names_every_bucket_and_the_longest_wait",
        of_several_buckets::a_denial_names_every_bucket_and_the_longest_wait,
    ),
    Scenario::standing_still(
        "one_bucket_too_small_makes_it_never",
        of_several_buckets::one_bucket_too_small_makes_it_never,
    ),
    Scenario::moving_time(
        "the_same_bucket_twice_pays_for_both",
        of_several_buckets::the_same_bucket_twice_pays_for_both,
    ),
    Scenario::moving_time(
        "the_same_new_bucket_twice_is_judged_as_one",
        of_several_buckets::the_same_new_bucket_twice_is_judged_as_one,
    ),
    Scenario::standing_still(
        "user_42_and_address_42_do_not_share",
        of_several_buckets::user_42_and_address_42_do_not_share,
    ),
    Scenario::standing_still(
        "separators_in_keys_do_not_mix_buckets",
        of_several_buckets::separators_in_keys_do_not_mix_buckets,
    ),
    Scenario::moving_time(
        "a_batch_decides_each_check_by_itself",
        of_several_buckets::a_batch_decides_each_check_by_itself,
    ),
    Scenario::moving_time(
        "a_check_at_fault_charges_nothing",
        of_several_buckets::a_check_at_fault_charges_nothing,
    ),
    Scenario::moving_time(
        "a_new_rate_holds_from_the_change_on",
        of_changes::a_new_rate_holds_from_the_change_on,
    ),
    Scenario::moving_time(
        "a_raised_burst_is_room_and_not_tokens",
        of_changes::a_raised_burst_is_room_and_not_tokens,
    ),
    Scenario::moving_time("a_smaller_burst_clamps", of_changes::a_smaller_burst_clamps),
    Scenario::moving_time("changing_to_and_fro_mints_nothing", of_changes::changing_to_and_fro_mints_nothing),
    Scenario::moving_time(
        "a_client_that_changes_tier_keeps_its_balance",
        of_changes::a_client_that_changes_tier_keeps_its_balance,
    ),
    Scenario::moving_time(
        "a_change_of_one_tier_leaves_the_others",
        of_changes::a_change_of_one_tier_leaves_the_others,
    ),
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
    for scenario in SCENARIOS {
        report.add(scenario.name.to_owned(), scenario.run(&mut make()));
    }
    for seed in 0..HISTORIES {
        report.add(format!("generated history {seed}"), generated::run(seed, &mut make()));
    }
    report
}
