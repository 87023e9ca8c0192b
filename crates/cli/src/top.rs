//! `tollgate top`: a running server, live: what its rules do, who asks most, how its store is.
//!
//! Promises that keys are heard while the server does not answer, that the terminal is left as it was found, and that no client's name steers it.

mod draw;
mod live;
mod sight;

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;

use crate::admin::{self, AdminDoor, Asking};
use crate::format::{self, Format};
use crate::keys::By;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;

use self::sight::Sight;

/// How often the server is asked.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(after_help = format!("\
Keys: q ends it; a, d and n rank clients by admitted, denied and near the limit. Without a terminal, with --once and with -o json it prints \
what it sees within a second, and ends. {}", admin::HELP))]
pub(crate) struct TopFlags {
    /// Print what is seen within a second, and end
    #[arg(long)]
    once: bool,
    /// By what clients are ranked
    #[arg(
        long,
        value_enum,
        default_value = "denied",
        hide_possible_values = true,
        value_name = "admitted|denied|near"
    )]
    by: By,
    /// How many clients are shown
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=64))]
    limit: u32,
    #[command(flatten)]
    asking: Asking,
}

/// Shows the server until somebody has seen enough.
pub(crate) fn page(flags: &TopFlags, screen: &Screen) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    let format = flags.asking.format.chosen();
    let is_live =
        !flags.once && format == Format::Table && io::stdout().is_terminal() && io::stdin().is_terminal();
    // Whatever is wrong with the door is told before the screen is taken.
    let first = Sight::of(&door, flags.by, flags.limit)?;
    if is_live {
        live::run(door, first, flags.by, flags.limit)?;
        return Ok(Page::good(String::new()));
    }
    door.wait(EVERY);
    let sight = Sight::of(&door, flags.by, flags.limit)?.since(&first);
    Ok(Page::good(match format {
        Format::Table => draw::plain(&sight, &door.place(), flags.by, screen.ink),
        Format::Json => format::json(&sight.json()),
    }))
}
