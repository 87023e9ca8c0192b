//! Charges on probation (S3): whatever is held and released, in whatever order, no interval admits more than the limit.

use tollgate_core::{
    Algorithm, Burst, Cost, FixedWindow, LeakyBucket, Limit, Moment, Rate, SlidingCounter, SlidingLog, Span,
    Window,
};
use tollgate_redis::{
    Batch, Changed, Charge, Checked, Declared, KeyName, KeySpace, LimitHistory, Receipt, RuleIdentity,
    SharedLimit, Told,
};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Event;

use crate::asking::{SECOND, START, done_at, on_every_server};
use crate::support::Connection;

/// A bucket on a server, and what was admitted from it.
struct Played<'c> {
    connection: &'c mut Connection,
    key: KeyName,
    limit: SharedLimit,
    now: u64,
    holds: Vec<(u64, Receipt)>,
    events: Vec<Event>,
}

impl<'c> Played<'c> {
    fn new(connection: &'c mut Connection, limit: SharedLimit) -> Played<'c> {
        let key = if limit.is_explicit() {
            KeySpace::default().explicit("ann").unwrap()
        } else {
            KeySpace::default().bucket(&RuleIdentity::new("default", "rule"), "ann").unwrap()
        };
        Played { connection, key, limit, now: START, holds: Vec::new(), events: Vec::new() }
    }

    fn charge(&mut self, tokens: u64) -> Checked {
        let mut batch = Batch::new();
        batch.check(&[Charge::new(self.key.clone(), &self.limit, Cost::tokens(tokens))]).unwrap();
        match done_at(self.connection, &batch, self.now).remove(0) {
            Told::Checked(checked) => checked,
            other => panic!("{other:?}"),
        }
    }

    fn spend(&mut self, tokens: u64) {
        let admitted = self.charge(tokens).is_admitted();
        let at = Moment::from_nanos((self.now - START) * 1_000);
        let cost = i64::try_from(tokens * 1_000_000).unwrap();
        self.events.push(Event { key: 0, called: at, answered: at, cost, admitted });
    }

    fn hold(&mut self, tokens: u64) {
        let checked = self.charge(tokens);
        if checked.is_admitted() {
            self.holds.push((tokens, checked.buckets[0].receipt));
        }
    }

    fn release(&mut self, at: usize, is_on_probation: bool) -> Changed {
        let (tokens, told) = self.holds.swap_remove(at);
        let cost = Cost::tokens(tokens);
        let receipt = if is_on_probation { self.limit.on_probation(cost, told) } else { told };
        let mut batch = Batch::new();
        batch.let_go(self.key.clone(), &self.limit, cost, receipt).unwrap();
        match done_at(self.connection, &batch, self.now).remove(0) {
            Told::Changed { changed, .. } => changed,
            other => panic!("{other:?}"),
        }
    }
}

fn of_rule(algorithm: impl Into<Algorithm>) -> SharedLimit {
    let declared = Declared { algorithm: algorithm.into(), slowest: None };
    LimitHistory::new(&declared, START).unwrap().limit().unwrap()
}

/// By how many micro-tokens the worst interval of a random history is above the limit.
fn excess(
    connection: &mut Connection,
    shared: SharedLimit,
    limit: Limit,
    seed: u64,
    on_probation: bool,
) -> i128 {
    let mut random = fastrand::Rng::with_seed(seed);
    connection.typed("FLUSHALL");
    let mut played = Played::new(connection, shared);
    for _ in 0..300 {
        match random.u32(0..10) {
            0..3 => played.now += random.u64(0..400_000),
            3..5 => played.spend(random.u64(1..=10)),
            5..8 if played.holds.len() < 3 => played.hold(random.u64(1..=6)),
            _ if !played.holds.is_empty() => {
                let at = random.usize(..played.holds.len());
                let _ = played.release(at, on_probation);
            }
            _ => played.spend(1),
        }
    }
    judge(played.events, &Promise::of(limit)).worst().map_or(0, |worst| worst.excess)
}

/// Of what is held for a microsecond all is given back, but for what was minted, whatever the algorithm.
#[test]
fn a_hold_that_is_released_at_once_leaves_nothing_charged() {
    on_every_server(|engine, _, connection| {
        let (quota, window) = (Burst::tokens(10), Span::from_secs(60));
        let limit = Limit::new(Rate::per_second(2), quota).unwrap();
        for shared in [
            of_rule(limit),
            SharedLimit::explicit(&limit).unwrap(),
            of_rule(LeakyBucket::new(Rate::per_second(2), quota).unwrap()),
            of_rule(FixedWindow::new(quota, Window::MINUTE).unwrap()),
            of_rule(SlidingCounter::new(quota, window).unwrap()),
            of_rule(SlidingLog::new(quota, window).unwrap()),
        ] {
            connection.typed("FLUSHALL");
            let mut played = Played::new(connection, shared);
            assert!(played.charge(3).is_admitted());
            played.hold(4);
            played.now += 1;
            let changed = played.release(0, true);
            assert!(
                (3_999_998..=4_000_000).contains(&changed.given().as_micros()),
                "{engine:?}: {changed:?}"
            );
        }
        // A window that has ended has nothing to give back to.
        connection.typed("FLUSHALL");
        let mut played = Played::new(connection, of_rule(FixedWindow::new(quota, Window::MINUTE).unwrap()));
        played.hold(4);
        played.now += 60 * SECOND;
        assert!(played.charge(3).is_admitted());
        assert_eq!(played.release(0, true), Changed { before: 7_000_000, after: 7_000_000 }, "{engine:?}");
    });
}

#[test]
fn holds_that_are_released_in_any_order_never_let_more_through_than_the_limit() {
    on_every_server(|engine, _, connection| {
        let limit = Limit::new(Rate::per_second(7), Burst::tokens(10)).unwrap();
        let mut naive = 0;
        for shared in [of_rule(limit), SharedLimit::explicit(&limit).unwrap()] {
            for seed in 0..12 {
                let excess_of = excess(connection, shared.clone(), limit, seed, true);
                assert!(excess_of <= 0, "{engine:?} seed {seed}: {excess_of}");
                naive = naive.max(excess(connection, shared.clone(), limit, seed, false));
            }
        }
        assert!(
            naive > 0,
            "the receipt as it was told gives too much back where others are released meanwhile"
        );
    });
}
