//! A real server: it dies with the test, and with whoever runs the test.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::Connection;
use super::mortal::mortal;

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Redis of the machine's Debian.
    Redis,
    /// The oldest that is supported.
    Redis62,
    Valkey,
}

/// A running server, on a socket in a folder of its own.
pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
}

impl Engine {
    /// Those that were not left out by name.
    pub(crate) fn all() -> Vec<Engine> {
        [Engine::Redis, Engine::Redis62, Engine::Valkey]
            .into_iter()
            .filter(|engine| !engine.is_skipped())
            .collect()
    }

    /// What it is called in `TOLLGATE_SKIP` and in `target/tools/bin`.
    pub(crate) fn component(self) -> &'static str {
        match self {
            Engine::Redis => "redis",
            Engine::Redis62 => "redis-6.2",
            Engine::Valkey => "valkey",
        }
    }

    /// Whether `TOLLGATE_SKIP` names it; then the test says so, and does nothing.
    fn is_skipped(self) -> bool {
        let skipped = std::env::var("TOLLGATE_SKIP").unwrap_or_default();
        let is_skipped = skipped.split(',').any(|name| name.trim() == self.component());
        if is_skipped {
            // Not by `eprintln!`, which is shown of failing tests alone.
            let line = format!("a test with {} does nothing: named in TOLLGATE_SKIP\n", self.component());
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
        is_skipped
    }

    fn program(self) -> PathBuf {
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let program = target.parent().unwrap().join("tools/bin").join(self.component());
        assert!(
            program.exists(),
            "'{}' is missing; run `cargo xtask test setup`, or leave it out with TOLLGATE_SKIP",
            program.display()
        );
        program
    }
}

impl Server {
    /// A fresh, empty server with these further settings, as in `--maxmemory 2mb`.
    pub(crate) fn start(engine: Engine, settings: &str) -> Server {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tollgate-redis-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = mortal(&engine.program());
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no"]);
        command.args(["--unixsocket", "socket", "--dir"]).arg(&folder);
        command.args(settings.split_whitespace());
        command.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        let child = command.spawn().unwrap();
        let server = Server { child, folder };
        server.connect();
        server
    }

    /// Another connection.
    pub(crate) fn connect(&self) -> Connection {
        // The server says nothing that could be waited for but that it listens: this blocks on its answer.
        for _ in 0..600 {
            if let Ok(connection) = Connection::open(&self.folder.join("socket")) {
                return connection;
            }
            let _ = Command::new("sleep").arg("0.05").status();
        }
        panic!("the server does not listen");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
