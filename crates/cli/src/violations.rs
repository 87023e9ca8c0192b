//! `tollgate violations`: who was denied what, when and why.

mod export;
mod follow;
mod listing;
mod totals;

use clap::{Args, ValueEnum};

use crate::admin::{self, AdminDoor, Asking, Target};
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;
use crate::when::When;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  tollgate violations --since 1h --rule login
  tollgate violations --ip 192.0.2.7 --follow
  tollgate violations --totals
  tollgate violations --since 7d --export csv > violations.csv

Under a flood each client has only some of its denials on record, and STANDS FOR says for how many a line stands; --totals has the true \
counts. {}", admin::HELP))]
pub(crate) struct ViolationsFlags {
    /// Of this user
    #[arg(long, value_name = "USER", help_heading = "Which")]
    user: Option<String>,
    /// Of this address
    #[arg(long, value_name = "ADDRESS", visible_alias = "address", help_heading = "Which")]
    ip: Option<String>,
    /// By this rule
    #[arg(long, value_name = "RULE", help_heading = "Which")]
    rule: Option<String>,
    /// At this endpoint
    #[arg(long, value_name = "PATH", help_heading = "Which")]
    endpoint: Option<String>,
    /// At endpoints that begin like this
    #[arg(long, value_name = "PATH", conflicts_with = "endpoint", help_heading = "Which")]
    endpoint_prefix: Option<String>,
    /// Not before, as in 30m (ago) or 2026-11-20T10:00Z
    #[arg(long, value_name = "WHEN", value_parser = When::parse, help_heading = "Which")]
    since: Option<When>,
    /// Before, likewise
    #[arg(long, value_name = "WHEN", value_parser = When::parse, help_heading = "Which")]
    until: Option<When>,
    /// How many, the newest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// Go on where the list before ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Wait for more, and show them as they come
    #[arg(long, short, conflicts_with_all = ["until", "cursor"])]
    follow: bool,
    /// All of them, as the server writes them: csv or jsonl
    #[arg(long, value_enum, value_name = "csv|jsonl", hide_possible_values = true,
        conflicts_with_all = ["follow", "output", "json", "cursor", "totals", "limit"])]
    export: Option<Export>,
    /// The true counts by rule, in place of single denials
    #[arg(long, conflicts_with_all = ["follow", "user", "ip", "endpoint", "endpoint_prefix", "cursor", "limit"])]
    totals: bool,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Export {
    Csv,
    Jsonl,
}

/// Does what was asked.
pub(crate) fn page(flags: &ViolationsFlags, screen: &Screen) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    match flags.export {
        Some(export) => export::page(&door, flags, export),
        None if flags.totals => totals::page(&door, flags, screen),
        None if flags.follow => follow::page(&door, flags, screen),
        None => listing::page(&door, flags, screen),
    }
}

impl ViolationsFlags {
    /// What is asked for, of those that the filters leave.
    fn target(&self, segments: &[&str]) -> Target {
        self.of_whom(segments).with("since", sent(self.since)).with("until", sent(self.until))
    }

    /// The same at any time.
    fn of_whom(&self, segments: &[&str]) -> Target {
        Target::new(segments)
            .with("user", self.user.as_deref())
            .with("address", self.ip.as_deref())
            .with("rule", self.rule.as_deref())
            .with("endpoint", self.endpoint.as_deref())
            .with("endpoint_prefix", self.endpoint_prefix.as_deref())
    }
}

/// As the server reads it, by whose clock a length is counted back.
fn sent(when: Option<When>) -> Option<String> {
    when.map(When::sent)
}
