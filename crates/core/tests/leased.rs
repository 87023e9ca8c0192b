//! Leases (S4, PROTOCOLS 6) on generated histories, in a number that every `cargo test` can afford. `proof_leases.rs` runs more.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "scripts compute in doubles, and shares are estimates"
)]

mod leases;

use leases::mistake::Mistake;
use leases::saturation::{Load, Outcome, of_any_suited_rule, under};
use leases::{adversary, script_in_doubles};

#[test]
fn no_interval_is_above_the_limit_whatever_is_lost_doubled_or_late_and_whoever_crashes() {
    adversary::finds_no_interval_above_the_limit(0..4_500);
}

#[test]
fn no_interval_is_above_limits_that_change() {
    adversary::finds_no_interval_above_limits_that_change(0..1_500);
}

#[test]
fn every_known_way_to_get_leases_wrong_is_caught() {
    for mistake in Mistake::ALL {
        assert!(adversary::finds(mistake, 0..3_000), "{mistake:?} goes unnoticed");
    }
}

#[test]
fn a_script_that_computes_in_doubles_answers_as_the_specification() {
    script_in_doubles::answers_as_the_specification(0..3_000);
}

fn assert_well_used(load: &Load<'_>) {
    let Outcome { utilisation, round_trips_per_check, judgement, .. } = under(load, 1);
    judgement.assert_kept();
    let demands = load.demands;
    assert!(utilisation >= 0.97, "{demands:?}: {utilisation}");
    assert!(round_trips_per_check <= 0.05, "{demands:?}: {round_trips_per_check}");
}

#[test]
fn a_saturated_bucket_uses_97_percent_of_its_rate_with_a_round_trip_in_20_checks() {
    assert_well_used(&Load { per_second: 1_000, burst: 1_000, demands: &[500; 4], seconds: 6 });
    assert_well_used(&Load { per_second: 1_000, burst: 200, demands: &[500; 4], seconds: 6 });
    assert_well_used(&Load { per_second: 1_000, burst: 200, demands: &[25_000; 4], seconds: 2 });
    assert_well_used(&Load { per_second: 250, burst: 50, demands: &[500], seconds: 6 });
    assert_well_used(&Load { per_second: 10_000, burst: 2_000, demands: &[5_000; 4], seconds: 3 });
    assert_well_used(&Load { per_second: 5_000, burst: 10_000, demands: &[500; 20], seconds: 4 });
}

#[test]
fn a_bucket_below_its_rate_denies_next_to_nobody_with_a_round_trip_in_20_checks() {
    assert_well_used(&Load { per_second: 1_000, burst: 1_000, demands: &[225; 4], seconds: 6 });
    assert_well_used(&Load { per_second: 1_000, burst: 200, demands: &[225; 4], seconds: 6 });
    assert_well_used(&Load { per_second: 5_000, burst: 10_000, demands: &[225; 20], seconds: 4 });
}

#[test]
fn a_node_with_most_of_the_demand_gets_most_of_the_rate() {
    assert_well_used(&Load { per_second: 1_000, burst: 200, demands: &[1_800, 100, 60, 40], seconds: 6 });
    assert_well_used(&Load { per_second: 1_000, burst: 1_000, demands: &[1_800, 100, 60, 40], seconds: 6 });
}

/// S4: under-use is bounded. A bucket that is about full refills only up to what is held, as far as the ledger knows, so a burst may be lost
/// once; at saturation that does not happen.
#[test]
fn any_rule_that_suits_is_well_used() {
    of_any_suited_rule(0..60, |load, factor, outcome| {
        outcome.judgement.assert_kept();
        let Load { per_second, burst, demands, seconds } = load;
        let told = format!("{per_second} per second, burst {burst}, {demands:?}");
        let minted = (per_second * seconds) as f64;
        assert!(outcome.unused <= *burst as f64 + minted / 100.0, "{told}: {} unused", outcome.unused);
        if factor >= 1.5 {
            let Outcome { utilisation, round_trips_per_check, .. } = outcome;
            assert!(utilisation >= 0.97, "{told}: {utilisation}");
            assert!(round_trips_per_check <= 0.05, "{told}: {round_trips_per_check}");
        }
    });
}
