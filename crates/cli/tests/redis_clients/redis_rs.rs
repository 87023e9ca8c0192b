//! redis-rs, in this process. A connection that broke is opened anew, as its users do.

use redis::{ConnectionAddr, ConnectionLike, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo};
use serde_json::{Map, Value};

use crate::client::{Client, Login, Refusal, Replied};

pub(crate) struct RedisRs {
    client: redis::Client,
    connection: redis::Connection,
}

impl Client for RedisRs {
    const COMPONENT: &str = "redis-rs";

    fn connect(login: Login<'_>) -> Result<RedisRs, Refusal> {
        let protocol = if login.protocol == 3 { ProtocolVersion::RESP3 } else { ProtocolVersion::RESP2 };
        let mut settings = RedisConnectionInfo::default().set_protocol(protocol);
        if let Some(password) = login.password {
            settings = settings.set_password(password);
        }
        let address = ConnectionAddr::Tcp("127.0.0.1".to_owned(), login.port);
        let info = address.into_connection_info().map_err(refusal)?.set_redis_settings(settings);
        let client = redis::Client::open(info).map_err(refusal)?;
        let connection = client.get_connection().map_err(refusal)?;
        let mut opened = RedisRs { client, connection };
        if let Some(name) = login.name {
            opened.ask(&["CLIENT", "SETNAME", name])?;
        }
        opened.ask(&["PING"]).map(|_| opened)
    }

    fn ask(&mut self, words: &[&str]) -> Replied {
        let command = command(words);
        match command.query::<redis::Value>(&mut self.connection) {
            Err(error) if error.is_connection_dropped() || error.is_io_error() => {
                self.connection = self.client.get_connection().map_err(refusal)?;
                command.query::<redis::Value>(&mut self.connection).map_err(refusal).map(json)
            }
            replied => replied.map_err(refusal).map(json),
        }
    }

    fn pipeline(&mut self, requests: &[Vec<String>]) -> Vec<Replied> {
        let mut packed = Vec::new();
        for words in requests {
            packed.extend(command(words).get_packed_command());
        }
        let replies = self.connection.req_packed_commands(&packed, 0, requests.len()).unwrap();
        let one = |reply| match reply {
            redis::Value::ServerError(error) => Err(refusal(error.into())),
            reply => Ok(json(reply)),
        };
        replies.into_iter().map(one).collect()
    }

    fn transaction(&mut self, requests: &[Vec<String>]) -> Result<Vec<Replied>, Refusal> {
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        for words in requests {
            pipeline.add_command(command(words));
        }
        let replies: Vec<redis::Value> = pipeline.query(&mut self.connection).map_err(refusal)?;
        Ok(replies.into_iter().map(|reply| Ok(json(reply))).collect())
    }
}

fn command<W: redis::ToRedisArgs>(words: &[W]) -> redis::Cmd {
    let mut command = redis::Cmd::new();
    command.arg(words);
    command
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` is given")]
fn refusal(error: redis::RedisError) -> Refusal {
    match (error.code(), error.detail()) {
        (Some(code), Some(detail)) if !error.is_io_error() => Refusal::Reply(format!("{code} {detail}")),
        (Some(code), None) if !error.is_io_error() => Refusal::Reply(code.to_owned()),
        _ => Refusal::Failure(error.to_string()),
    }
}

fn json(reply: redis::Value) -> Value {
    match reply {
        redis::Value::Nil => Value::Null,
        redis::Value::Int(number) => number.into(),
        redis::Value::Okay => "OK".into(),
        redis::Value::SimpleString(text) | redis::Value::VerbatimString { text, .. } => text.into(),
        redis::Value::BulkString(bytes) => String::from_utf8(bytes).unwrap().into(),
        redis::Value::Array(replies) | redis::Value::Set(replies) => replies.into_iter().map(json).collect(),
        redis::Value::Map(pairs) => {
            let text = |name| json(name).as_str().unwrap().to_owned();
            Value::Object(
                pairs.into_iter().map(|(name, value)| (text(name), json(value))).collect::<Map<_, _>>(),
            )
        }
        other => panic!("{other:?}"),
    }
}
