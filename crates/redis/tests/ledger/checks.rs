//! Checks over one bucket and several, and what they are told.

use tollgate::{Cause, Verdict};
use tollgate_core::{BucketSet, Rate, Span, Tokens};
use tollgate_redis::{Batch, BatchError, Outcome, Reply, Told};

use crate::asking::{SECOND, START, ask, check_at, done_at, explicit, name, on_every_server};

/// A13: 10/s, burst 50, one request every 1/60 s.
#[test]
fn the_worked_example() {
    on_every_server(|engine, _, connection| {
        let limit = explicit(Rate::per_second(10), 50);
        let admitted: Vec<bool> = (0..600)
            .map(|i| {
                check_at(connection, &[ask("ann", &limit, 1)], START + (i * SECOND).div_ceil(60))
                    .is_admitted()
            })
            .collect();
        assert_eq!(admitted[..60].iter().filter(|a| **a).count(), 59, "{engine:?}");
        assert_eq!(admitted.iter().position(|a| !a), Some(59));
        assert!(admitted[300..].chunks(6).all(|six| six.iter().filter(|a| **a).count() == 1));
    });
}

/// A6: to the microsecond.
#[test]
fn a_check_is_denied_one_microsecond_before_its_wait_is_over_and_admitted_when_it_is() {
    on_every_server(|engine, _, connection| {
        for (key, rate) in [
            ("a", Rate::per_second(3)),
            ("b", Rate::per_day(7)),
            ("c", Rate::per_second(300_001)),
            ("d", Rate::per_minute(17)),
        ] {
            let limit = explicit(rate, 4);
            let mut now = START + 12_345;
            assert!(check_at(connection, &[ask(key, &limit, 4)], now).is_admitted());
            for _ in 0..10 {
                let Verdict::Deny { wait, .. } = check_at(connection, &[ask(key, &limit, 2)], now).verdict()
                else {
                    panic!("{engine:?}")
                };
                now += wait.as_nanos() / 1_000;
                assert!(
                    !check_at(connection, &[ask(key, &limit, 2)], now - 1).is_admitted(),
                    "{engine:?} {rate}"
                );
                assert!(check_at(connection, &[ask(key, &limit, 2)], now).is_admitted(), "{engine:?} {rate}");
            }
        }
    });
}

/// A5.
#[test]
fn if_one_bucket_denies_none_is_charged_and_every_one_that_denied_is_named() {
    on_every_server(|_, _, connection| {
        let (user, endpoint, everyone) = (
            explicit(Rate::per_second(1), 2),
            explicit(Rate::per_second(10), 20),
            explicit(Rate::per_second(2), 4),
        );
        assert!(
            check_at(connection, &[ask("user", &user, 2), ask("all", &everyone, 4)], START).is_admitted()
        );
        let three = [ask("user", &user, 1), ask("endpoint", &endpoint, 1), ask("all", &everyone, 3)];
        let denied: BucketSet = BucketSet::of(0).union(BucketSet::of(2));
        assert_eq!(
            check_at(connection, &three, START).verdict(),
            Verdict::Deny {
                wait: Span::from_millis(1_500),
                remaining: Tokens::ZERO,
                denied,
                cause: Cause::Exceeded
            }
        );
        let told = check_at(connection, &[ask("endpoint", &endpoint, 20)], START);
        assert!(told.is_admitted(), "nothing was charged to the one that could have paid");
    });
}

/// A7.
#[test]
fn a_cost_above_the_burst_is_never_even_where_another_only_denies() {
    on_every_server(|_, _, connection| {
        let limit = explicit(Rate::per_second(1), 2);
        assert!(check_at(connection, &[ask("a", &limit, 2)], START).is_admitted());
        let both = [ask("a", &limit, 1), ask("b", &limit, 3)];
        assert_eq!(check_at(connection, &both, START).verdict(), Verdict::Never { denied: BucketSet::of(1) });
        let huge = [ask("b", &limit, u64::MAX)];
        assert_eq!(check_at(connection, &huge, START).outcome, Outcome::Never);
        assert!(check_at(connection, &[ask("b", &limit, 2)], START).is_admitted());
    });
}

#[test]
fn charges_to_one_key_are_added_up_and_must_have_one_limit() {
    on_every_server(|_, _, connection| {
        let (limit, other) = (explicit(Rate::per_second(1), 4), explicit(Rate::per_second(1), 5));
        let twice = [ask("a", &limit, 2), ask("b", &limit, 1), ask("a", &limit, 3)];
        let denied = BucketSet::of(0).union(BucketSet::of(2));
        assert_eq!(check_at(connection, &twice, START).verdict(), Verdict::Never { denied });
        let twice = [ask("a", &limit, 2), ask("a", &limit, 1)];
        assert_eq!(
            check_at(connection, &twice, START).verdict().remaining(),
            Some(Tokens::from_micros(1_000_000))
        );
        let refused = Batch::new().check(&[ask("a", &limit, 2), ask("a", &other, 1)]).unwrap_err();
        assert_eq!(refused, BatchError::Check(tollgate::CheckError::TierConflict { charge: 1 }));
    });
}

#[test]
fn checks_of_one_batch_are_decided_one_after_the_other() {
    on_every_server(|_, _, connection| {
        let limit = explicit(Rate::per_second(1), 3);
        let mut batch = Batch::new();
        for key in ["a", "b", "a", "a", "a", "b"] {
            batch.check(&[ask(key, &limit, 1)]).unwrap();
        }
        batch.check(&[ask("a", &limit, 1), ask("c", &limit, 1)]).unwrap();
        batch.peek(&[ask("c", &limit, 3)]).unwrap();
        let told = done_at(connection, &batch, START);
        let admitted: Vec<bool> =
            told.iter().map(|told| matches!(told, Told::Checked(checked) if checked.is_admitted())).collect();
        assert_eq!(admitted, [true, true, true, true, false, true, false, true]);
    });
}

/// A8. No node's clock matters; this is the server's own, which is set back and forth.
#[test]
fn a_clock_that_steps_back_gives_nothing_and_one_that_stays_back_does_not_shut_a_bucket() {
    on_every_server(|_, _, connection| {
        let limit = explicit(Rate::per_second(10), 50);
        let admitted = (0..6_000)
            .filter(|i| {
                let skew = if i % 2 == 0 { 900_000 } else { 0 };
                check_at(connection, &[ask("two", &limit, 1)], START + i * 10_000 + skew).is_admitted()
            })
            .count();
        assert!(admitted <= 50 + 609, "{admitted}");
        assert!(check_at(connection, &[ask("back", &limit, 50)], START).is_admitted());
        let hour_ago = START - 3_600 * SECOND;
        assert!(!check_at(connection, &[ask("back", &limit, 1)], hour_ago).is_admitted());
        assert!(!check_at(connection, &[ask("back", &limit, 1)], hour_ago + 99_999).is_admitted());
        assert!(check_at(connection, &[ask("back", &limit, 1)], hour_ago + 100_000).is_admitted());
    });
}

#[test]
fn the_server_has_the_only_clock() {
    on_every_server(|_, _, connection| {
        let limit = explicit(Rate::per_second(1_000), 3);
        let told = check_at(connection, &[ask("a", &limit, 1)], 0);
        assert!(told.now_micros > START - 10 * 365 * 86_400 * SECOND);
        assert_eq!(told.explicit_verdict().time_to_full, Span::from_millis(1));
    });
}

#[test]
fn a_batch_is_bounded() {
    let limit = explicit(Rate::per_second(1), 3);
    let mut batch = Batch::new();
    let filled =
        (0..=u64::MAX).find(|number| batch.check(&[ask(&number.to_string(), &limit, 1)]).is_err()).unwrap();
    assert_eq!(filled, tollgate_redis::ITEMS_MAX as u64);
    assert_eq!(batch.peek(&[ask("a", &limit, 1)]), Err(BatchError::Full));
    let none = Batch::new().check(&[]).unwrap_err();
    assert_eq!(none, BatchError::Check(tollgate::CheckError::NoCharges));
    let free = Batch::new().check(&[ask("a", &limit, 0)]).unwrap_err();
    assert_eq!(free, BatchError::Check(tollgate::CheckError::ZeroCost));
    let reservation = Batch::new().reserve(crate::asking::name("r"), Span::ZERO, b"", &[ask("a", &limit, 1)]);
    assert_eq!(reservation, Err(BatchError::BadTimeout));
}

/// F6: whatever comes back, it is an answer or an error.
#[test]
fn no_reply_makes_us_panic() {
    let limit = explicit(Rate::per_second(1), 3);
    let mut batch = Batch::new();
    batch.check(&[ask("a", &limit, 1), ask("b", &limit, 1)]).unwrap();
    batch.reset(name("a"), &limit).unwrap();
    batch.settle(name("r"), b"1 2", &[]).unwrap();
    let mut rng = fastrand::Rng::with_seed(5);
    for _ in 0..20_000 {
        let extremes = [0, 1, 2, 3, 4, 9, -1, i64::MIN, i64::MAX, 1_000_000];
        let mut list: Vec<Reply> =
            (0..rng.usize(..16)).map(|_| Reply::Integer(extremes[rng.usize(..extremes.len())])).collect();
        if rng.u32(..10) == 0 {
            list.push([Reply::Nothing, Reply::Bytes(vec![255]), Reply::List(vec![])][rng.usize(..3)].clone());
        }
        if let Ok(told) = batch.read(&Reply::List(list)) {
            for told in &told {
                if let Told::Checked(checked) = told {
                    let _ = (checked.verdict(), checked.explicit_verdict());
                }
            }
        }
    }
}
