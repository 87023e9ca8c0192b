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

/// What was in force from when on, by everybody.
#[derive(Debug, Clone, Copy)]
struct Change {
    told: Moment,
    settled: Moment,
    to: Load,
}

/// Hammers while the limits come one after the other; nothing is above what the more generous of two allows while both are in use.
fn hammered_while_changing(test: &str, loads: &[Load]) {
    if let Some(orders) = Orders::given() {
        return worker::run(&orders);
    }
    needs_redis!();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(RedisServer::start(""));
    let mut changes = Vec::new();
    let crew = Crew::start(test, &server.url(), loads[0], [0; 4]);
    let haul = crew.hammer(|crew, begin| {
        let times = loads[0].seconds * 1_000_000_000 / EVERY.as_nanos();
        for number in 1..times {
            let when = begin + Span::from_nanos(EVERY.as_nanos() * number);
            runtime.block_on(async { tokio::time::sleep(when.since(monotonic::now()).into()).await });
            let to = loads[usize::try_from(number).unwrap() % loads.len()];
            let told = monotonic::now();
            crew.swap(&to);
            changes.push(Change { told, settled: monotonic::now() + SETTLES, to });
        }
    });
    haul.assert_kept(&promise(loads[0], &changes));
    haul.assert_used(there(&haul, loads[0], &changes));
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

#[test]
fn one_key_is_kept_within_limits_that_change_and_used_up() {
    let load =
        |rate, burst| Load { mode: Mode::Exact, keys: 1, rate: (rate, 1), burst, seconds: seconds(10) };
    let loads = [load(1_000, 200), load(300, 500), load(800, 100), load(1_500, 300)];
    hammered_while_changing("changes::one_key_is_kept_within_limits_that_change_and_used_up", &loads);
}
