//! One instance of a fleet: a server with records, whose admin door knows us.

use std::process::Command;

use serde_json::{Value, json};

use crate::databases::{Place, until};
use crate::http_client::{Answer, Connection};
use crate::scratch::Scratch;
use crate::server::Server;

/// Whoever shows it may do everything.
const TOKEN: &str = "a-token-that-the-tests-of-a-fleet-know";
/// Two at once for each user, and then hardly any; everybody together has enough. What costs two at /dear is denied to everybody.
pub(crate) const POLICY: &str = "\
rules:
  - {name: api, scope: user, rate: 1/h, burst: 2}
  - {name: everyone, scope: global, rate: 1000000/s, burst: 1000000}
  - {name: dear, path: /dear, scope: user, rate: 1/h, burst: 1, cost_source: 'query:cost', max_cost: 2}
";

pub(crate) struct Instance {
    pub(crate) server: Server,
    pub(crate) token: String,
    _scratch: Scratch,
}

impl Instance {
    /// One that has read what is on record.
    pub(crate) async fn start(place: &Place, policy: &str) -> Instance {
        Instance::start_with(place, policy, &[]).await
    }

    /// The same with more flags.
    pub(crate) async fn start_with(place: &Place, policy: &str, flags: &[&str]) -> Instance {
        let instance = Instance::begin(&place.typed_url, policy, flags);
        until("the records are ready", || async { instance.is_ready() }).await;
        instance
    }

    /// Two that share their records.
    pub(crate) async fn two(place: &Place, policy: &str) -> [Instance; 2] {
        [Instance::start(place, policy).await, Instance::start(place, policy).await]
    }

    /// One that serves, whatever became of its records.
    pub(crate) fn begin(records: &str, policy: &str, flags: &[&str]) -> Instance {
        let scratch = Scratch::new();
        let policy = scratch.write("policy.yaml", policy);
        let flags = [&["--policy", &policy, "--records", records], flags].concat();
        let server = Server::with(&flags, |command| {
            *command = outliving_file_limits(command);
            command.env("TOLLGATE_ADMIN_TOKEN", TOKEN)
        });
        Instance { server, token: TOKEN.to_owned(), _scratch: scratch }
    }

    /// Whether the database answers it.
    pub(crate) fn is_ready(&self) -> bool {
        self.readyz()["records"] == "ready"
    }

    pub(crate) fn readyz(&self) -> Value {
        self.server.admin("/readyz").json()
    }

    /// From now on somebody of this name asks, who may do everything.
    pub(crate) fn signed_in_as(mut self, name: &str) -> Instance {
        let made = self.done("POST", "tokens", &json!({ "name": name, "role": "admin" }));
        made["secret"].as_str().unwrap().clone_into(&mut self.token);
        self
    }

    /// Asks the admin door.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.asking(method, path, body).answer()
    }

    /// The same, for whoever takes the answer later.
    pub(crate) fn asking(&self, method: &str, path: &str, body: &Value) -> Connection {
        let (body, token) = (body.to_string(), &self.token);
        let mut connection = Connection::to(self.server.address("admin"));
        connection.send(format!(
            "{method} /admin/v1/{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        connection
    }

    /// What the admin door answers that does as it is told.
    #[track_caller]
    pub(crate) fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.ask(method, path, body);
        assert!((200..300).contains(&answer.status), "{method} {path} {body}: {answer:?}");
        answer.json()
    }

    /// What the admin door tells.
    #[track_caller]
    pub(crate) fn told(&self, path: &str) -> Value {
        self.done("GET", path, &json!({}))
    }

    /// Puts one rule on record, upon the version that is there.
    #[track_caller]
    pub(crate) fn put_rule(&self, rule: &Value) -> i64 {
        let change = json!({ "rules": [{ "rule": rule }], "base_version": self.rules_version() });
        self.done("POST", "rules/apply", &change)["version"].as_i64().unwrap()
    }

    /// The version of the rules on record.
    #[track_caller]
    pub(crate) fn rules_version(&self) -> i64 {
        self.told("versions?limit=1")["versions"][0]["version"].as_i64().unwrap_or(0)
    }

    /// Gives an order, and says its number.
    #[track_caller]
    pub(crate) fn order(&self, order: &Value) -> i64 {
        self.done("POST", "orders", order)["order_id"].as_i64().unwrap()
    }

    /// The answer to a request of this user, without charging anybody.
    pub(crate) fn peek(&self, user: &str) -> Answer {
        self.server.post("/v1/peek", &request(user))
    }

    /// Whether a request of this user would be admitted.
    pub(crate) fn would_admit(&self, user: &str) -> bool {
        self.peek(user).status == 200
    }

    /// Whether a request of this user is admitted.
    pub(crate) fn admits(&self, user: &str) -> bool {
        self.server.post("/v1/check", &request(user)).status == 200
    }

    /// How many of so many requests of this user are admitted.
    pub(crate) fn admits_of(&self, count: usize, user: &str) -> usize {
        (0..count).filter(|_| self.admits(user)).count()
    }

    /// What a bucket holds.
    #[track_caller]
    pub(crate) fn bucket(&self, rule: &str, key: &str) -> Value {
        self.told(&format!("buckets?rule={rule}&key={key}"))["buckets"][0].clone()
    }

    /// The figure of a metric that has no labels.
    #[track_caller]
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let page = self.server.admin("/metrics").body;
        let figure = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        figure.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
    }

    /// What became of denials.
    #[track_caller]
    pub(crate) fn violations(&self) -> Counted {
        let page = self.server.admin("/metrics").body;
        let figure = |name: &str| {
            let name = format!("tollgate_violations_{name} ");
            let figure = page.lines().find_map(|line| line.strip_prefix(&name));
            figure.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
        };
        Counted {
            denied: figure("denied_total"),
            stored: figure("stored_total"),
            sampled_out: figure("sampled_out_total"),
            dropped: figure("dropped_total"),
            queued: figure("queued"),
        }
    }
}

/// What became of denials, by one page of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) denied: u64,
    pub(crate) stored: u64,
    pub(crate) sampled_out: u64,
    pub(crate) dropped: u64,
    pub(crate) queued: u64,
}

impl Counted {
    /// Every denial became one thing, and no other.
    #[track_caller]
    pub(crate) fn assert_exact(&self) {
        assert_eq!(self.denied, self.stored + self.sampled_out + self.dropped + self.queued, "{self:?}");
    }
}

/// The same program, told by an error that a file may not grow, as by a quota; the signal that limits of the shell bring is ignored.
fn outliving_file_limits(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// What a user asks.
pub(crate) fn request(user: &str) -> String {
    json!({ "method": "GET", "path": "/a", "ip": "192.0.2.7", "user": user }).to_string()
}
