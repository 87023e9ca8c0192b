//! A Redis client as tests use it, whatever library it is, and those that are driven in a process of their own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::component::tool;
use crate::mortal::mortal;

/// Longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a client connects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Login<'l> {
    pub(crate) port: u16,
    /// 2 or 3.
    pub(crate) protocol: u8,
    pub(crate) password: Option<&'l str>,
    /// What it calls the connection.
    pub(crate) name: Option<&'l str>,
}

/// Why there is no reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The library takes it for an error that the server replied.
    Reply(String),
    /// Anything else.
    Failure(String),
}

pub(crate) type Replied = Result<Value, Refusal>;

/// A client library.
pub(crate) trait Client: Sized {
    /// What it is called in `TOLLGATE_SKIP`.
    const COMPONENT: &str;

    /// A client that has asked `PING`.
    fn connect(login: Login<'_>) -> Result<Self, Refusal>;

    fn ask(&mut self, words: &[&str]) -> Replied;

    /// All requests before the first reply is read.
    fn pipeline(&mut self, requests: &[Vec<String>]) -> Vec<Replied>;

    /// All requests between MULTI and EXEC, as the library's own transactions send them. Returns the replies, or why EXEC aborted.
    fn transaction(&mut self, requests: &[Vec<String>]) -> Result<Vec<Replied>, Refusal>;
}

/// redis-py.
pub(crate) struct RedisPy(Driven);
/// ioredis.
pub(crate) struct Ioredis(Driven);

/// A library that a script drives.
struct Driven {
    script: Child,
    orders: ChildStdin,
    replies: Receiver<String>,
}

impl Driven {
    fn start(component: &str, script: &str) -> Driven {
        let mut command = mortal(tool(&format!("bin/{component}")));
        command.arg(format!("{}/tests/redis_clients/{script}", env!("CARGO_MANIFEST_DIR")));
        command.env("NODE_PATH", tool(component) + "/node_modules").env("PYTHONDONTWRITEBYTECODE", "1");
        let mut script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(script.stdout.take().unwrap()).lines().map_while(Result::ok);
        let (tell, replies) = channel();
        std::thread::spawn(move || lines.map_while(|line| tell.send(line).ok()).for_each(drop));
        Driven { orders: script.stdin.take().unwrap(), script, replies }
    }

    #[track_caller]
    fn order(&mut self, order: &Value) -> Replied {
        self.orders.write_all(format!("{order}\n").as_bytes()).unwrap();
        let line = self.replies.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|why| panic!("no reply to {order}: {why}"));
        replied(&serde_json::from_str(&line).unwrap())
    }

    fn connect(mut self, login: Login<'_>) -> Result<Driven, Refusal> {
        let Login { port, protocol, password, name } = login;
        let order =
            json!({"do": "connect", "port": port, "protocol": protocol, "password": password, "name": name});
        self.order(&order).map(|_| self)
    }

    fn all(&mut self, verb: &str, requests: &[Vec<String>]) -> Result<Vec<Replied>, Refusal> {
        let replies = self.order(&json!({"do": verb, "requests": requests}))?;
        Ok(replies.as_array().unwrap().iter().map(replied).collect())
    }
}

fn replied(told: &Value) -> Replied {
    match (&told["error_reply"], &told["failure"]) {
        (Value::String(error), _) => Err(Refusal::Reply(error.clone())),
        (_, Value::String(failure)) => Err(Refusal::Failure(failure.clone())),
        _ => Ok(told["reply"].clone()),
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

macro_rules! driven {
    ($client:ident, $component:literal, $script:literal) => {
        impl Client for $client {
            const COMPONENT: &str = $component;

            fn connect(login: Login<'_>) -> Result<Self, Refusal> {
                Driven::start($component, $script).connect(login).map($client)
            }

            fn ask(&mut self, words: &[&str]) -> Replied {
                self.0.order(&json!({"do": "ask", "words": words}))
            }

            fn pipeline(&mut self, requests: &[Vec<String>]) -> Vec<Replied> {
                self.0.all("pipeline", requests).unwrap()
            }

            fn transaction(&mut self, requests: &[Vec<String>]) -> Result<Vec<Replied>, Refusal> {
                self.0.all("transaction", requests)
            }
        }
    };
}
driven!(RedisPy, "redis-py", "redis_py.py");
driven!(Ioredis, "ioredis", "ioredis.cjs");
