//! `tollgate healthcheck`: whether the server that runs with the same settings is ready. For containers, which have no curl.

use clap::Args;
use tollgate_server::healthcheck;

use crate::page::Page;
use crate::problem::Problem;
use crate::serve::{SettingFlags, resolved};

#[derive(Debug, Args)]
#[command(after_help = "\
Takes the flags, the environment and the file of `tollgate serve`, and asks /readyz at the admin door; if that is off, at the metrics \
door, else at the HTTP door. Prints what the server says. Exit codes: 0 it is ready; 1 it is not, or does not answer within 2 s; 2 \
wrong usage.")]
pub(crate) struct HealthcheckFlags {
    #[command(flatten)]
    settings: SettingFlags,
}

/// What a ready server says.
pub(crate) fn page(flags: &HealthcheckFlags) -> Result<Page, Problem> {
    let settings = resolved(&flags.settings)?.settings()?;
    let said = healthcheck(&settings).map_err(Problem::Health)?;
    Ok(Page::good(format!("{}\n", said.trim_end())))
}
