//! Hot keys under leases: most checks ask nobody, and the fleet keeps the limit all the same.
//!
//! Bursts and rates are such that four instances may lease (PROTOCOLS.md 6): `burst ≥ 50·nodes`, and 100·nodes in a lease's time.

use crate::exact::hammered;
use crate::load::{Load, Mode, seconds};

#[test]
fn one_leased_key_and_ten_are_kept_within_their_limits_and_used_up() {
    let load = |keys, rate, burst| Load { mode: Mode::Leased, keys, rate, burst, seconds: seconds(10) };
    let loads = [load(1, (4_000, 1), 2_000), load(10, (1_500, 1), 1_000)];
    hammered("leased::one_leased_key_and_ten_are_kept_within_their_limits_and_used_up", &loads, [0; 4]);
}

/// Some of them are asked more often than they refill; the slices of the others come and go.
#[test]
fn ten_thousand_leased_keys_are_kept_within_their_limits() {
    let load = Load { mode: Mode::Leased, keys: 10_000, rate: (1_000, 1), burst: 200, seconds: seconds(10) };
    hammered("leased::ten_thousand_leased_keys_are_kept_within_their_limits", &[load], [0; 4]);
}
