//! An operator's desk: a server with records, a token, and the command.

use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

use serde_json::Value;

use crate::http_client::{Answer, Connection};
use crate::scratch::Scratch;
use crate::server::{PATIENCE, Server, tollgate};

/// Three at once for each user, and then hardly any.
pub(crate) const POLICY: &str = "\
rules:
  - {name: api, scope: user, rate: 1/h, burst: 3}
  - {name: everyone, scope: global, rate: 1000/s, burst: 2000}
";

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) struct Desk {
    pub(crate) server: Server,
    pub(crate) scratch: Scratch,
    url: String,
    token: String,
}

impl Desk {
    /// With this policy, and a token that may do everything.
    pub(crate) fn new(policy: &str) -> Desk {
        let scratch = Scratch::new();
        let records = format!("sqlite:{}", scratch.path("records.db"));
        let made = ran(&mut tollgate(&[
            "token",
            "create",
            "--role",
            "admin",
            "--name",
            "ann",
            "--records",
            &records,
        ]));
        assert_eq!(made.code, 0, "{}", made.stderr);
        let policy = scratch.write("policy.yaml", policy);
        let server = Server::new(&["--policy", &policy, "--records", &records]);
        let url = format!("http://{}", server.address("admin"));
        let desk = Desk { server, scratch, url, token: made.stdout.trim_end().to_owned() };
        desk.wait_until("the records are there", || desk.run(&["rules", "history"]).code == 0);
        desk
    }

    /// Where the records are.
    pub(crate) fn records(&self) -> String {
        format!("sqlite:{}", self.scratch.path("records.db"))
    }

    /// A command that is about to ask this server.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = tollgate(words);
        command.env("TOLLGATE_ADMIN_URL", &self.url).env("TOLLGATE_ADMIN_TOKEN", &self.token);
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        ran(&mut self.command(words))
    }

    /// What a command prints that goes well.
    #[track_caller]
    pub(crate) fn good(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// The same as JSON.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let text = self.good(&[words, &["-o", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What a command complains that fails with this code and prints nothing.
    #[track_caller]
    pub(crate) fn complaint(&self, words: &[&str], code: i32) -> String {
        let ran = self.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{words:?}: {}", ran.stderr);
        ran.stderr
    }

    /// Sends a body to `/admin/v1/…` without waiting for the response.
    pub(crate) fn send_admin(&self, method: &str, path: &str, body: &Value) -> Connection {
        let mut connection = Connection::to(self.server.address("admin"));
        let (token, body) = (&self.token, body.to_string());
        let length = body.len();
        connection.send(format!(
            "{method} /admin/v1/{path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        ));
        connection
    }

    /// The response to a body for `/admin/v1/…`.
    pub(crate) fn post_admin(&self, path: &str, body: &Value) -> Answer {
        self.send_admin("POST", path, body).answer()
    }

    /// The processor time that the server has used, in hundredths of a second.
    pub(crate) fn processor_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.server.id())).unwrap();
        let after_name = stat.rsplit(')').next().unwrap().split_whitespace();
        after_name.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    }

    /// A fifth of a second.
    #[expect(clippy::unused_self, reason = "reads as `wait_until` does")]
    pub(crate) fn pause(&self) {
        let (_keep, never) = channel::<()>();
        let _ = never.recv_timeout(std::time::Duration::from_millis(200));
    }

    /// Whether a request of this user is admitted.
    pub(crate) fn check(&self, user: &str) -> bool {
        let body = serde_json::json!({ "method": "GET", "path": "/a", "ip": "192.0.2.7", "user": user });
        self.server.post("/v1/check", &body.to_string()).status == 200
    }

    /// How many of so many requests of this user are admitted.
    pub(crate) fn checks(&self, count: usize, user: &str) -> usize {
        (0..count).filter(|_| self.check(user)).count()
    }

    /// Waits until something is so.
    #[track_caller]
    #[expect(clippy::unused_self, reason = "whoever waits sits at a desk")]
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let (_keep, never) = channel::<()>();
        for _ in 0..PATIENCE.as_millis() / 50 {
            if is_so() {
                return;
            }
            let _ = never.recv_timeout(std::time::Duration::from_millis(50));
        }
        panic!("never came to be: {what}");
    }
}

/// Runs a command whose stdin is empty.
pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
