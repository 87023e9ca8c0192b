//! Headers and colours. Colour appears only on a terminal, and never when `NO_COLOR` is set.

use std::io::IsTerminal;
use std::sync::LazyLock;

static COLOURED: LazyLock<bool> =
    LazyLock::new(|| std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none());

/// A line that opens a part of the output: `── clippy`.
pub(crate) fn header(title: &str) -> String {
    paint("1;36", &format!("── {title}"))
}

/// Text for what went well.
pub(crate) fn good(text: &str) -> String {
    paint("32", text)
}

/// Text for what went wrong.
pub(crate) fn bad(text: &str) -> String {
    paint("1;31", text)
}

/// Text that explains but does not matter to the result.
pub(crate) fn faint(text: &str) -> String {
    paint("2", text)
}

fn paint(code: &str, text: &str) -> String {
    if *COLOURED { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
