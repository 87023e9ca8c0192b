//! What is written down: on stderr, nothing per request unless `RUST_LOG` asks for it.

use std::ffi::OsString;
use std::io::{IsTerminal, Write as _};

use tracing_subscriber::EnvFilter;

use crate::settings::LogForm;

/// The variable that says what is written.
const VARIABLE: &str = EnvFilter::DEFAULT_ENV;
/// What is written unless `RUST_LOG` says otherwise. What strangers do wrong is answered and counted; the libraries below us would
/// write it down as well, as often as they like.
const USUAL: &str = "info,h2=error,hyper=error,hyper_util=error";

/// Begins to write logs on stderr, with what is to be warned of before anything else. A second time it begins nothing.
pub fn begin(form: LogForm, warnings: &[String]) {
    let (filter, fault) = filter(std::env::var_os(VARIABLE));
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let ink = std::io::stderr().is_terminal() && !is_plain;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(ink);
    let _ = match form {
        LogForm::Text => log.with_target(false).try_init(),
        LogForm::Json => log.json().flatten_event(true).try_init(),
    };
    for warning in warnings.iter().chain(&fault) {
        match form {
            // Whoever logs little hears it all the same.
            LogForm::Text => drop(writeln!(std::io::stderr(), "warning: {warning}")),
            LogForm::Json => tracing::warn!("{warning}"),
        }
    }
}

/// What is to be written, and what is wrong with the wish for something else.
fn filter(wish: Option<OsString>) -> (EnvFilter, Option<String>) {
    let usual = || EnvFilter::new(USUAL);
    let Some(wish) = wish else { return (usual(), None) };
    let fault = match wish.to_str().map(EnvFilter::try_new) {
        Some(Ok(filter)) => return (filter, None),
        Some(Err(error)) => error.to_string(),
        None => "it is no text".to_owned(),
    };
    let wish = wish.to_string_lossy();
    let cure = "use a level (error, warn, info, debug, trace), or levels by part, as in `warn,tollgate_server=debug`";
    let warning = format!("{VARIABLE} is '{}', which was passed over: {fault}; {cure}", wish.escape_debug());
    (usual(), Some(warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_none_is_passed_over_with_its_name_value_and_cure() {
        for sound in [None, Some("debug"), Some("warn,tollgate_server=debug")] {
            assert_eq!(filter(sound.map(OsString::from)).1, None, "{sound:?}");
        }
        let warning = filter(Some(OsString::from("tollgate=loud"))).1.unwrap();
        assert!(warning.starts_with("RUST_LOG is 'tollgate=loud', which was passed over: "), "{warning}");
        assert!(warning.contains("; use a level (error, ") && !warning.contains('\n'), "{warning}");
    }
}
