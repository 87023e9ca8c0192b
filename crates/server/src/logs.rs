//! What is written down: on stderr, nothing per request unless `RUST_LOG` asks for it.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::settings::LogForm;

/// What is written unless `RUST_LOG` says otherwise. What strangers do wrong is answered and counted; the libraries below us would
/// write it down as well, as often as they like.
const USUAL: &str = "info,h2=error,hyper=error,hyper_util=error";

/// Begins to write logs on stderr. A second time it does nothing.
pub fn begin(form: LogForm) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(USUAL));
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let ink = std::io::stderr().is_terminal() && !is_plain;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(ink);
    let _ = match form {
        LogForm::Text => log.with_target(false).try_init(),
        LogForm::Json => log.json().flatten_event(true).try_init(),
    };
}
