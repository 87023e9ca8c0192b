//! A denial writes nothing (A4), by the server's own statistics: what it has changed, and which commands it has run.

use std::collections::BTreeMap;

use tollgate_core::{
    Algorithm, Burst, Concurrency, Cost, FixedWindow, LeakyBucket, Rate, SlidingCounter, SlidingLog, Span,
    Window,
};
use tollgate_redis::{
    Batch, Charge, Checked, Declared, KeyName, KeySpace, LimitHistory, Reply, RuleIdentity, SharedLimit, Told,
};

use crate::asking::{START, ask, check_at, done_at, explicit, limit, on_every_server, text};
use crate::support::{Connection, Engine};

/// What every bucket here has room for, in tokens. Much less than a token is minted while a test lasts.
const ROOM: u64 = 3;

/// What a server says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Statistics {
    /// How often anything that it keeps was changed.
    changes: String,
    keys: Reply,
    /// How often each command was run that may write. A script's commands are among them.
    writes: BTreeMap<String, String>,
}

impl Statistics {
    fn of(connection: &mut Connection) -> Statistics {
        let keeping = text(&connection.typed("INFO persistence"));
        let changes = keeping.lines().find(|line| line.starts_with("rdb_changes_since_last_save:"));
        let changes = changes.unwrap_or_else(|| panic!("{keeping}")).to_owned();
        let run = text(&connection.typed("INFO commandstats"));
        let run = run.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':'));
        let mut writes = BTreeMap::new();
        for (command, statistics) in run {
            let calls = statistics.split(',').next().unwrap_or_default();
            if may_write(connection, command) {
                writes.insert(command.to_owned(), calls.to_owned());
            }
        }
        Statistics { changes, keys: connection.typed("DBSIZE"), writes }
    }
}

/// Whether a command may write, by what the server says of it.
fn may_write(connection: &mut Connection, command: &str) -> bool {
    let command = command.split('|').next().unwrap_or_default();
    let reply = connection.ask(&["COMMAND", "INFO", command]);
    let Reply::List(commands) = &reply else { panic!("{reply:?}") };
    let Some(Reply::List(about)) = commands.first() else { panic!("{command}: {reply:?}") };
    let Some(Reply::List(flags)) = about.get(2) else { panic!("{command}: {reply:?}") };
    flags.iter().any(|flag| text(flag) == "write")
}

/// Does what is denied, and expects the server to have changed nothing.
#[track_caller]
fn writes_nothing(connection: &mut Connection, engine: Engine, what: &str, denied: impl Fn(&mut Connection)) {
    let before = Statistics::of(connection);
    denied(connection);
    assert_eq!(Statistics::of(connection), before, "{engine:?}, {what}");
}

/// Every algorithm, each with room for [`ROOM`] tokens.
fn every_algorithm() -> [(&'static str, Algorithm); 6] {
    let (quota, window) = (Burst::tokens(ROOM), Span::from_secs(3_600));
    [
        ("token bucket", limit(Rate::per_day(1), ROOM).into()),
        ("leaky bucket", LeakyBucket::new(Rate::per_day(1), quota).unwrap().into()),
        ("fixed window", FixedWindow::new(quota, Window::YEAR).unwrap().into()),
        ("sliding counter", SlidingCounter::new(quota, window).unwrap().into()),
        ("sliding log", SlidingLog::new(quota, window).unwrap().into()),
        ("concurrency", Concurrency::new(ROOM.try_into().unwrap(), window).unwrap().into()),
    ]
}

fn shared(algorithm: Algorithm) -> SharedLimit {
    LimitHistory::new(&Declared { algorithm, slowest: None }, START).unwrap().limit().unwrap()
}

fn name(key: &str) -> KeyName {
    KeySpace::default().bucket(&RuleIdentity::new("default", "rule"), key).unwrap()
}

/// Takes so many tokens of each of these buckets, or of none.
fn enter(connection: &mut Connection, keys: &[&str], limit: &SharedLimit, tokens: u64, now: u64) -> Checked {
    let charges: Vec<Charge> =
        keys.iter().map(|key| Charge::new(name(key), limit, Cost::tokens(tokens))).collect();
    let mut batch = Batch::new();
    batch.enter(&charges).unwrap();
    match done_at(connection, &batch, now).remove(0) {
        Told::Checked(checked) => checked,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_denial_writes_nothing() {
    on_every_server(|engine, _, connection| {
        let (limit, other) = (explicit(Rate::per_day(1), 2), explicit(Rate::per_day(1), 9));
        assert!(check_at(connection, &[ask("a", &limit, 2)], 0).is_admitted());
        writes_nothing(connection, engine, "limits that come with the call", |connection| {
            for _ in 0..50 {
                assert!(!check_at(connection, &[ask("a", &limit, 1)], 0).is_admitted());
                assert!(!check_at(connection, &[ask("b", &other, 1), ask("a", &limit, 1)], 0).is_admitted());
                assert!(!check_at(connection, &[ask("a", &limit, 3)], 0).is_admitted());
            }
        });
        assert_eq!(
            connection.typed("EXISTS tg:*:b"),
            Reply::Integer(0),
            "a bucket that was not charged is not there"
        );
        assert_eq!(connection.typed("PERSIST tg:*:a"), Reply::Integer(1));
        assert!(!check_at(connection, &[ask("a", &limit, 1)], 0).is_admitted());
        assert_eq!(connection.typed("PTTL tg:*:a"), Reply::Integer(-1), "not even its time to live");
    });
}

#[test]
fn an_admission_is_seen_in_the_statistics_that_a_denial_does_not_change() {
    on_every_server(|engine, _, connection| {
        for (what, algorithm) in every_algorithm() {
            let limit = shared(algorithm);
            connection.typed("FLUSHALL");
            let before = Statistics::of(connection);
            assert!(enter(connection, &["ann"], &limit, 1, 0).is_admitted());
            let after = Statistics::of(connection);
            assert_ne!(before.changes, after.changes, "{engine:?}, {what}");
            assert_ne!(before.keys, after.keys, "{engine:?}, {what}");
            assert_ne!(before.writes, after.writes, "{engine:?}, {what}");
        }
    });
}

#[test]
fn a_denial_writes_nothing_whatever_the_algorithm() {
    on_every_server(|engine, _, connection| {
        for (what, algorithm) in every_algorithm() {
            let limit = shared(algorithm);
            connection.typed("FLUSHALL");
            assert!(enter(connection, &["ann"], &limit, ROOM, START).is_admitted());
            let dump =
                |connection: &mut Connection| connection.ask(&[b"DUMP".as_slice(), name("ann").as_bytes()]);
            connection.ask(&[b"PERSIST".as_slice(), name("ann").as_bytes()]);
            let before = dump(connection);
            writes_nothing(connection, engine, what, |connection| {
                for tokens in 1..=ROOM {
                    assert!(!enter(connection, &["ann"], &limit, tokens, START + 7).is_admitted(), "{what}");
                }
            });
            assert_eq!(dump(connection), before, "{engine:?}, {what}");
            let kept = connection.ask(&[b"PTTL".as_slice(), name("ann").as_bytes()]);
            assert_eq!(kept, Reply::Integer(-1), "{engine:?}, {what}: not even its time to live");
        }
    });
}

/// One of the four is empty, wherever it stands: the other three are as they were, whether they were charged before or are not there.
#[test]
fn a_denial_by_one_of_four_buckets_writes_nothing_whatever_the_algorithm() {
    on_every_server(|engine, _, connection| {
        for (what, algorithm) in every_algorithm() {
            let limit = shared(algorithm);
            for at in 0..4 {
                connection.typed("FLUSHALL");
                let mut keys = ["touched", "new", "other", "newer"];
                assert!(enter(connection, &["touched", "other"], &limit, 1, START).is_admitted());
                keys[at] = "empty";
                assert!(enter(connection, &["empty"], &limit, ROOM, START).is_admitted());
                writes_nothing(connection, engine, what, |connection| {
                    for tokens in [1, 2] {
                        let denied = enter(connection, &keys, &limit, tokens, START + 7);
                        assert!(!denied.is_admitted(), "{engine:?}, {what}, the one at {at} is empty");
                    }
                });
            }
        }
    });
}
