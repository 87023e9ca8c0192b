//! Programs that run beside a test and die with it, and with whoever runs the test.

use std::path::Path;
use std::process::Command;

/// A command whose program is killed when the thread that starts it ends.
pub(crate) fn mortal(program: &Path) -> Command {
    let has_setpriv = Command::new("setpriv").arg("--version").output().is_ok();
    if !has_setpriv {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}
