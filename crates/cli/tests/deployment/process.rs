//! A program that runs beside a test: it dies with the test, and with whoever runs the test; what it said is shown if the test fails.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::mortal::mortal;

/// Longest that anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running program.
pub(crate) struct Process {
    name: String,
    child: Child,
    /// Lines on stdout and stderr that nobody has waited for yet.
    lines: Receiver<String>,
    /// Those that were read.
    said: Vec<String>,
}

/// The command under test.
pub(crate) fn tollgate(typed: &str) -> Command {
    let mut command = mortal(env!("CARGO_BIN_EXE_tollgate"));
    command.args(typed.split_whitespace());
    command
}

impl Process {
    /// Starts the program. Its stdin is what the command says, else nothing.
    pub(crate) fn start(mut command: Command) -> Process {
        let name = format!("{command:?}");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        // The command holds sockets that were passed; with them gone, they are the program's alone.
        drop(command);
        let (tell, lines) = channel();
        follow(child.stdout.take().unwrap(), tell.clone());
        follow(child.stderr.take().unwrap(), tell);
        Process { name, child, lines, said: Vec::new() }
    }

    /// `tollgate serve` with free ports and these flags, once it is ready.
    pub(crate) fn serve(flags: &str) -> Process {
        Process::serving(tollgate(&format!(
            "serve --http 127.0.0.1:0 --resp off --admin 127.0.0.1:0 {flags}"
        )))
    }

    /// A command that is some way to say `tollgate serve`, once it is ready.
    pub(crate) fn serving(mut command: Command) -> Process {
        command.stdin(Stdio::null());
        let mut process = Process::start(command);
        process.wait_for("  store ");
        process
    }

    /// Waits until a line with this text is said.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|why| panic!("{} never said {text:?}: {why}", self.name));
            self.said.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Writes to its stdin, if that is a pipe.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The next line that is said; none if there is none for so long.
    pub(crate) fn next_line(&mut self, patience: Duration) -> Option<String> {
        let line = self.lines.recv_timeout(patience).ok()?;
        self.said.push(line.clone());
        Some(line)
    }

    /// Where a door of `tollgate serve` is, as `host:port` or `unix:PATH`.
    #[track_caller]
    pub(crate) fn door(&self, door: &str) -> String {
        let line = self.said.iter().find_map(|line| line.strip_prefix(&format!("  {door} ")));
        let address = line.and_then(|line| line.split_whitespace().next());
        address.unwrap_or_else(|| panic!("no {door} door")).trim_start_matches("http://").to_owned()
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal: `TERM`, `HUP`, `STOP`.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
    }

    /// Waits until it has ended; with all that it said.
    #[track_caller]
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("{} does not end", self.name),
            }
        }
        let said = std::mem::take(&mut self.said).join("\n");
        (self.child.wait().unwrap(), said)
    }
}

fn follow(output: impl Read + Send + 'static, tell: Sender<String>) {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    std::thread::spawn(move || lines.map_while(|line| tell.send(line).ok()).for_each(drop));
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            self.said.extend(self.lines.try_iter());
            eprintln!("--- {} said:\n{}\n---", self.name, self.said.join("\n"));
        }
    }
}
