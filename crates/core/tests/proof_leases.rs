//! Leases over millions of steps. Run by the gate with `--profile proof`.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    dead_code,
    reason = "scripts compute in doubles, and shares are estimates; the mistakes and loads are tested in leased.rs"
)]

mod leases;

use leases::{adversary, script_in_doubles};

#[test]
fn no_interval_is_above_the_limit_in_millions_of_steps_of_an_adversary() {
    const HISTORIES: u64 = 100_000;
    adversary::finds_no_interval_above_the_limit(0..HISTORIES);
    const { assert!(HISTORIES * adversary::STEPS >= 10 * 4_500 * 400) };
}

#[test]
fn no_interval_is_above_limits_that_change_in_millions_of_steps() {
    adversary::finds_no_interval_above_limits_that_change(0..15_000);
    const { assert!(15_000 * adversary::STEPS >= 1_000_000) };
}

#[test]
fn a_script_that_computes_in_doubles_answers_as_the_specification_in_millions_of_asks() {
    const HISTORIES: u64 = 50_000;
    script_in_doubles::answers_as_the_specification(0..HISTORIES);
    const { assert!(HISTORIES * script_in_doubles::STEPS >= 1_000_000) };
}
