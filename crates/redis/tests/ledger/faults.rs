//! What is in the way: keys of others, servers that do not write, calls of another version.

use tollgate_core::Rate;
use tollgate_redis::{Batch, KeyFault, Reply, ServerError, Told};

use crate::asking::{START, ask, call, check_at, done_at, explicit, name, on_every_server, text};
use crate::support::{Engine, Server};

#[test]
fn a_key_of_another_type_or_content_is_told_of_and_left_alone_and_the_rest_of_the_batch_is_done() {
    on_every_server(|engine, _, connection| {
        let limit = explicit(Rate::per_second(1), 3);
        connection.typed("LPUSH tg:*:list x");
        connection.typed("SET tg:*:text somebody-else's");
        connection.typed("SET tg:*:digits 12345678901");
        let mut batch = Batch::new();
        for key in ["a", "list", "text", "digits"] {
            batch.check(&[ask(key, &limit, 1)]).unwrap();
        }
        batch.check(&[ask("a", &limit, 1), ask("list", &limit, 1)]).unwrap();
        batch.peek(&[ask("list", &limit, 1)]).unwrap();
        batch.give(name("list"), &limit, tollgate_core::Cost::ONE).unwrap();
        batch.check(&[ask("a", &limit, 2)]).unwrap();
        let told = done_at(connection, &batch, START);
        let faults: Vec<Option<KeyFault>> =
            told.iter().map(|told| if let Told::Fault(fault) = told { Some(*fault) } else { None }).collect();
        let (wrong, unknown) = (Some(KeyFault::WrongType), Some(KeyFault::UnknownState));
        assert_eq!(faults, [None, wrong, unknown, unknown, wrong, wrong, wrong, None], "{engine:?}");
        assert!(
            matches!(&told[7], Told::Checked(checked) if checked.is_admitted()),
            "the joint check charged nothing"
        );
        assert_eq!(text(&connection.typed("TYPE tg:*:list")), "list");
        assert_eq!(text(&connection.typed("GET tg:*:text")), "somebody-else's");
        // Alone in its call, too.
        let mut batch = Batch::new();
        batch.check(&[ask("list", &limit, 1)]).unwrap();
        assert_eq!(done_at(connection, &batch, START), [Told::Fault(KeyFault::WrongType)]);
    });
}

#[test]
fn a_server_without_memory_is_told_of_and_charges_nothing() {
    for engine in Engine::all() {
        let server = Server::start(engine, "--maxmemory 1mb --maxmemory-policy noeviction");
        let mut connection = server.connect();
        let limit = explicit(Rate::per_second(1), 3);
        connection.ask(&["SET", "filler", &"x".repeat(4 << 20)]);
        let mut batch = Batch::new();
        batch.check(&[ask("a", &limit, 1)]).unwrap();
        let error = batch.read(&call(&mut connection, &batch.call())).unwrap_err();
        assert!(matches!(error, ServerError::OutOfMemory(_)), "{engine:?}: {error:?}");
        assert!(error.to_string().contains("`maxmemory`"));
        assert_eq!(connection.typed("EXISTS tg:*:a"), Reply::Integer(0));
    }
}

#[test]
fn a_replica_is_told_of() {
    for engine in Engine::all() {
        let server = Server::start(engine, "");
        let mut connection = server.connect();
        // To a master that is not there: it serves what it has, and writes nothing.
        connection.typed("REPLICAOF 127.0.0.1 1");
        let limit = explicit(Rate::per_second(1), 3);
        let mut batch = Batch::new();
        batch.check(&[ask("a", &limit, 1)]).unwrap();
        let error = batch.read(&call(&mut connection, &batch.call())).unwrap_err();
        assert!(
            matches!(error, ServerError::ReadOnly(_) | ServerError::NotReady(_)),
            "{engine:?}: {error:?}"
        );
    }
}

#[test]
fn a_call_of_another_version_or_without_sense_changes_nothing() {
    on_every_server(|engine, _, connection| {
        let limit = explicit(Rate::per_second(1), 3);
        let mut batch = Batch::new();
        batch.check(&[ask("a", &limit, 1)]).unwrap();
        let mut other = batch.call();
        other.arguments[0] = b"2".to_vec();
        let error = batch.read(&call(connection, &other)).unwrap_err();
        assert!(matches!(error, ServerError::VersionMismatch(_)), "{engine:?}: {error:?}");
        let bad_costs = ["-5", "nan", "0.5", "1e300", "x"].map(|bad| (12, bad));
        let bad_limits =
            [(4, "z"), (5, "0"), (6, "0"), (7, "0"), (7, "9000000000000001"), (6, "9007199254740991")];
        for (word, bad) in bad_costs.into_iter().chain(bad_limits).chain([(8, "z"), (13, "inf")]) {
            let mut bad_call = batch.call();
            bad_call.arguments[word] = bad.as_bytes().to_vec();
            let reply = call(connection, &bad_call);
            assert!(matches!(reply, Reply::Error(_)), "{engine:?}: word {word} as {bad}: {reply:?}");
            let error = batch.read(&reply).unwrap_err();
            assert!(matches!(error, ServerError::BadArguments(_)), "{engine:?}: {error:?}");
        }
        assert_eq!(connection.typed("DBSIZE"), Reply::Integer(0));
        let malformed =
            [Reply::Nothing, Reply::List(vec![]), Reply::List(vec![Reply::Integer(5), Reply::Integer(7)])];
        for reply in malformed {
            assert!(matches!(batch.read(&reply), Err(ServerError::Malformed(_))));
        }
    });
}

#[test]
fn a_user_who_may_not_is_told_of() {
    on_every_server(|engine, server, connection| {
        for (user, may) in [
            ("keyless", "~other:* +@all"),
            ("timeless", "~* +@all -get -mget"),
            ("writeless", "~* +@all -set"),
        ] {
            connection.typed(&format!("ACL SETUSER {user} on >secret {may}"));
            let mut theirs = server.connect();
            assert_eq!(text(&theirs.typed(&format!("AUTH {user} secret"))), "OK");
            let limit = explicit(Rate::per_second(1), 3);
            let mut batch = Batch::new();
            batch.check(&[ask("a", &limit, 1)]).unwrap();
            let error = batch.read(&call(&mut theirs, &batch.call())).unwrap_err();
            assert!(matches!(error, ServerError::NotAllowed(_)), "{engine:?} {user}: {error:?}");
        }
        assert_eq!(connection.typed("DBSIZE"), Reply::Integer(0));
    });
}

#[test]
fn a_flushed_script_is_sent_again() {
    on_every_server(|_, _, connection| {
        let limit = explicit(Rate::per_second(1), 3);
        assert!(check_at(connection, &[ask("a", &limit, 1)], 0).is_admitted());
        connection.typed("SCRIPT FLUSH");
        assert!(check_at(connection, &[ask("a", &limit, 1)], 0).is_admitted());
    });
}
