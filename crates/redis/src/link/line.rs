//! One connection: words go out, a reply comes back, in order. Knows no deadline and makes no second attempt.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, Value};

use super::{Address, LinkError};
use crate::{Call, Reply};

/// Deepest list in a reply; scripts answer with one list, `CLUSTER SLOTS` with three.
const DEPTH_MAX: usize = 8;

/// A connection that many may use at once.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) connection: MultiplexedConnection,
    pub(crate) address: Arc<Address>,
}

impl Line {
    /// Sends words as one command.
    pub(crate) async fn ask(&self, words: &[&str]) -> Result<Reply, LinkError> {
        let mut command = Cmd::new();
        for word in words {
            command.arg(*word);
        }
        self.send(&command).await
    }

    pub(crate) async fn ping(&self) -> Result<Reply, LinkError> {
        self.ask(&["PING"]).await
    }

    /// The answer to the first question on this connection; the error says why there is none.
    pub(crate) async fn first_answer(&self) -> Result<Reply, RedisError> {
        let mut connection = self.connection.clone();
        connection.send_packed_command(&redis::cmd("PING")).await.map(|value| reply(value, 0))
    }

    /// Calls a script by its digest.
    pub(crate) async fn evalsha(&self, call: &Call, is_asking: bool) -> Result<Reply, LinkError> {
        self.send_asking(command(call, "EVALSHA", call.script.sha()), is_asking).await
    }

    /// Calls a script with its text, which the server then knows.
    pub(crate) async fn eval(&self, call: &Call, is_asking: bool) -> Result<Reply, LinkError> {
        self.send_asking(command(call, "EVAL", call.script.text()), is_asking).await
    }

    async fn send_asking(&self, command: Cmd, is_asking: bool) -> Result<Reply, LinkError> {
        if !is_asking {
            return self.send(&command).await;
        }
        // The two must not be parted by somebody else's command.
        let mut both = Pipeline::with_capacity(2);
        both.cmd("ASKING").add_command(command);
        let mut connection = self.connection.clone();
        let answers = connection.send_packed_commands(&both, 0, 2).await.map_err(|error| lost(&error))?;
        Ok(answers.into_iter().nth(1).map_or(Reply::Nothing, |value| reply(value, 0)))
    }

    async fn send(&self, command: &Cmd) -> Result<Reply, LinkError> {
        let mut connection = self.connection.clone();
        let answer = connection.send_packed_command(command).await;
        answer.map(|value| reply(value, 0)).map_err(|error| lost(&error))
    }
}

fn command(call: &Call, name: &str, script: &str) -> Cmd {
    let words = || call.keys.iter().chain(&call.arguments);
    let bytes: usize = words().map(Vec::len).sum();
    let mut command = Cmd::with_capacity(words().count() + 3, bytes + script.len() + 16);
    command.arg(name).arg(script).arg(call.keys.len());
    for word in words() {
        command.arg(&word[..]);
    }
    command
}

/// Errors of the server are replies; any other means that the connection is of no use any more.
fn lost(_: &RedisError) -> LinkError {
    LinkError::Lost
}

fn reply(value: Value, depth: usize) -> Reply {
    let list = |values: Vec<Value>| {
        if depth == DEPTH_MAX {
            return Reply::Error("ERR lists are nested too deeply".to_owned());
        }
        Reply::List(values.into_iter().map(|value| reply(value, depth + 1)).collect())
    };
    match value {
        Value::Int(number) => Reply::Integer(number),
        Value::BulkString(bytes) => Reply::Bytes(bytes),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Reply::Bytes(text.into_bytes()),
        Value::Okay => Reply::Bytes(b"OK".to_vec()),
        Value::Array(values) | Value::Set(values) => list(values),
        Value::Map(pairs) => list(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect()),
        Value::ServerError(error) => Reply::Error(match error.details() {
            Some(details) => format!("{} {details}", error.code()),
            None => error.code().to_owned(),
        }),
        Value::Boolean(truth) => Reply::Integer(i64::from(truth)),
        // Nothing that scripts answer in RESP2.
        _ => Reply::Nothing,
    }
}
