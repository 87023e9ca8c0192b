//! How nodes agree on a rule's limit, and what a bucket is worth after it changed.

use tollgate_core::{Algorithm, Cost, Rate, Tokens};
use tollgate_redis::{
    Charge, Declaration, DeclareError, DeclareStep, Declared, KeySpace, LimitHistory, RuleIdentity,
};

use crate::asking::{SECOND, START, call, check_at, declare_at, limit, on_every_server};
use crate::support::Connection;

fn bucket(per_second: u64, burst: u64) -> Declared {
    Declared { algorithm: limit(Rate::per_second(per_second), burst).into(), slowest: None }
}

fn charge(history: &LimitHistory, rule: &RuleIdentity, key: &str, tokens: u64) -> [Charge; 1] {
    let key = KeySpace::default().bucket(rule, key).unwrap();
    [Charge::new(key, &history.limit().unwrap(), Cost::tokens(tokens))]
}

fn held(
    connection: &mut Connection,
    history: &LimitHistory,
    rule: &RuleIdentity,
    key: &str,
    now: u64,
) -> u64 {
    let mut batch = tollgate_redis::Batch::new();
    let [charge] = charge(history, rule, key, 0);
    batch.peek(&[charge]).unwrap();
    match &crate::asking::done_at(connection, &batch, now)[0] {
        tollgate_redis::Told::Checked(checked) => {
            checked.verdict().remaining().unwrap_or(Tokens::ZERO).as_micros()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn whoever_declares_last_is_right_and_all_see_one_history() {
    on_every_server(|_, _, connection| {
        let rule = RuleIdentity::new("default", "user");
        let first = declare_at(connection, &rule, bucket(10, 50), START).unwrap();
        let again = declare_at(connection, &rule, bucket(10, 50), START + SECOND).unwrap();
        assert_eq!(first, again, "the same limit changes nothing");
        let second = declare_at(connection, &rule, bucket(20, 50), START + 2 * SECOND).unwrap();
        assert_eq!(second.since_micros(), START + 2 * SECOND);
        let mut reading = Declaration::read_only(&KeySpace::default(), &rule);
        let reply = call(connection, &reading.begin());
        let DeclareStep::Agreed(read) = reading.next(&reply).unwrap() else { panic!() };
        assert_eq!(read, second);
        let absent = RuleIdentity::new("default", "nobody");
        let mut reading = Declaration::read_only(&KeySpace::default(), &absent);
        let reply = call(connection, &reading.begin());
        assert!(matches!(reading.next(&reply).unwrap(), DeclareStep::Absent));
    });
}

#[test]
fn a_record_that_is_read_is_kept() {
    on_every_server(|engine, _, connection| {
        let rule = RuleIdentity::new("default", "user");
        let key = KeySpace::default().history(&rule);
        declare_at(connection, &rule, bucket(10, 50), START).unwrap();
        let kept = |connection: &mut Connection| {
            let left = crate::asking::integer(&connection.ask(&[b"PTTL".as_slice(), key.as_bytes()]));
            // To the nearest: a moment has passed.
            let days = (left + 43_200_000) / 86_400_000;
            let soon = (40 * 86_400_000_u64).to_string();
            connection.ask(&[b"PEXPIRE".as_slice(), key.as_bytes(), soon.as_bytes()]);
            days
        };
        assert_eq!(kept(connection), 90, "{engine:?}");
        assert_eq!(kept(connection), 40, "{engine:?}");
        declare_at(connection, &rule, bucket(10, 50), START).unwrap();
        assert_eq!(kept(connection), 90, "{engine:?}");
    });
}

#[test]
fn of_two_nodes_that_declare_at_once_one_goes_first() {
    on_every_server(|_, _, connection| {
        let rule = RuleIdentity::new("default", "user");
        let [mut a, mut b] = [bucket(10, 50), bucket(20, 50)]
            .map(|declared| Declaration::new(&KeySpace::default(), &rule, declared));
        let (reply_a, reply_b) = (call(connection, &a.begin()), call(connection, &b.begin()));
        let DeclareStep::Send(write_a) = a.next(&reply_a).unwrap() else { panic!() };
        let DeclareStep::Send(write_b) = b.next(&reply_b).unwrap() else { panic!() };
        let reply_a = call(connection, &write_a);
        let DeclareStep::Agreed(seen_by_a) = a.next(&reply_a).unwrap() else { panic!() };
        assert_eq!(seen_by_a.algorithm(), Some(bucket(10, 50).algorithm));
        // The other was too late, looks again, and continues what it finds.
        let reply_b = call(connection, &write_b);
        let DeclareStep::Send(write_b) = b.next(&reply_b).unwrap() else { panic!() };
        let reply_b = call(connection, &write_b);
        let DeclareStep::Agreed(seen_by_b) = b.next(&reply_b).unwrap() else { panic!() };
        assert_eq!(seen_by_b.algorithm(), Some(bucket(20, 50).algorithm));
        assert!(seen_by_b.since_micros() > seen_by_a.since_micros());
    });
}

#[test]
fn a_node_that_paused_before_it_wrote_looks_again() {
    on_every_server(|_, _, connection| {
        let rule = RuleIdentity::new("default", "user");
        let mut declaration = Declaration::new(&KeySpace::default(), &rule, bucket(10, 50));
        let reply = call(connection, &declaration.begin().at_micros(START));
        let DeclareStep::Send(write) = declaration.next(&reply).unwrap() else { panic!() };
        let reply = call(connection, &write.at_micros(START + 2 * SECOND));
        let DeclareStep::Send(write) = declaration.next(&reply).unwrap() else { panic!() };
        let reply = call(connection, &write.at_micros(START + 2 * SECOND));
        let DeclareStep::Agreed(history) = declaration.next(&reply).unwrap() else { panic!() };
        assert_eq!(history.since_micros(), START + 2 * SECOND);
    });
}

#[test]
fn a_record_of_another_rule_or_of_nobody_is_told_of() {
    on_every_server(|_, _, connection| {
        let (rule, other) = (RuleIdentity::new("default", "user"), RuleIdentity::new("default", "other"));
        declare_at(connection, &other, bucket(1, 5), START).unwrap();
        let [rule_key, other_key] = [&rule, &other].map(|rule| KeySpace::default().history(rule));
        connection.ask(&[b"RENAME".as_slice(), other_key.as_bytes(), rule_key.as_bytes()]);
        let error = declare_at(connection, &rule, bucket(1, 5), START).unwrap_err();
        let foreign = DeclareError::OtherRule {
            policy: "default".to_owned(),
            name: "other".to_owned(),
            tier: String::new(),
        };
        assert_eq!(error, foreign);
        connection.ask(&[b"SET".as_slice(), rule_key.as_bytes(), b"nonsense"]);
        let error = declare_at(connection, &rule, bucket(1, 5), START).unwrap_err();
        assert!(error.to_string().contains("delete that key"), "{error}");
        connection.ask(&[b"DEL".as_slice(), rule_key.as_bytes()]);
        connection.ask(&[b"LPUSH".as_slice(), rule_key.as_bytes(), b"x"]);
        let error = declare_at(connection, &rule, bucket(1, 5), START).unwrap_err();
        assert!(
            matches!(error, DeclareError::Server(tollgate_redis::ServerError::WrongType(_))),
            "{error:?}"
        );
    });
}

/// A9, with the figures of the contract.
#[test]
fn a_raised_burst_is_room_and_not_tokens_for_those_who_are_there_and_those_who_are_not() {
    on_every_server(|_, _, connection| {
        let rule = RuleIdentity::new("default", "user");
        let old = declare_at(connection, &rule, bucket(10, 50), START).unwrap();
        assert!(check_at(connection, &charge(&old, &rule, "ann", 1), START).is_admitted());
        let hour = START + 3_600 * SECOND;
        let new = declare_at(connection, &rule, bucket(10, 5_000), hour).unwrap();
        for key in ["ann", "newcomer"] {
            assert_eq!(held(connection, &new, &rule, key, hour), 50_000_000, "{key}");
            assert_eq!(held(connection, &new, &rule, key, hour + SECOND), 60_000_000, "{key}");
        }
    });
}

/// A key that was kept by a rate which was cut since may be gone before it is full: then it counts as no fuller than it would be.
#[test]
fn a_bucket_that_is_gone_is_worth_no_more_than_if_it_were_there() {
    on_every_server(|engine, _, connection| {
        let rule = RuleIdentity::new("default", "user");
        let old = declare_at(connection, &rule, bucket(10, 50), START).unwrap();
        let cut = START + SECOND;
        for spent in [1, 10, 30, 50] {
            let key = format!("spent {spent}");
            assert!(check_at(connection, &charge(&old, &rule, &key, spent), START).is_admitted());
        }
        let new = declare_at(connection, &rule, bucket(1, 50), cut).unwrap();
        for after in [0, 1, 2, 3, 4, 5, 10, 49, 60] {
            let now = cut + after * SECOND;
            let absent = held(connection, &new, &rule, "never seen", now);
            for spent in [1_u64, 10, 30, 50] {
                // Gone by its time to live, which came from the old rate?
                let kept_until = START + spent * SECOND / 10 + 1_000_000;
                if now >= kept_until {
                    let there = held(connection, &new, &rule, &format!("spent {spent}"), now);
                    assert!(
                        absent <= there,
                        "{engine:?}: {spent} spent, {after} s after the cut: {absent} > {there}"
                    );
                }
            }
        }
        assert_eq!(
            held(connection, &new, &rule, "never seen", cut + 60 * SECOND),
            50_000_000,
            "full in the end"
        );
    });
}

/// More changes than are kept: what is older is understated, never overstated.
#[test]
fn a_bucket_from_before_all_known_limits_is_no_fuller_than_it_should_be() {
    on_every_server(|engine, _, connection| {
        let (rule, mut rng) = (RuleIdentity::new("default", "user"), fastrand::Rng::with_seed(7));
        for round in 0..40 {
            connection.typed("FLUSHALL");
            let mut now = START;
            let limits: Vec<Declared> = (0..9).map(|_| bucket(rng.u64(1..20), rng.u64(1..60))).collect();
            let mut history = declare_at(connection, &rule, limits[0], now).unwrap();
            let Algorithm::TokenBucket(first) = limits[0].algorithm else { panic!() };
            let mut meter = tollgate_core::Meter::new(first, moment(now), 0);
            let spent = first.burst().whole();
            assert!(check_at(connection, &charge(&history, &rule, "ann", spent), now).is_admitted());
            let mark = meter.level(moment(now)).mark_of(0);
            for declared in &limits[1..] {
                now += rng.u64(1..3 * SECOND);
                let Algorithm::TokenBucket(limit) = declared.algorithm else { panic!() };
                meter = meter.change(limit, moment(now));
                history = declare_at(connection, &rule, *declared, now).unwrap();
                let there = held(connection, &history, &rule, "ann", now);
                let true_balance = meter.level(moment(now)).balance(mark).max(0).unsigned_abs();
                assert!(there <= true_balance, "{engine:?}, round {round}: {there} > {true_balance}");
            }
            // In time the difference is gone.
            now += 100 * SECOND;
            assert_eq!(held(connection, &history, &rule, "ann", now), meter.limit().burst().as_micros());
        }
    });
}

fn moment(micros: u64) -> tollgate_core::Moment {
    tollgate_core::Moment::from_nanos(micros * 1_000)
}

/// A rolling deploy: two nodes with two limits that know nothing of one another's.
#[test]
fn two_nodes_with_two_limits_admit_at_most_the_larger_of_both() {
    on_every_server(|_, _, connection| {
        let rule = RuleIdentity::new("default", "user");
        let histories =
            [bucket(10, 50), bucket(100, 20)].map(|declared| LimitHistory::new(&declared, START).unwrap());
        let mut admitted = Vec::new();
        let mut rng = fastrand::Rng::with_seed(3);
        for step in 0..3_000 {
            let now = START + step * 5_000;
            if check_at(connection, &charge(&histories[rng.usize(..2)], &rule, "ann", 1), now).is_admitted() {
                admitted.push(now);
            }
        }
        for (first, from) in admitted.iter().enumerate() {
            for (last, until) in admitted.iter().enumerate().skip(first) {
                let most = 50 + 100 * (until - from) / SECOND + 1;
                assert!((last - first + 1) as u64 <= most);
            }
        }
    });
}

/// A clock that is set back and forth by hours, while limits change: whatever it does, tokens come from time that passed.
#[test]
fn no_clock_and_no_change_mints_more_than_the_time_that_passed() {
    on_every_server(|engine, _, connection| {
        let rule = RuleIdentity::new("default", "user");
        for round in 0..25 {
            connection.typed("FLUSHALL");
            let mut rng = fastrand::Rng::with_seed(round);
            let (mut now, mut passed, mut admitted) = (START, 0_u64, 0_u64);
            let mut history = declare_at(connection, &rule, bucket(10, 30), now).unwrap();
            for _ in 0..150 {
                let next = match rng.u32(..12) {
                    0 => now - rng.u64(..7_200 * SECOND),
                    1 => now - rng.u64(..3 * SECOND),
                    2 => now + rng.u64(..100 * SECOND),
                    _ => now + rng.u64(..SECOND / 2),
                };
                passed += next.saturating_sub(now);
                now = next;
                if rng.u32(..8) == 0 {
                    let declared = bucket(rng.u64(1..=10), rng.u64(1..=30));
                    history = declare_at(connection, &rule, declared, now).unwrap();
                }
                let cost = rng.u64(1..6);
                if check_at(connection, &charge(&history, &rule, "ann", cost), now).is_admitted() {
                    admitted += cost;
                }
            }
            // Each step back of less than a second may be lived through again.
            let most = 30 + 10 * passed / SECOND + 1;
            assert!(admitted <= most, "{engine:?}, round {round}: {admitted} of {most}");
        }
    });
}

/// A9: a larger burst is room to refill into. Nobody is given what no bucket can hold yet.
#[test]
fn a_gift_after_a_raised_burst_fills_no_more_than_any_bucket_can_hold() {
    on_every_server(|engine, _, connection| {
        let rule = RuleIdentity::new("default", "raised");
        let first = declare_at(connection, &rule, bucket(10, 50), START).unwrap();
        assert!(check_at(connection, &charge(&first, &rule, "a", 50), START + SECOND).is_admitted());
        let raised = declare_at(connection, &rule, bucket(10, 5_000), START + SECOND).unwrap();
        let [asked] = charge(&raised, &rule, "a", 1_000);
        let mut batch = tollgate_redis::Batch::new();
        batch.give(asked.key, &asked.limit, asked.cost).unwrap();
        let told = crate::asking::done_at(connection, &batch, START + 2 * SECOND).remove(0);
        let tollgate_redis::Told::Changed { changed, .. } = told else { panic!("{told:?}") };
        assert_eq!((changed.before, changed.after), (10_000_000, 60_000_000), "{engine:?}");
    });
}
