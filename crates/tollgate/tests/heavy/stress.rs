//! Everything at once: more threads than cores check, batch, join, peek and change limits; every bucket keeps its promise.

use tollgate::{CLOCK_ERROR_MAX, Span, TableFull};

use super::world::{Outcome, Setting, run};

const ROOMY: Setting = Setting {
    keys_max: 10_000,
    table_full: TableFull::Inherit,
    clients: 300,
    rules: 3,
    tiers: true,
    operations: 1_200_000,
    clock_error: CLOCK_ERROR_MAX,
    seed: 1,
};
/// 64 places or so, and three to five times as many clients.
const TINY: Setting = Setting { keys_max: 1, tiers: false, ..ROOMY };

#[track_caller]
fn keeps_its_promise(setting: Setting) -> Outcome {
    let outcome = run(setting);
    println!("{setting:?}: {outcome:?}", outcome = Summary(&outcome));
    outcome.judgement.assert_kept();
    assert!(outcome.changes > 20, "{} changes", outcome.changes);
    assert!(outcome.admitted > 10_000 && outcome.denied > 10_000);
    outcome
}

/// Without the interval of every key.
struct Summary<'a>(&'a Outcome);

impl std::fmt::Debug for Summary<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome { judgement, stats, admitted, denied, changes } = self.0;
        write!(f, "{admitted} admitted, {denied} denied, {changes} changes, {judgement}, {stats:?}")
    }
}

#[test]
fn a_roomy_table_keeps_every_promise_by_the_machine_clock() {
    let outcome = keeps_its_promise(ROOMY);
    assert!(outcome.stats.relabelled > 0);
}

#[test]
fn a_roomy_table_keeps_every_promise_by_the_plain_clock() {
    keeps_its_promise(Setting { clock_error: Span::ZERO, seed: 2, ..ROOMY });
}

#[test]
fn a_tiny_table_that_inherits_keeps_every_promise() {
    for (rules, seed, clock_error) in [(1, 3, CLOCK_ERROR_MAX), (1, 4, Span::ZERO), (3, 7, CLOCK_ERROR_MAX)] {
        let outcome = keeps_its_promise(Setting { rules, clock_error, seed, ..TINY });
        assert!(outcome.stats.evicted > 1_000, "{:?}", outcome.stats);
    }
}

#[test]
fn a_tiny_table_that_denies_newcomers_keeps_every_promise() {
    let setting = Setting { table_full: TableFull::DenyNew, tiers: true, seed: 5, ..TINY };
    let outcome = keeps_its_promise(setting);
    assert!(outcome.stats.denied_new > 1_000 && outcome.stats.reclaimed > 0, "{:?}", outcome.stats);
}

#[test]
fn a_tiny_table_with_a_shared_overflow_keeps_every_promise() {
    let setting = Setting { table_full: TableFull::SharedOverflow, clock_error: Span::ZERO, seed: 6, ..TINY };
    let outcome = keeps_its_promise(setting);
    assert!(outcome.stats.overflowed > 100, "{:?}", outcome.stats);
}
