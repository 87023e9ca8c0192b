//! A program that a test starts: on free ports, logging into a file, and gone with the test and with whoever runs it.

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::mortal::mortal;

/// How often something may be looked at until it must be so: 20 seconds' worth.
const LOOKS_MAX: usize = 1_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A running program.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program in `folder` and waits until it listens at `port`.
    #[track_caller]
    pub(crate) fn start(program: &Path, arguments: &[&str], folder: &Path, port: u16) -> Process {
        let name = program.file_name().unwrap().to_str().unwrap();
        let log = folder.join(format!("{name}-{port}.log"));
        let output = std::fs::File::create(&log).unwrap();
        let mut command = mortal(program);
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("TOLLGATE_") {
                command.env_remove(variable);
            }
        }
        // Caddy keeps things at home.
        command
            .env("HOME", folder)
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("RUST_LOG");
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        let child = command.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
        let mut process = Process { child, log };
        let listens = eventually(|| {
            let status = process.child.try_wait().unwrap();
            assert!(status.is_none(), "{name} ended with {status:?}:\n{}", process.said());
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        });
        assert!(listens, "{name} does not listen at {port}:\n{}", process.said());
        process
    }

    /// Whether it has not ended.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// What it has logged.
    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// Ends the program; if the test failed, shows what it logged.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- {}\n{}", self.log.display(), self.said());
        }
    }
}

/// Whether it is so in the end.
pub(crate) fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    (0..LOOKS_MAX).any(|_| {
        let is_so = is_so();
        if !is_so {
            std::thread::park_timeout(BETWEEN_LOOKS);
        }
        is_so
    })
}
