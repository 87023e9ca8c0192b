//! What windows, logs and places promise on a server besides their arithmetic: places are given back or lost in time, logs are
//! bounded, everything vanishes.

use tollgate::CheckError;
use tollgate_core::{
    Algorithm, Burst, Concurrency, Cost, FixedWindow, LeakyBucket, Rate, SlidingCounter, SlidingLog, Span,
    Window,
};
use tollgate_redis::{
    Batch, BatchError, Changed, Charge, Checked, Declared, KeyName, KeySpace, LimitHistory, Reply,
    RuleIdentity, SharedLimit, Told,
};

use crate::asking::{SECOND, START, done_at, integer, on_every_server};
use crate::support::Connection;

fn shared(algorithm: impl Into<Algorithm>) -> SharedLimit {
    let declared = Declared { algorithm: algorithm.into(), slowest: None };
    LimitHistory::new(&declared, START).unwrap().limit().unwrap()
}

fn name() -> KeyName {
    KeySpace::default().bucket(&RuleIdentity::new("default", "rule"), "ann").unwrap()
}

fn enter_at(connection: &mut Connection, limit: &SharedLimit, tokens: u64, now: u64) -> Checked {
    let mut batch = Batch::new();
    batch.enter(&[Charge::new(name(), limit, Cost::tokens(tokens))]).unwrap();
    match done_at(connection, &batch, now).remove(0) {
        Told::Checked(checked) => checked,
        other => panic!("{other:?}"),
    }
}

fn leave_at(
    connection: &mut Connection,
    limit: &SharedLimit,
    entered: &Checked,
    tokens: u64,
    now: u64,
) -> Changed {
    let mut batch = Batch::new();
    batch.let_go(name(), limit, Cost::tokens(tokens), entered.buckets[0].receipt).unwrap();
    match done_at(connection, &batch, now).remove(0) {
        Told::Changed { changed, .. } => changed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn places_are_given_back_by_their_holders_or_lost_between_one_timeout_and_one_and_a_half() {
    on_every_server(|_, _, connection| {
        let limit = shared(Concurrency::new(3, Span::from_secs(10)).unwrap());
        let two = enter_at(connection, &limit, 2, START);
        assert!(two.is_admitted() && enter_at(connection, &limit, 1, START).is_admitted());
        assert!(!enter_at(connection, &limit, 1, START + 9 * SECOND).is_admitted());
        assert_eq!(
            leave_at(connection, &limit, &two, 2, START + 9 * SECOND),
            Changed { before: 0, after: 2_000_000 }
        );
        let late = enter_at(connection, &limit, 2, START + 9 * SECOND);
        assert!(late.is_admitted());
        assert!(
            !enter_at(connection, &limit, 1, START + 10 * SECOND - 1).is_admitted(),
            "not before the timeout"
        );
        assert!(enter_at(connection, &limit, 1, START + 15 * SECOND).is_admitted(), "lost, and free again");
        let long_after = START + 60 * SECOND;
        let changed = leave_at(connection, &limit, &late, 2, long_after);
        assert_eq!(changed.before, changed.after, "it has timed out");
    });
}

#[test]
fn a_reset_frees_places_and_what_was_taken_before_is_not_given_back_as_well() {
    on_every_server(|_, _, connection| {
        let limit = shared(Concurrency::new(3, Span::from_secs(10)).unwrap());
        let before = enter_at(connection, &limit, 3, START);
        let mut batch = Batch::new();
        batch.reset(name(), &limit).unwrap();
        let reset = Told::Changed { changed: Changed { before: 0, after: 3_000_000 }, now_micros: START + 1 };
        assert_eq!(done_at(connection, &batch, START + 1), [reset]);
        assert!(enter_at(connection, &limit, 2, START + 2).is_admitted());
        assert_eq!(
            leave_at(connection, &limit, &before, 3, START + 3),
            Changed { before: 1_000_000, after: 1_000_000 }
        );
    });
}

#[test]
fn places_that_nobody_would_give_back_are_refused() {
    let limit = shared(Concurrency::new(3, Span::from_secs(10)).unwrap());
    let charges = [Charge::new(name(), &limit, Cost::ONE)];
    let refused = BatchError::Check(CheckError::NeedsGuard { charge: 0 });
    assert_eq!(Batch::new().check(&charges), Err(refused.clone()));
    assert_eq!(Batch::new().check_once(name(), Span::from_secs(1), &charges), Err(refused));
    assert_eq!(Batch::new().reserve(name(), Span::from_secs(1), b"", &charges), Ok(()));
}

#[test]
fn state_of_every_algorithm_vanishes_when_it_tells_nothing_any_more() {
    on_every_server(|engine, _, connection| {
        let (quota, window) = (Burst::tokens(9), Span::from_secs(60));
        for (limit, seconds) in [
            (shared(LeakyBucket::new(Rate::per_second(1), quota).unwrap()), 3),
            (shared(FixedWindow::new(quota, Window::MINUTE).unwrap()), 60),
            (shared(FixedWindow::new(quota, Window::MONTH).unwrap()), 31 * 86_400),
            (shared(SlidingCounter::new(quota, window).unwrap()), 120),
            (shared(SlidingLog::new(quota, window).unwrap()), 60),
            (shared(Concurrency::new(9, window).unwrap()), 90),
        ] {
            connection.typed("FLUSHALL");
            assert!(enter_at(connection, &limit, 3, 0).is_admitted());
            let kept = integer(&connection.ask(&[b"PTTL".as_slice(), name().as_bytes()]));
            let least = seconds * 1_000;
            assert!((least..=least + least / 500 + 2_000).contains(&kept), "{engine:?} {limit:?}: {kept}");
        }
    });
}

/// As in memory: the two oldest count as one, as long as the younger.
#[test]
fn a_log_remembers_a_bounded_number_of_charges() {
    on_every_server(|engine, _, connection| {
        let limit = shared(SlidingLog::new(Burst::tokens(1_000_000), Span::from_secs(3_600)).unwrap());
        assert!(enter_at(connection, &limit, 5, START).is_admitted());
        // As the script would have written them one by one.
        let fill = "for i=1,65535 do local at=string.format('%.0f',ARGV[1]+i) redis.call('ZADD',KEYS[1],at,at..':1000000') end \
                    redis.call('ZREM',KEYS[1],'s:5000000') redis.call('ZADD',KEYS[1],-1,'s:65540000000') return 1";
        let (key, start) = (name(), START.to_string());
        let words = [b"EVAL".as_slice(), fill.as_bytes(), b"1", key.as_bytes(), start.as_bytes()];
        assert_eq!(connection.ask(&words), Reply::Integer(1));
        let left = 1_000_000_000_000 - 65_540_000_000;
        for more in 1..=3 {
            let told = enter_at(connection, &limit, 1, START + 100_000 + more);
            assert_eq!(
                told.buckets[0].balance,
                left - 1_000_000 * i64::try_from(more).unwrap(),
                "{engine:?}"
            );
            let entries = integer(&connection.ask(&[b"ZCARD".as_slice(), name().as_bytes()]));
            assert!(entries <= 65_536 + 2, "{entries}");
        }
    });
}

/// S3: a check over several slots holds the narrow one, and lets it go when the broad one denies. What is left is no more than if it had
/// never been charged, and where nothing was minted meanwhile no less.
#[test]
fn a_charge_that_is_let_go_leaves_a_bucket_as_if_it_had_not_been_made() {
    on_every_server(|engine, _, connection| {
        let (quota, window) = (Burst::tokens(10), Span::from_secs(60));
        for limit in [
            shared(tollgate_core::Limit::new(Rate::per_second(2), quota).unwrap()),
            SharedLimit::explicit(&tollgate_core::Limit::new(Rate::per_second(2), quota).unwrap()).unwrap(),
            shared(LeakyBucket::new(Rate::per_second(2), quota).unwrap()),
            shared(FixedWindow::new(quota, Window::MINUTE).unwrap()),
            shared(SlidingCounter::new(quota, window).unwrap()),
            shared(SlidingLog::new(quota, window).unwrap()),
            shared(Concurrency::new(10, window).unwrap()),
        ] {
            connection.typed("FLUSHALL");
            assert!(enter_at(connection, &limit, 3, START).is_admitted());
            let held = enter_at(connection, &limit, 4, START + 1);
            assert!(held.is_admitted());
            let changed = leave_at(connection, &limit, &held, 4, START + 1);
            assert_eq!(changed.given().whole(), 4, "{engine:?} {limit:?}");
            assert!((6_999_999..=7_000_002).contains(&changed.after), "{engine:?} {limit:?}: {changed:?}");
        }
        // A bucket that was about full would have run over meanwhile: so much less is given back.
        connection.typed("FLUSHALL");
        let limit = shared(tollgate_core::Limit::new(Rate::per_second(2), quota).unwrap());
        let held = enter_at(connection, &limit, 4, START);
        let changed = leave_at(connection, &limit, &held, 4, START + SECOND);
        assert_eq!(changed, Changed { before: 8_000_000, after: 10_000_000 }, "{engine:?}");
    });
}

/// A12, whatever the algorithm.
#[test]
fn a_retry_is_told_the_same_whatever_the_algorithm() {
    on_every_server(|engine, _, connection| {
        let (quota, window) = (Burst::tokens(9), Span::from_secs(60));
        for limit in [
            shared(LeakyBucket::new(Rate::per_second(1), quota).unwrap()),
            shared(FixedWindow::new(quota, Window::MINUTE).unwrap()),
            shared(SlidingCounter::new(quota, window).unwrap()),
            shared(SlidingLog::new(quota, window).unwrap()),
            shared(Concurrency::new(9, window).unwrap()),
        ] {
            connection.typed("FLUSHALL");
            let charges = [Charge::new(name(), &limit, Cost::tokens(2))];
            let record = KeySpace::default().reservation("00000000000000000000000000000007".parse().unwrap());
            let mut batch = Batch::new();
            batch.reserve(record, Span::from_secs(60), b"", &charges).unwrap();
            let [first, again] =
                [START, START + SECOND].map(|now| match done_at(connection, &batch, now).remove(0) {
                    Told::Checked(checked) => checked,
                    other => panic!("{engine:?} {limit:?}: {other:?}"),
                });
            assert!(!first.is_retold && again.is_retold, "{engine:?} {limit:?}");
            assert_eq!(
                (&first.buckets, first.verdict()),
                (&again.buckets, again.verdict()),
                "{engine:?} {limit:?}"
            );
        }
    });
}
