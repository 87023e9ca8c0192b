//! Snapshots (S7): a restart is no free burst, and a file that is no use is refused with a cure.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "snapshot/scratch.rs"]
mod scratch;

use scratch::Scratch;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tollgate::{
    Breadth, Burst, Clock, Cost, Key, Limit, Limiter, LimiterBuilder, Moment, Rate, Rule, RuleError, Span,
    TableFull,
};

const KEYS: usize = 1_000;
/// What a rate of one per day mints while a test runs, and much more: a minute's worth, in micro-tokens.
const MEANWHILE: u64 = 700;

fn per_day(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_day(tokens), Burst::tokens(burst)).unwrap()
}

/// With a clock that stands still: only the time between saving and restoring counts.
fn settings() -> LimiterBuilder {
    Limiter::builder().keys_max(KEYS).clock(Clock::manual(Moment::from_nanos(5_000_000_000)))
}

fn restored(path: &Path, limit: Limit) -> Limiter {
    settings().clock(Clock::manual(Moment::from_nanos(77))).restore(path).build(limit).unwrap()
}

fn balance(limiter: &Limiter, rule: &Rule, key: impl Key) -> u64 {
    let verdict = rule.peek_at(key, Cost::micros(1), limiter.now());
    verdict.remaining().unwrap().as_micros() + u64::from(verdict.is_admitted())
}

#[track_caller]
fn assert_about(tokens: u64, found: u64) {
    let least = tokens * 1_000_000;
    assert!((least..least + MEANWHILE).contains(&found), "{tokens} tokens, found {found} micro-tokens");
}

#[test]
fn balances_are_what_they_would_have_been() {
    let scratch = Scratch::new("balances");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    let _ = limiter.check_n("alice", Cost::tokens(30));
    let _ = limiter.check_n(42, Cost::tokens(50));
    limiter.save(scratch.file()).unwrap();
    drop(limiter);

    let limiter = restored(&scratch.file(), per_day(1, 50));
    let rule = limiter.default_rule();
    assert_about(20, balance(&limiter, rule, "alice"));
    assert_about(0, balance(&limiter, rule, 42));
    assert_eq!(balance(&limiter, rule, "never seen"), 50_000_000);
    assert_eq!(limiter.stats().slots_taken, 2);
}

#[test]
fn saved_size_is_taken_over_where_none_is_set() {
    let scratch = Scratch::new("adopted");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    let _ = limiter.check_n("alice", Cost::tokens(30));
    limiter.save(scratch.file()).unwrap();
    drop(limiter);

    let other_size = || settings().keys_max(7 * KEYS).restore(scratch.file());
    let refused = other_size().build(per_day(1, 50)).unwrap_err().to_string();
    assert!(refused.contains("`keys_max` 1000, and this one has 7000"), "{refused}");
    let limiter = other_size().adopt_saved_size(KEYS..=KEYS).build(per_day(1, 50)).unwrap();
    assert_eq!(limiter.stats().keys_max, KEYS);
    assert_about(20, balance(&limiter, limiter.default_rule(), "alice"));
    for others in [1..=KEYS - 1, KEYS + 1..=9 * KEYS] {
        let refused = other_size().adopt_saved_size(others).build(per_day(1, 50)).unwrap_err().to_string();
        assert!(refused.contains("`keys_max` 1000, and this one has 7000"), "{refused}");
    }
}

#[test]
fn balances_survive_a_second_restart_without_a_check() {
    let scratch = Scratch::new("twice");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    let _ = limiter.check_n("alice", Cost::tokens(30));
    let _ = limiter.explicit().check("bob", &per_day(1, 50), Cost::tokens(30));
    limiter.save(scratch.file()).unwrap();
    for _ in 0..2 {
        let limiter = restored(&scratch.file(), per_day(1, 50));
        assert_eq!(limiter.live_buckets().count(), 1);
        limiter.save(scratch.file()).unwrap();
    }
    let limiter = restored(&scratch.file(), per_day(1, 50));
    assert_about(20, balance(&limiter, limiter.default_rule(), "alice"));
    assert_eq!(limiter.stats().explicit.slots_taken, 1);
}

#[test]
fn time_away_refills() {
    let scratch = Scratch::new("time_away");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    // Full a few nanoseconds after the last check, so by the next start in any case.
    let fast = Limit::new(Rate::per_second(1_000_000_000), Burst::tokens(10)).unwrap();
    let _ = limiter.rule("fast", fast).unwrap().check_n("alice", Cost::tokens(10));
    let _ = limiter.check_n("alice", Cost::tokens(50));
    limiter.save(scratch.file()).unwrap();
    let saved = fs::read(scratch.file()).unwrap();

    let limiter = restored(&scratch.file(), per_day(1, 50));
    assert_eq!(balance(&limiter, &limiter.rule("fast", fast).unwrap(), "alice"), 10_000_000);
    assert_about(0, balance(&limiter, limiter.default_rule(), "alice"));

    // The same file, written three days earlier by the wall clock.
    let three_days = Span::from_secs(3 * 86_400).as_nanos();
    scratch.write(&scratch::saved_at(&saved, |wall| wall - three_days));
    let limiter = restored(&scratch.file(), per_day(1, 50));
    assert_about(3, balance(&limiter, limiter.default_rule(), "alice"));
}

#[test]
fn a_wall_clock_that_ran_back_gives_nothing() {
    let scratch = Scratch::new("ran_back");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    let _ = limiter.check_n("alice", Cost::tokens(49));
    limiter.save(scratch.file()).unwrap();
    let saved = fs::read(scratch.file()).unwrap();
    scratch.write(&scratch::saved_at(&saved, |wall| wall + Span::from_secs(86_400).as_nanos()));
    let limiter = restored(&scratch.file(), per_day(1, 50));
    assert_eq!(balance(&limiter, limiter.default_rule(), "alice"), 1_000_000);
}

#[test]
fn ten_restarts_are_no_free_burst() {
    let scratch = Scratch::new("ten_restarts");
    let mut admitted = 0;
    for _ in 0..10 {
        let limiter = restored(&scratch.file(), per_day(1, 50));
        admitted += (0..7).filter(|_| limiter.check("alice").is_admitted()).count();
        limiter.save(scratch.file()).unwrap();
    }
    assert_eq!(admitted, 50);
}

#[test]
fn without_a_file_all_buckets_are_full() {
    let scratch = Scratch::new("first_start");
    let limiter = restored(&scratch.file(), per_day(1, 50));
    assert_eq!(balance(&limiter, limiter.default_rule(), "alice"), 50_000_000);
    assert!(!scratch.file().exists(), "restoring writes nothing");
}

#[test]
fn only_its_owner_can_read_a_snapshot() {
    let scratch = Scratch::new("mode");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    limiter.save(scratch.file()).unwrap();
    assert_eq!(mode(&scratch.file()), 0o600);

    // Over an older file that all could read.
    fs::set_permissions(scratch.file(), fs::Permissions::from_mode(0o666)).unwrap();
    let _ = limiter.check_n("alice", Cost::tokens(50));
    limiter.save(scratch.file()).unwrap();
    assert_eq!(mode(&scratch.file()), 0o600);
    assert_eq!(
        fs::read_dir(scratch.file().parent().unwrap()).unwrap().count(),
        1,
        "nothing else is left behind"
    );
    assert!(!restored(&scratch.file(), per_day(1, 50)).check("alice").is_admitted(), "the newer one");
}

#[test]
fn what_a_killed_program_was_writing_is_swept_and_nothing_else_is() {
    let scratch = Scratch::new("swept");
    for name in ["snapshot", "snapshot.bad", "snapshot.0123456789abcde", "snapshot.0123456789abcdeg", "other"]
    {
        fs::write(scratch.path(name), "").unwrap();
    }
    for name in ["snapshot.0123456789abcdef", "snapshot.ffffffffffffffff"] {
        fs::write(scratch.path(name), "").unwrap();
    }
    fs::create_dir(scratch.path("snapshot.0000000000000000")).unwrap();
    assert_eq!(tollgate::sweep_unfinished_saves(scratch.file()).unwrap(), 2);
    assert_eq!(fs::read_dir(scratch.file().parent().unwrap()).unwrap().count(), 6);
}

#[test]
fn a_limit_that_is_declared_differently_applies_as_a_live_change() {
    let scratch = Scratch::new("live_change");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    let logins = limiter.rule("logins", per_day(1, 50)).unwrap();
    for rule in [limiter.default_rule(), &logins] {
        let _ = rule.check_n("alice", Cost::tokens(20));
    }
    limiter.save(scratch.file()).unwrap();

    let limiter = restored(&scratch.file(), per_day(2, 5_000));
    let (rule, logins) = (limiter.default_rule(), limiter.rule("logins", per_day(1, 10)).unwrap());
    assert_eq!((rule.limit(), logins.limit()), (per_day(2, 5_000).into(), per_day(1, 10).into()));
    assert_about(30, balance(&limiter, rule, "alice"));
    assert_about(50, balance(&limiter, rule, "never seen"));
    assert_about(10, balance(&limiter, &logins, "alice"));
}

#[test]
fn rules_and_tiers_find_their_buckets_by_name() {
    let scratch = Scratch::new("tiers");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    let endpoint = limiter.shared_rule("endpoint", per_day(1, 20), Breadth::Group).unwrap();
    let pro = limiter.default_rule().tier("pro", per_day(1, 500)).unwrap();
    let _ = pro.check_n("alice", Cost::tokens(100));
    let _ = endpoint.check_n("/search", Cost::tokens(5));
    limiter.save(scratch.file()).unwrap();

    // Declared in another order, one of them after one that is new.
    let limiter = restored(&scratch.file(), per_day(1, 50));
    let fresh = limiter.rule("new", per_day(1, 7)).unwrap();
    let pro = limiter.default_rule().tier("pro", per_day(1, 500)).unwrap();
    let endpoint = limiter.shared_rule("endpoint", per_day(1, 20), Breadth::Group).unwrap();
    assert_about(400, balance(&limiter, &pro, "alice"));
    assert_about(15, balance(&limiter, &endpoint, "/search"));
    assert_eq!(balance(&limiter, &fresh, "alice"), 7_000_000);
    assert_about(50, balance(&limiter, limiter.default_rule(), "alice"));
}

#[test]
fn a_rule_keeps_its_breadth_over_a_restart() {
    let scratch = Scratch::new("breadth");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    limiter.shared_rule("endpoint", per_day(1, 20), Breadth::Group).unwrap();
    limiter.save(scratch.file()).unwrap();
    let refused = restored(&scratch.file(), per_day(1, 50)).rule("endpoint", per_day(1, 20)).unwrap_err();
    assert_eq!(refused, RuleError::BreadthConflict { is: Breadth::Group, asked: Breadth::Client });
}

#[test]
fn a_rule_that_nobody_declares_any_more_is_kept() {
    let scratch = Scratch::new("unknown_rule");
    let limiter = settings().build(per_day(1, 50)).unwrap();
    let _ = limiter.rule("seasonal", per_day(1, 50)).unwrap().check_n("alice", Cost::tokens(50));
    limiter.save(scratch.file()).unwrap();
    for _ in 0..3 {
        restored(&scratch.file(), per_day(1, 50)).save(scratch.file()).unwrap();
    }
    let limiter = restored(&scratch.file(), per_day(1, 50));
    let seasonal = limiter.rule("seasonal", per_day(1, 50)).unwrap();
    assert!(!seasonal.check("alice").is_admitted());
}

#[test]
fn full_buckets_take_no_room_in_the_file() {
    let scratch = Scratch::new("size");
    let clock = Clock::manual(Moment::from_nanos(5_000_000_000));
    let limiter = settings().clock(clock.clone()).build(per_day(86_400, 50)).unwrap();
    for client in 0..500 {
        let _ = limiter.check(client);
    }
    limiter.save(scratch.file()).unwrap();
    let crowd = fs::metadata(scratch.file()).unwrap().len();
    clock.advance(Span::from_secs(2));
    let _ = limiter.check("alice");
    limiter.save(scratch.file()).unwrap();
    let alone = fs::metadata(scratch.file()).unwrap().len();
    assert_eq!(crowd - alone, 499 * 24);
}

#[test]
fn a_crowded_table_is_crowded_after_a_restart() {
    for table_full in [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow] {
        let scratch = Scratch::new("crowded");
        let mut spent = vec![0; 1_000];
        for _ in 0..5 {
            let settings = settings().keys_max(1).table_full(table_full).restore(scratch.file());
            let limiter = settings.build(per_day(1, 10)).unwrap();
            for (client, spent) in (0_u32..).zip(&mut spent) {
                *spent += (0..3).filter(|_| limiter.check(client).is_admitted()).count();
            }
            limiter.save(scratch.file()).unwrap();
        }
        let most = spent.iter().max().unwrap();
        assert!(*most <= 10, "{most} under {table_full:?}");
    }
}

#[test]
fn a_snapshot_is_sound_though_checks_and_new_rules_go_on() {
    let scratch = Scratch::new("busy");
    let build = || settings().keys_max(8).restore(scratch.file()).build(per_day(1, 5_000));
    let (limiter, is_over) = (build().unwrap(), AtomicBool::new(false));
    let admitted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let going = || !is_over.load(Ordering::Relaxed);
            for turn in (0_u32..).take_while(|_| going()) {
                if turn % 100 == 0 {
                    let name = format!("rule {}", turn / 100 % 500);
                    let _ = limiter.rule(&name, per_day(1, 3)).unwrap().check(turn);
                }
                let _ = limiter.check(turn % 300);
                if limiter.check("alice").is_admitted() {
                    admitted.fetch_add(1, Ordering::Release);
                }
            }
        });
        for _ in 0..40 {
            let before = admitted.load(Ordering::Acquire);
            limiter.save(scratch.file()).unwrap();
            let revived = build().unwrap();
            let left = balance(&revived, revived.default_rule(), "alice") / 1_000_000;
            assert!(left <= 5_000 - before, "{left} left, though {before} were admitted before");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn every_one_of_many_clients_comes_back() {
    let scratch = Scratch::new("many");
    let settings = || settings().keys_max(50_000);
    let limiter = settings().build(per_day(1, 1)).unwrap();
    let clients = 0..40_000_u32;
    let housed: Vec<u32> = clients.filter(|client| limiter.check(*client).is_admitted()).collect();
    limiter.save(scratch.file()).unwrap();
    let limiter = settings().restore(scratch.file()).build(per_day(1, 1)).unwrap();
    assert!(housed.iter().all(|client| !limiter.check(*client).is_admitted()));
    assert_eq!(limiter.stats().slots_taken, housed.len() as u64);
}
