//! One external command: shown as it could be typed, then run on our streams, watched or read.
//!
//! Children stay in our process group, so that ctrl-c ends them with us.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use crate::problem::Problem;

/// A command about to be run.
pub(crate) struct Invocation {
    command: Command,
    typed: String,
}

impl Invocation {
    /// `program` started in `folder`, shown to the reader as `name`.
    pub(crate) fn new(name: &str, program: impl AsRef<OsStr>, folder: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(folder);
        Self { command, typed: name.to_owned() }
    }

    /// Adds arguments.
    pub(crate) fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        for argument in arguments {
            let argument = argument.as_ref();
            self.command.arg(argument);
            self.typed.push(' ');
            self.typed.push_str(&quoted(argument));
        }
        self
    }

    /// Adds `flags` to those that the variable already holds.
    pub(crate) fn append_env(mut self, variable: &str, flags: &str) -> Self {
        let inherited = std::env::var(variable).unwrap_or_default();
        self.command.env(variable, format!("{inherited} {flags}").trim());
        self.typed = format!("{variable}={} {}", quoted(flags), self.typed);
        self
    }

    /// Sets a variable.
    pub(crate) fn set_env(mut self, variable: &str, value: &str) -> Self {
        self.command.env(variable, value);
        self.typed = format!("{variable}={} {}", quoted(value), self.typed);
        self
    }

    /// The command as it could be typed at the root of the repository.
    pub(crate) fn typed(&self) -> &str {
        &self.typed
    }

    /// Runs it on our own stdin, stdout and stderr.
    pub(crate) fn run(mut self) -> Result<ExitStatus, Problem> {
        self.command.status().map_err(|error| cannot_start(&self.typed, &error))
    }

    /// Says on stderr what is run, runs it on our own streams, and answers with its exit code.
    pub(crate) fn hand_over(self) -> Result<ExitCode, Problem> {
        eprintln!("xtask: {}", self.typed);
        let code = self.run()?.code().and_then(|code| u8::try_from(code).ok());
        // A child killed by a signal has no code of its own.
        Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
    }

    /// Says on stderr what is run, and becomes it: ctrl-c is then for it alone, and what it says at its end comes before the
    /// shell's next line.
    pub(crate) fn take_over(mut self) -> Result<ExitCode, Problem> {
        eprintln!("xtask: {}", self.typed);
        // Returns only if it failed.
        let error = self.command.exec();
        Err(cannot_start(&self.typed, &error))
    }

    /// Runs it, shows its stdout at once, and hands each line of it to `see`.
    pub(crate) fn watch(mut self, mut see: impl FnMut(&str)) -> Result<ExitStatus, Problem> {
        let spawned = self.command.stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| cannot_start(&self.typed, &error))?;
        if let Some(stdout) = child.stdout.take() {
            relay(stdout, &mut io::stdout(), &mut see).map_err(|error| cannot_start(&self.typed, &error))?;
        }
        child.wait().map_err(|error| cannot_start(&self.typed, &error))
    }

    /// Runs it in silence and returns its stdout; its stderr goes into the problem if it fails.
    pub(crate) fn read(self) -> Result<String, Problem> {
        self.read_both().map(|(stdout, _)| stdout)
    }

    /// The same, with its stderr: where some say their version.
    pub(crate) fn read_both(mut self) -> Result<(String, String), Problem> {
        let output = self.command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| cannot_start(&self.typed, &error))?;
        if output.status.success() {
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            Ok((text(output.stdout), text(output.stderr)))
        } else {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Err(Problem::failed(format!("`{}` failed:\n{}", self.typed, stderr.trim_end())))
        }
    }
}

/// Copies output as it comes, even half a line, so that a long test shows its name while it runs.
fn relay(from: impl io::Read, to: &mut impl Write, see: &mut impl FnMut(&str)) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        let chunk = from.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        to.write_all(chunk)?;
        to.flush()?;
        for &byte in chunk {
            if byte == b'\n' {
                see(String::from_utf8_lossy(&line).trim_end());
                line.clear();
            } else {
                line.push(byte);
            }
        }
        let taken = chunk.len();
        from.consume(taken);
    }
    if !line.is_empty() {
        writeln!(to)?;
        see(String::from_utf8_lossy(&line).trim_end());
    }
    Ok(())
}

fn cannot_start(typed: &str, error: &io::Error) -> Problem {
    Problem::failed(format!("cannot run `{typed}`: {error}; is the program installed and on PATH?"))
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(|c: char| c.is_whitespace() || "*'\"$".contains(c)) {
        format!("\"{word}\"")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Invocation, Path, relay};

    #[test]
    fn a_watched_command_is_seen_line_by_line() {
        let (mut shown, mut seen) = (Vec::new(), Vec::new());
        relay("one\r\n\ntwo".as_bytes(), &mut shown, &mut |line| seen.push(line.to_owned())).unwrap();
        assert_eq!(seen, ["one", "", "two"]);
        assert_eq!(shown, b"one\r\n\ntwo\n");
    }

    #[test]
    fn a_command_is_shown_as_it_could_be_typed() {
        let invocation = Invocation::new("cargo", "cargo", Path::new("."))
            .args(["test", "--test", "*"])
            .append_env("RUSTFLAGS", "--cfg loom");
        assert_eq!(invocation.typed(), "RUSTFLAGS=\"--cfg loom\" cargo test --test \"*\"");
    }
}
