//! Rate and burst are changed under load, by a policy that is put into force everywhere.

use tollgate_core::{Burst, Limit, Moment, Rate, Span};
use tollgate_sim::checker::Promise;

use crate::crew::{Crew, Haul};
use crate::fleet::RedisServer;
use crate::load::{Load, Mode, seconds};
use crate::monotonic;
use crate::worker::{self, Orders};

/// How often the policy is changed.
const EVERY: Span = Span::from_millis(2_000);
/// How long all processes have to agree on a limit after the last of them was told of it. Meanwhile some keep the old one.
const SETTLES: Span = Span::from_millis(500);

/// What one load was under, one limit after the other. There are so many.
const LIMITS: usize = 4;

/// What was in force from when on, by everybody.
#[derive(Debug, Clone, Copy)]
struct Change {
    told: Moment,
    settled: Moment,
    to: Load,
}

/// Hammers while the limits of each load come one after the other; nothing is above what the more generous of two allows while both are in use.
fn hammered_while_changing(test: &str, loads: &[[Load; LIMITS]]) {
    if let Some(orders) = Orders::given() {
        return worker::run(&orders);
    }
    needs_redis!();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(RedisServer::start(""));
    let limits = |number: usize| loads.iter().map(|limits| limits[number % LIMITS]).collect::<Vec<Load>>();
    let mut changes: Vec<Vec<Change>> = vec![Vec::new(); loads.len()];
    let crew = Crew::start(test, &server.url(), &limits(0), [0; 4]);
    let hauls = crew.hammer(|crew, begin| {
        let times = loads[0][0].seconds * 1_000_000_000 / EVERY.as_nanos();
        for number in 1..times {
            let when = begin + Span::from_nanos(EVERY.as_nanos() * number);
            runtime.block_on(async { tokio::time::sleep(when.since(monotonic::now()).into()).await });
            let next = limits(usize::try_from(number).unwrap());
            let told = monotonic::now();
            crew.swap(&next);
            let settled = monotonic::now() + SETTLES;
            for (changes, to) in changes.iter_mut().zip(next) {
                changes.push(Change { told, settled, to });
            }
        }
    });
    for ((haul, [first, ..]), changes) in hauls.iter().zip(loads).zip(&changes) {
        haul.assert_kept(&promise(*first, changes));
        haul.assert_used(there(haul, *first, changes));
    }
}

fn promise(first: Load, changes: &[Change]) -> Promise {
    let (mut promise, mut was) = (Promise::of(first.limit()), first);
    for change in changes {
        promise = promise.then(change.told, both(was, change.to)).then(change.settled, change.to.limit());
        was = change.to;
    }
    promise
}

/// The more generous rate with the more generous burst.
fn both(one: Load, other: Load) -> Limit {
    let (tokens, seconds) =
        if one.rate.0 * other.rate.1 >= other.rate.0 * one.rate.1 { one.rate } else { other.rate };
    let rate = Rate::new(tokens, Span::from_secs(seconds));
    Limit::new(rate, Burst::tokens(one.burst.max(other.burst))).unwrap()
}

/// What one key could have had at the least: while two limits are in use, by the lower rate.
fn there(haul: &Haul, first: Load, changes: &[Change]) -> u64 {
    let micros = |load: Load, span: Span| {
        let (tokens, seconds) = load.rate;
        u64::try_from(u128::from(span.as_nanos()) * u128::from(tokens) / u128::from(seconds) / 1_000).unwrap()
    };
    let (mut there, mut was, mut since) = (first.burst * 1_000_000, first, haul.begin);
    for change in changes {
        let meanwhile = change.settled.since(change.told);
        there +=
            micros(was, change.told.since(since)) + micros(was, meanwhile).min(micros(change.to, meanwhile));
        (was, since) = (change.to, change.settled);
    }
    there + micros(was, haul.end.since(since))
}

/// The limits of so many keys: rate, in tokens every so many seconds, and burst.
fn limits(mode: Mode, keys: u64, limits: [((u64, u64), u64); LIMITS]) -> [Load; LIMITS] {
    limits.map(|(rate, burst)| Load { mode, keys, rate, burst, seconds: seconds(10) })
}

#[test]
fn one_key_ten_and_ten_thousand_are_kept_within_limits_that_change_and_used_up() {
    let limits = |keys, of| limits(Mode::Exact, keys, of);
    let loads = [
        limits(1, [((1_000, 1), 200), ((300, 1), 500), ((800, 1), 100), ((1_500, 1), 300)]),
        limits(10, [((100, 1), 50), ((30, 1), 80), ((80, 1), 20), ((150, 1), 60)]),
        limits(10_000, [((1, 4), 2), ((1, 2), 4), ((1, 4), 2), ((1, 2), 3)]),
    ];
    let test = "changes::one_key_ten_and_ten_thousand_are_kept_within_limits_that_change_and_used_up";
    hammered_while_changing(test, &loads);
}

/// Every one of the limits may be leased by four instances.
#[test]
fn one_leased_key_and_ten_are_kept_within_limits_that_change_and_used_up() {
    let limits = |keys, of| limits(Mode::Leased, keys, of);
    let loads = [
        limits(1, [((4_000, 1), 2_000), ((1_200, 1), 3_000), ((3_000, 1), 1_000), ((5_000, 1), 1_500)]),
        limits(10, [((1_200, 1), 1_000), ((1_000, 1), 1_500), ((1_500, 1), 500), ((1_100, 1), 800)]),
    ];
    let test = "changes::one_leased_key_and_ten_are_kept_within_limits_that_change_and_used_up";
    hammered_while_changing(test, &loads);
}

#[test]
fn ten_thousand_leased_keys_are_kept_within_limits_that_change() {
    let of = [((1_500, 1), 400), ((1_000, 1), 200), ((2_000, 1), 600), ((1_000, 1), 250)];
    let test = "changes::ten_thousand_leased_keys_are_kept_within_limits_that_change";
    hammered_while_changing(test, &[limits(Mode::Leased, 10_000, of)]);
}
