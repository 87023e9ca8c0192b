//! A limiter on a manual clock, and short words for limits.

use tollgate::{Burst, Clock, Cost, ExplicitVerdict, Limit, Limiter, Moment, Rate, Span, TableFull, Verdict};

/// A round number of seconds, so that every rate in whole tokens per second is in phase.
pub(crate) const START: Moment = Moment::from_nanos(1_000_000_000_000);

pub(crate) fn per_second(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(tokens), Burst::tokens(burst)).unwrap()
}

/// A limiter with room for so many explicit keys, and its clock.
pub(crate) fn limiter(keys: usize, table_full: TableFull) -> (Limiter, Clock) {
    let clock = Clock::manual(START);
    let builder = Limiter::builder().keys_max(1).explicit_keys_max(keys).table_full(table_full);
    (builder.clock(clock.clone()).build(per_second(1, 1)).unwrap(), clock)
}

pub(crate) fn roomy() -> (Limiter, Clock) {
    limiter(10_000, TableFull::Inherit)
}

pub(crate) const fn tokens(tokens: u64) -> Cost {
    Cost::tokens(tokens)
}

/// The wait of a denial.
#[track_caller]
pub(crate) fn wait_of(told: &ExplicitVerdict) -> Span {
    let Verdict::Deny { wait, .. } = told.verdict else { panic!("{told:?}") };
    wait
}
