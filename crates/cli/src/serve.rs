//! `tollgate serve`: the doors open, until the program is told to end.

mod flags;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use tollgate_server::{Resolved, begin_logs, resolve, serve};

use crate::page::Page;
use crate::problem::Problem;
pub(crate) use flags::SettingFlags;

#[derive(Debug, Args)]
#[command(after_help = "\
Flags beat the environment (TOLLGATE_HTTP, …), which beats the file of --config, which beats the defaults; `tollgate config` shows \
what counts and why. An address is host:port, with port 0 for any free one, unix:PATH or off. SIGHUP reads the policy again; SIGTERM \
and SIGINT end the program when open requests are done. RUST_LOG says what is logged; \
OTEL_EXPORTER_OTLP_ENDPOINT names a collector of traces. A socket that systemd passes \
(socket activation) is the door that its name says, wherever the settings would have it. Exit codes: 0 ended as told; 1 a bad policy, \
setting or a taken address; 2 wrong usage.")]
pub(crate) struct ServeFlags {
    #[command(flatten)]
    settings: SettingFlags,
}

/// Serves until the program is told to end. There is nothing to show then.
pub(crate) fn page(flags: &ServeFlags) -> Result<Page, Problem> {
    let resolved = resolved(&flags.settings)?;
    let settings = resolved.settings()?;
    begin_logs(settings.log, &resolved.warnings);
    serve(&settings).map_err(Problem::Serve)?;
    Ok(Page::good(String::new()))
}

/// What flags, environment and file say together.
pub(crate) fn resolved(flags: &SettingFlags) -> Result<Resolved, Problem> {
    Ok(resolve(&flags.typed(), &environment())?)
}

/// Returns the state directory that `serve` has by the environment alone. `None` if there is none.
pub(crate) fn state_dir() -> Option<PathBuf> {
    let resolved = resolve(&[], &environment()).ok()?;
    resolved.values.into_iter().find(|value| value.known.name == "state_dir")?.text.map(PathBuf::from)
}

/// All of the environment that is text.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}
