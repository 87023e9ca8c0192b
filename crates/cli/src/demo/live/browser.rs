//! The machine's browser.

use std::process::{Command, Stdio};

/// What opens an address: on Linux and the BSDs, on macOS.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Opens an address in it; whether something that does was started.
pub(super) fn open(address: &str) -> bool {
    OPENERS.into_iter().any(|opener| {
        let mut command = Command::new(opener);
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}
