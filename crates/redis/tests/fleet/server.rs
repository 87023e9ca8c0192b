//! One real server on a free port, in a folder of its own.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redis::{FromRedisValue, RedisResult};

use super::mortal::mortal;
use super::{SET_UP_MAX, until};

/// Lines of a server's log that a failed test shows.
const LOG_LINES: usize = 30;
/// What a server's log says when it has all its ports.
const LISTENS: &str = "Ready to accept connections";
/// How many ports a server tries.
const PORTS_TRIED_MAX: u32 = 5;
/// How long a look at a server may take: it may be stopped, and whoever waits for something looks again.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// A server. It can be killed, stopped, and started again on the same port.
pub(crate) struct RedisServer {
    child: Option<Child>,
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
    settings: Vec<String>,
    /// Which server, as it is called in `target/tools/bin`.
    component: &'static str,
    /// How we get in to look after it: `user:password@`, or nothing.
    login: &'static str,
}

/// A port that was free a moment ago, and that no other test of this process was given: two that start at the same time would.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if GIVEN.lock().unwrap().insert(port) {
            return port;
        }
    }
}

impl RedisServer {
    /// A fresh, empty server with these further settings, as in `--maxmemory 2mb`.
    pub(crate) async fn start(settings: &str) -> RedisServer {
        RedisServer::listening(settings, |_| ()).await
    }

    /// The same that lets in only whoever knows the password.
    pub(crate) async fn start_locked(settings: &str, login: &'static str) -> RedisServer {
        RedisServer::listening(settings, |server| server.login = login).await
    }

    /// The same of another release.
    pub(crate) async fn start_component(component: &'static str) -> RedisServer {
        RedisServer::listening("", |server| server.component = component).await
    }

    /// One that answers. A server ends if somebody took its port meanwhile, or has that of its cluster bus, 10000 above: then another port
    /// is tried.
    async fn listening(settings: &str, amend: impl Fn(&mut RedisServer)) -> RedisServer {
        let mut tried = 0;
        loop {
            let mut server = RedisServer::prepare(free_port(), settings);
            amend(&mut server);
            server.launch();
            let is_there = tokio::time::timeout(SET_UP_MAX, server.answers_or_ends()).await;
            if is_there == Ok(true) {
                return server;
            }
            tried += 1;
            assert!(
                is_there.is_ok() && tried < PORTS_TRIED_MAX,
                "a server does not answer, tried {tried} times"
            );
        }
    }

    /// Waits until it answers, or has ended: then `false`. Whoever took its port may answer as well, so it must have said that it listens.
    async fn answers_or_ends(&mut self) -> bool {
        loop {
            if self.child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some()) {
                return false;
            }
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            if log.contains(LISTENS) && self.is_answering().await {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// One that listens some time soon.
    pub(crate) fn spawn(port: u16, settings: &str) -> RedisServer {
        let mut server = RedisServer::prepare(port, settings);
        server.launch();
        server
    }

    /// One that has its folder, and is not launched yet.
    pub(crate) fn prepare(port: u16, settings: &str) -> RedisServer {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tollgate-fleet-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let settings = settings.split_whitespace().map(str::to_owned).collect();
        RedisServer { child: None, folder, port, settings, component: "redis", login: "" }
    }

    pub(crate) fn launch(&mut self) {
        let log = File::options().create(true).append(true).open(self.folder.join("log")).unwrap();
        let mut command = mortal(&program(self.component));
        if self.settings.iter().any(|word| word == "--sentinel") {
            // Sentinels keep what they learn in their file, and read the rest from it.
            command.arg(self.folder.join("sentinel.conf")).arg("--sentinel");
        } else {
            command.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
            command.args(["--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"]);
            command
                .args(["--bind", "127.0.0.1", "--port", &self.port.to_string(), "--dir"])
                .arg(&self.folder);
            command.args(&self.settings);
        }
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().unwrap());
    }

    /// Waits until it answers.
    pub(crate) async fn wait(&self) {
        until("the server answers", SET_UP_MAX, || self.is_answering()).await;
    }

    async fn is_answering(&self) -> bool {
        self.ask::<String>("PING").await.is_ok_and(|pong| pong == "PONG")
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// A command with its words between blanks, on a connection of its own; an error if the answer takes longer than [`LOOK_MAX`].
    pub(crate) async fn ask<T: FromRedisValue>(&self, line: &str) -> RedisResult<T> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.ask_within(LOOK_MAX, &words).await
    }

    /// The same, where a word may hold anything, and the answer may take its time.
    pub(crate) async fn ask_words<T: FromRedisValue>(&self, words: &[&[u8]]) -> RedisResult<T> {
        self.ask_within(SET_UP_MAX, words).await
    }

    /// The same, where the answer does not matter, but that it is no error.
    pub(crate) async fn tell(&self, line: &str) {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let said: RedisResult<redis::Value> = self.ask_words(&words).await;
        said.unwrap_or_else(|error| panic!("{line}: {error}"));
    }

    async fn ask_within<T: FromRedisValue>(&self, patience: Duration, words: &[&[u8]]) -> RedisResult<T> {
        let client = redis::Client::open(format!("redis://{}127.0.0.1:{}", self.login, self.port))?;
        let patient = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(patience))
            .set_response_timeout(Some(patience));
        let mut connection = client.get_multiplexed_async_connection_with_config(&patient).await?;
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query_async(&mut connection).await
    }

    /// `kill -9`: it is gone before this returns, and so is what it held.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again, empty, on the same port.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        self.launch();
        self.wait().await;
    }

    /// `SIGSTOP` or `SIGCONT`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }
}

/// The server of `cargo xtask test setup`, or the machine's.
fn program(component: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools/bin").join(component);
    if tools.exists() || component != "redis" { tools } else { PathBuf::from("redis-server") }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
            eprintln!("--- the server at port {} said last:\n{last}", self.port);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
