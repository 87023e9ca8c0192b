//! Batches and scripts, asked of a server.

use tollgate_core::{Burst, Cost, Limit, Rate};
use tollgate_redis::{
    Batch, Call, Charge, Checked, Declaration, DeclareError, DeclareStep, Declared, KeyName, KeySpace,
    LimitHistory, Reply, RuleIdentity, ServerError, SharedLimit, Told,
};

use crate::support::{Connection, Engine, Server};

/// A moment in 2026, in microseconds.
pub(crate) const START: u64 = 1_790_000_000_000_000;
pub(crate) const SECOND: u64 = 1_000_000;

/// Does the same on every server that there is.
pub(crate) fn on_every_server(test: impl Fn(Engine, &Server, &mut Connection)) {
    for engine in Engine::all() {
        let server = Server::start(engine, "");
        let mut connection = server.connect();
        test(engine, &server, &mut connection);
    }
}

/// Calls a script, which the server is told if it does not know it.
pub(crate) fn call(connection: &mut Connection, call: &Call) -> Reply {
    match connection.ask(&call.evalsha()) {
        Reply::Error(error) if ServerError::of_message(&error) == ServerError::NoScript => {
            connection.ask(&call.eval())
        }
        reply => reply,
    }
}

/// Does a batch at a moment of the test's choosing; 0 is the server's own time.
#[track_caller]
pub(crate) fn done_at(connection: &mut Connection, batch: &Batch, now_micros: u64) -> Vec<Told> {
    let reply = call(connection, &batch.call().at_micros(now_micros));
    batch.read(&reply).unwrap_or_else(|error| panic!("{error}"))
}

/// One check at a moment.
#[track_caller]
pub(crate) fn check_at(connection: &mut Connection, charges: &[Charge], now_micros: u64) -> Checked {
    let mut batch = Batch::new();
    batch.check(charges).unwrap();
    match done_at(connection, &batch, now_micros).remove(0) {
        Told::Checked(checked) => checked,
        other => panic!("{other:?}"),
    }
}

/// Declares a rule's limit at a moment.
pub(crate) fn declare_at(
    connection: &mut Connection,
    rule: &RuleIdentity,
    declared: Declared,
    now_micros: u64,
) -> Result<LimitHistory, DeclareError> {
    let mut declaration = Declaration::new(&KeySpace::default(), rule, declared);
    let mut next = declaration.begin();
    loop {
        let reply = call(connection, &next.at_micros(now_micros));
        match declaration.next(&reply)? {
            DeclareStep::Send(call) => next = call,
            DeclareStep::Agreed(history) => return Ok(history),
            DeclareStep::Absent => panic!("it was declared"),
        }
    }
}

pub(crate) fn limit(rate: Rate, burst: u64) -> Limit {
    Limit::new(rate, Burst::tokens(burst)).unwrap()
}

pub(crate) fn explicit(rate: Rate, burst: u64) -> SharedLimit {
    SharedLimit::explicit(&limit(rate, burst)).unwrap()
}

pub(crate) fn name(key: &str) -> KeyName {
    KeySpace::default().explicit(key).unwrap()
}

/// So many tokens from the bucket of `key`.
pub(crate) fn ask(key: &str, limit: &SharedLimit, tokens: u64) -> Charge {
    Charge::new(name(key), limit, Cost::tokens(tokens))
}

#[track_caller]
pub(crate) fn integer(reply: &Reply) -> i64 {
    match reply {
        Reply::Integer(number) => *number,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(crate) fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("{other:?}"),
    }
}
