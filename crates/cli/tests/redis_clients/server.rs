//! `tollgate serve` beside a test: it dies with the test, and with whoever runs the test.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mortal::mortal;

/// What a client must know, where one must know it.
pub(crate) const PASSWORD: &str = "open sesame";
/// Three requests of a client at once, and then hardly any.
const POLICY: &str = "{name: client, scope: ip, rate: 3/h, burst: 3}\n";

/// A running server with a RESP door.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    policy: PathBuf,
}

impl Server {
    /// On a free port.
    pub(crate) fn new() -> Server {
        Server::started(0, None)
    }

    /// On a free port, for whoever knows the password.
    pub(crate) fn with_password() -> Server {
        Server::started(0, Some(PASSWORD))
    }

    /// Ended in the middle of everything, and started again on the same port.
    pub(crate) fn again(mut self) -> Server {
        let _ = self.child.kill();
        let _ = self.child.wait();
        Server::started(self.port, None)
    }

    fn started(port: u16, password: Option<&str>) -> Server {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tollgate-clients-{}-{number}.yaml", std::process::id());
        let policy = std::env::temp_dir().join(name);
        std::fs::write(&policy, POLICY).unwrap();
        let mut command = mortal(env!("CARGO_BIN_EXE_tollgate"));
        command.args([
            "serve",
            "--http",
            "off",
            "--admin",
            "127.0.0.1:0",
            "--resp",
            &format!("127.0.0.1:{port}"),
        ]);
        command
            .arg("--policy")
            .arg(&policy)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(password) = password {
            command.env("TOLLGATE_RESP_PASSWORD", password);
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut said: Vec<String> = Vec::new();
        while said.last().is_none_or(|line| !line.starts_with("  store ")) {
            said.push(lines.next().unwrap_or_else(|| panic!("it did not start: {said:#?}")));
        }
        // Whatever else it says must not make it wait.
        std::thread::spawn(move || lines.for_each(drop));
        let port = said.iter().find_map(|line| line.strip_prefix("  resp    127.0.0.1:"));
        let port = port.and_then(|rest| rest.split_whitespace().next()).unwrap().parse().unwrap();
        Server { child, port, policy }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.policy);
    }
}
