//! A real Redis beside a test; it dies with the test.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::component::tool;
use crate::mortal::mortal;
use crate::server::PATIENCE;

/// A real Redis on a port that was free.
pub(crate) struct Redis {
    child: Child,
    pub(crate) port: u16,
}

impl Redis {
    pub(crate) fn start() -> Redis {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Redis::at(port)
    }

    pub(crate) fn at(port: u16) -> Redis {
        let mut command = mortal(tool("bin/redis"));
        command.args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        command.current_dir(std::env::temp_dir()).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().unwrap();
        eventually("Redis listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Redis { child, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops the process: connections stay open, and no command gets a reply.
    pub(crate) fn stand_still(&self) {
        let killed = Command::new("kill").args(["-STOP", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let looks = PATIENCE.as_millis() / 10;
    let came = (0..looks).any(|_| {
        let is_so = is_so();
        if !is_so {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        is_so
    });
    assert!(came, "never: {what}");
}
