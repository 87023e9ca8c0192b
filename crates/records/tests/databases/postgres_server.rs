//! A PostgreSQL of the machine's Debian on a free port, in a folder of its own, run by somebody who is not root.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tokio::sync::OnceCell;

use super::until;

/// Lines of a server's log that a failed test shows.
const LOG_LINES: usize = 30;
/// Who runs the server where the tests are run by root: PostgreSQL refuses root. These numbers are nobody's on every Linux.
const NOBODY: u32 = 65_534;
/// Nothing needs to survive the machine; many tests share one server.
const SETTINGS: [&str; 9] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    "max_connections=200",
    "jit=off",
    "autovacuum=off",
    "max_wal_size=256MB",
];

/// A server. It can be killed, stopped, and started again with what it held.
pub(crate) struct PostgresServer {
    child: Option<Child>,
    /// Cleans up behind a test that is killed: it waits for the end of a pipe that we hold.
    guardian: Option<Child>,
    folder: PathBuf,
    pub(crate) port: u16,
}

impl PostgresServer {
    /// The server that all tests of this binary share.
    pub(crate) async fn shared() -> &'static PostgresServer {
        static SHARED: OnceCell<PostgresServer> = OnceCell::const_new();
        SHARED.get_or_init(PostgresServer::start).await
    }

    /// One that answers.
    pub(crate) async fn start() -> PostgresServer {
        let mut server = PostgresServer::prepare();
        server.restart().await;
        server
    }

    /// One that has its folder and port, and does not run yet.
    pub(crate) fn prepare() -> PostgresServer {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tollgate-postgres-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        if is_root() {
            chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let guardian = Command::new("sh")
            .args(["-c", "trap '' INT TERM; cat; kill -s QUIT $(head -n 1 \"$0/data/postmaster.pid\"); sleep 0.2; rm -rf \"$0\""])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = PostgresServer { child: None, guardian: Some(guardian), folder, port: free_port() };
        let made = server
            .program("initdb")
            .args(["--username=tollgate", "--auth=trust", "--encoding=UTF8", "--locale=C"])
            .args(["--no-sync", "--no-instructions", "--pgdata"])
            .arg(server.folder.join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server
    }

    /// Starts it, again if it ran, and waits until it answers.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        self.launch();
        until("the server answers", || async { self.connect("postgres").await.is_ok() }).await;
    }

    /// Starts it; it answers some time soon.
    pub(crate) fn launch(&mut self) {
        let log = File::options().create(true).append(true).open(self.folder.join("log")).unwrap();
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.folder.join("data")).args(["-p", &self.port.to_string()]);
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().unwrap());
    }

    /// Ends it at once, as a crash would: nothing is finished, and every connection breaks.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            signal(&child, "QUIT");
            child.wait().unwrap();
        }
    }

    /// Kills it and all its children, none of which learns of it (`kill -9`).
    pub(crate) fn kill_hard(&mut self) {
        // It starts nobody else meanwhile.
        self.signal_all("STOP");
        let children = self.children();
        let mut server = self.child.take().unwrap();
        signal(&server, "KILL");
        server.wait().unwrap();
        send(&children, "KILL");
    }

    /// `STOP` or `CONT`, to the server and to whom it serves.
    pub(crate) fn signal_all(&self, name: &str) {
        // The server first: one that is stopped starts nobody else.
        signal(self.child.as_ref().unwrap(), name);
        send(&self.children(), name);
    }

    /// The processes that it has started.
    fn children(&self) -> Vec<String> {
        let server = self.child.as_ref().unwrap().id().to_string();
        let children = Command::new("ps").args(["-o", "pid=", "--ppid", &server]).output().unwrap();
        String::from_utf8(children.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
    }

    pub(crate) async fn connect(&self, database: &str) -> sqlx::Result<PgConnection> {
        let options = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(self.port);
        options.username("tollgate").database(database).disable_statement_logging().connect().await
    }

    /// A new, empty database.
    pub(crate) async fn create_database(&self, name: &str) {
        let mut connection = self.connect("postgres").await.unwrap();
        connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
        connection.close().await.unwrap();
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://tollgate:secret@127.0.0.1:{}/{database}", self.port)
    }

    /// A program of the server, as somebody who is not root.
    fn program(&self, name: &str) -> Command {
        let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools/postgres");
        let program = tools.join("usr/lib/postgresql/15/bin").join(name);
        assert!(
            program.exists(),
            "'{}' is missing; run `cargo xtask test setup`, or leave it out with TOLLGATE_SKIP=postgres",
            program.display()
        );
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
            command.args([&user, &group, "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let libraries = std::fs::read_dir(tools.join("usr/lib")).unwrap().map(|entry| entry.unwrap().path());
        let libraries = libraries.filter(|path| path.to_string_lossy().ends_with("-linux-gnu"));
        command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap());
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

fn signal(child: &Child, name: &str) {
    let _ = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
}

fn send(pids: &[String], name: &str) {
    for pid in pids {
        // Whoever ended meanwhile needs no signal.
        let _ = Command::new("kill").args(["-s", name, pid]).stderr(Stdio::null()).status();
    }
}

/// A port that was free a moment ago, and that no other test of this process was given.
fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if GIVEN.lock().unwrap().insert(port) {
            return port;
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
            eprintln!("--- the server at port {} said last:\n{last}", self.port);
        }
        if let Some(mut guardian) = self.guardian.take() {
            drop(guardian.stdin.take());
            let _ = guardian.wait();
        }
    }
}
