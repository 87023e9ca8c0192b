//! Programs that run beside a test and die with it, and with whoever runs the test.

use std::ffi::OsStr;
use std::process::Command;

/// A command whose program is killed when the thread that starts it ends, in an environment without settings of Tollgate.
pub(crate) fn mortal(program: impl AsRef<OsStr>) -> Command {
    let has_setpriv = Command::new("setpriv").arg("--version").output().is_ok();
    let mut command = if has_setpriv {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("TOLLGATE_") || text.starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    // Without a home there is no state directory, unless the test names one.
    for name in [
        "HOME",
        "XDG_STATE_HOME",
        "RUST_LOG",
        "REDIS_URL",
        "DATABASE_URL",
        "STATE_DIRECTORY",
        "NOTIFY_SOCKET",
        "LISTEN_FDS",
        "LISTEN_PID",
        "LISTEN_FDNAMES",
    ] {
        command.env_remove(name);
    }
    command
}
