//! The shell of whoever reads the page: it finds `tollgate` and `redis-server`, in a home and at ports that nobody else has.

use std::net::TcpListener;
use std::process::Stdio;

use crate::component::{is_skipped, tool};
use crate::mortal::mortal;
use crate::process::{PATIENCE, Process};
use crate::scratch::Scratch;

/// Whose home the page shows.
const HOME: &str = "/var/of/ann";
/// Ports as the page shows them: of HTTP, of the admin door, of PostgreSQL and of Redis.
const PORTS: [&str; 4] = ["8080", "8082", "5432", "6379"];
/// Printed by the shell when a command is done.
const DONE: &str = "--- done";

pub(crate) struct Shell {
    process: Process,
    /// Where the page has [`PORTS`].
    ports: [String; 4],
    home: String,
    has_redis: bool,
    _scratch: Scratch,
}

impl Shell {
    pub(crate) fn new(has_redis: bool) -> Shell {
        let listeners = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = listeners.map(|listener| listener.local_addr().unwrap().port().to_string());
        let scratch = Scratch::new();
        let home = scratch.path("home");
        let mut process = mortal("sh");
        let at = |port: &str| format!("127.0.0.1:{port}");
        process.envs([("TOLLGATE_HTTP", at(&ports[0])), ("TOLLGATE_ADMIN", at(&ports[1]))]);
        process.envs([("TOLLGATE_ADMIN_URL", format!("http://127.0.0.1:{}", ports[1]))]);
        process.envs([("TOLLGATE_RESP", "off"), ("HOME", &home), ("NO_PROXY", "*"), ("USER", "ann")]);
        process.env("PATH", format!("{}:{}", scratch.path("bin"), std::env::var("PATH").unwrap()));
        process.current_dir(scratch.folder()).stdin(Stdio::piped());
        std::fs::create_dir(scratch.path("bin")).unwrap();
        found_as(&scratch, "tollgate", env!("CARGO_BIN_EXE_tollgate"));
        // Left out by name, it is the machine's that is typed.
        if !is_skipped("sqlite3") {
            found_as(&scratch, "sqlite3", &tool("bin/sqlite3"));
        }
        if has_redis {
            found_as(&scratch, "redis-server", &tool("bin/redis"));
        }
        let mut process = Process::start(process);
        process.type_in("exec 2>&1; chmod +x bin/*\n");
        Shell { process, ports, home, has_redis, _scratch: scratch }
    }

    pub(crate) const fn has_no_redis(&self) -> bool {
        !self.has_redis
    }

    /// Types a line of the page; what it prints, as the page would show it.
    pub(crate) fn run(&mut self, typed: &str) -> Vec<String> {
        let mut line = typed.to_owned();
        for (shown, port) in PORTS.iter().zip(&self.ports) {
            line = line.replace(&format!("127.0.0.1:{shown}"), &format!("127.0.0.1:{port}"));
            line = line.replace(&format!("--port {shown}"), &format!("--port {port}"));
        }
        self.process.type_in(&format!("{line}\necho '{DONE}'\n"));
        let mut seen = Vec::new();
        loop {
            let line = self.process.next_line(PATIENCE);
            let mut line = line.unwrap_or_else(|| panic!("never done: $ {typed}"));
            if line == DONE {
                return seen;
            }
            for (shown, port) in PORTS.iter().zip(&self.ports) {
                line = line.replace(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{shown}"));
            }
            seen.push(line.replace(&self.home, HOME).trim_end().to_owned());
        }
    }
}

/// A program by the name that the page has for it; it ends with the shell.
fn found_as(scratch: &Scratch, name: &str, program: &str) {
    let script = format!(
        "#!/bin/sh\ncommand -v setpriv >/dev/null && exec setpriv --pdeathsig KILL {program} \"$@\"\nexec {program} \"$@\"\n"
    );
    scratch.write(&format!("bin/{name}"), &script);
}
