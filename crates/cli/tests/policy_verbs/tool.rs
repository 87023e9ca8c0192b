//! Runs the command in a folder of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A folder with files in it, where the command is run.
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// An empty folder; `name` is the test's.
    pub(crate) fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("policy_verbs").join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder { path }
    }

    /// With a file in it.
    pub(crate) fn with(self, name: &str, text: impl AsRef<[u8]>) -> Folder {
        fs::write(self.path.join(name), text).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs `tollgate` with these words, which may hold no spaces.
    pub(crate) fn run(&self, typed: &str) -> Ran {
        self.run_with_stdin(typed, "")
    }

    pub(crate) fn run_with_stdin(&self, typed: &str, stdin: impl AsRef<[u8]>) -> Ran {
        let words: Vec<&str> = typed.split_whitespace().collect();
        self.run_words(&words, stdin)
    }

    /// Runs `tollgate` with these words where 80 columns are the width.
    pub(crate) fn run_at_80_columns(&self, typed: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        self.run_command(command.args(typed.split_whitespace()).env("COLUMNS", "80"), "")
    }

    /// Runs `tollgate` with these arguments. Stdin, stdout and stderr are pipes.
    pub(crate) fn run_words(&self, words: &[&str], stdin: impl AsRef<[u8]>) -> Ran {
        self.run_command(Command::new(env!("CARGO_BIN_EXE_tollgate")).args(words), stdin)
    }

    fn run_command(&self, command: &mut Command, stdin: impl AsRef<[u8]>) -> Ran {
        command.current_dir(&self.path);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        // Whoever does not read its stdin closes it; that is no fault of the test.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_ref());
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A run that went well: what it printed, once stderr has stayed empty.
pub(crate) fn printed(ran: Ran) -> String {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'), "no colour in a pipe");
    ran.stdout
}

/// A run that failed with nothing on stdout: the first line of its complaint.
pub(crate) fn complaint(ran: &Ran, code: i32) -> &str {
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
    ran.stderr.lines().next().unwrap_or_default()
}

/// A policy without mistakes or lints.
pub(crate) const POLICY: &str = "\
rules:
  - {name: user, scope: user, rate: 10/s, burst: 50}
  - {name: everyone, scope: global, rate: 1000/s, burst: 2000}
";
