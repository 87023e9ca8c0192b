//! A server of the real binary, on free ports; it dies with the test, and with whoever runs the test.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::http_client::{Answer, Connection};
use crate::mortal::mortal;

/// Longest that anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Server {
    child: Child,
    /// Lines on stderr that nobody has waited for yet.
    lines: Receiver<String>,
    /// Those that were read.
    pub(crate) said: Vec<String>,
}

/// A command that ends when the one who began it does.
pub(crate) fn tollgate(arguments: &[&str]) -> Command {
    let mut command = mortal(env!("CARGO_BIN_EXE_tollgate"));
    command.args(arguments);
    command
}

impl Server {
    /// A server with free ports and these flags, once it is ready.
    pub(crate) fn new(flags: &[&str]) -> Server {
        Server::with(flags, |command| command)
    }

    /// The same with another environment.
    pub(crate) fn with(flags: &[&str], set: impl FnOnce(&mut Command) -> &mut Command) -> Server {
        let mut server = Server::begun(flags, set);
        server.wait_for("  store ");
        server
    }

    /// The same, ready or not.
    pub(crate) fn begun(flags: &[&str], set: impl FnOnce(&mut Command) -> &mut Command) -> Server {
        let mut arguments = vec!["serve"];
        for (flag, address) in
            [("--http", "127.0.0.1:0"), ("--resp", "127.0.0.1:0"), ("--admin", "127.0.0.1:0")]
        {
            if !flags.contains(&flag) {
                arguments.extend([flag, address]);
            }
        }
        arguments.extend(flags);
        let mut command = tollgate(&arguments);
        set(&mut command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        Server { child, lines, said: Vec::new() }
    }

    /// A server with this policy.
    pub(crate) fn with_policy(policy: &str) -> (Server, crate::scratch::Scratch) {
        let scratch = crate::scratch::Scratch::new();
        let path = scratch.write("policy.yaml", policy);
        (Server::new(&["--policy", &path]), scratch)
    }

    /// Waits until a line with this text is on stderr.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("never said {text:?}, but {:#?}", self.said));
            self.said.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Waits until nothing was said for so long, or a hundred lines were.
    pub(crate) fn wait_for_silence(&mut self, time: Duration) {
        self.said.extend((0..100).map_while(|_| self.lines.recv_timeout(time).ok()));
    }

    /// How many of the lines that were waited for have this text.
    pub(crate) fn times_said(&self, text: &str) -> usize {
        self.said.iter().filter(|line| line.contains(text)).count()
    }

    /// Where a door is.
    #[track_caller]
    pub(crate) fn address(&self, door: &str) -> SocketAddr {
        let line = self.said.iter().find_map(|line| line.strip_prefix(&format!("  {door} ")));
        let address =
            line.unwrap_or_else(|| panic!("no {door} in {:#?}", self.said)).split_whitespace().next();
        address.unwrap().trim_start_matches("http://").parse().unwrap()
    }

    /// A connection to the HTTP door.
    pub(crate) fn http(&self) -> Connection {
        Connection::to(self.address("http"))
    }

    /// The answer to a JSON body.
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.http().post(path, body)
    }

    /// What the admin door says.
    pub(crate) fn admin(&self, path: &str) -> Answer {
        Connection::to(self.address("admin")).get(path)
    }

    /// How the machine knows it.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The most memory that it has held, in KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Sends a signal: `TERM`, `HUP`.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
    }

    /// Waits until it has ended; with all that it said meanwhile.
    pub(crate) fn ended(mut self) -> (ExitStatus, Vec<String>) {
        let status = self.child.wait().unwrap();
        self.said.extend(self.lines.iter());
        (status, std::mem::take(&mut self.said))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command that ends by itself says on stderr, and its exit code.
pub(crate) fn complaint(mut command: Command) -> (Option<i32>, String) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}
