//! For how long what is written is kept.

use tollgate_core::{Cost, Rate};
use tollgate_redis::{Charge, Declared, KeySpace, Reply, RuleIdentity};

use crate::asking::{SECOND, START, ask, check_at, declare_at, explicit, integer, limit, on_every_server};

/// S2: 5 at 0.003/s needs 1,667 s.
#[test]
fn slow_buckets_are_kept_until_they_are_full_and_idle_ones_vanish() {
    on_every_server(|engine, _, connection| {
        for (rate, burst, spent, seconds) in [
            (Rate::new(3, tollgate_core::Span::from_secs(1_000)), 5, 5, 1_667),
            (Rate::per_second(10), 50, 25, 3),
            (Rate::per_second(100_000), 10, 1, 0),
            (Rate::per_year(1), 60, 60, 60 * 365 * 86_400),
        ] {
            let limit = explicit(rate, burst);
            connection.typed("FLUSHALL");
            assert!(check_at(connection, &[ask("a", &limit, spent)], 0).is_admitted());
            let kept = integer(&connection.typed("PTTL tg:*:a"));
            assert!(kept >= seconds * 1_000, "{engine:?} {rate}: {kept}");
            assert!(kept <= seconds * 1_000 + 2_000 + seconds * 2, "{engine:?} {rate}: {kept}");
        }
    });
}

/// Five password resets at 0.003/s: after twenty minutes the server still knows of them, and three and a half are back.
#[test]
fn a_slow_bucket_is_still_there_after_twenty_minutes_and_idle_for_good_it_is_gone() {
    on_every_server(|engine, _, connection| {
        let limit = explicit(Rate::new(3, tollgate_core::Span::from_secs(1_000)), 5);
        assert!(check_at(connection, &[ask("a", &limit, 5)], START).is_admitted());
        let kept = integer(&connection.typed("PTTL tg:*:a"));
        assert!(kept > 1_200_000, "{engine:?}: the key lives for {kept} ms");
        let later = check_at(connection, &[ask("a", &limit, 4)], START + 1_200 * SECOND);
        assert_eq!((later.is_admitted(), later.buckets[0].balance), (false, 3_600_000), "{engine:?}");
        assert!(check_at(connection, &[ask("a", &limit, 3)], START + 1_200 * SECOND).is_admitted());
        // One that is full soon is gone soon, by the server's own clock: asked until it is over.
        let fast = explicit(Rate::per_second(1_000), 5);
        assert!(check_at(connection, &[ask("b", &fast, 1)], 0).is_admitted());
        assert!(integer(&connection.typed("PTTL tg:*:b")) < 2_100);
        while connection.typed("EXISTS tg:*:b") == Reply::Integer(1) {}
    });
}

/// PEERS 3: a burst of one, or a high rate, never limits because its state is gone at once.
#[test]
fn a_burst_of_one_and_a_high_rate_are_kept_too() {
    on_every_server(|_, _, connection| {
        for rate in [Rate::per_second(1_000), Rate::per_second(1_000_000)] {
            let limit = explicit(rate, 1);
            assert!(check_at(connection, &[ask("a", &limit, 1)], START).is_admitted());
            assert!(!check_at(connection, &[ask("a", &limit, 1)], START).is_admitted());
            connection.typed("FLUSHALL");
        }
    });
}

/// The slowest rate that a rule may take decides how long its buckets are kept.
#[test]
fn a_rule_that_may_become_slower_keeps_its_buckets_for_longer() {
    on_every_server(|_, _, connection| {
        let rule = RuleIdentity::new("default", "floating");
        let declared = Declared {
            algorithm: limit(Rate::per_second(10), 50).into(),
            slowest: Some(Rate::per_second(1)),
        };
        let shared = declare_at(connection, &rule, declared, 0).unwrap().limit().unwrap();
        let key = KeySpace::default().bucket(&rule, "a").unwrap();
        assert!(
            check_at(connection, &[Charge::new(key.clone(), &shared, Cost::tokens(50))], 0).is_admitted()
        );
        let kept = integer(&connection.ask(&[b"PTTL".as_slice(), key.as_bytes()]));
        assert!((50_000..52_000).contains(&kept), "{kept}");
    });
}
