//! `tollgate migrate`: makes the tables of the database, or brings them up to date.

use clap::Args;
use serde_json::json;
use tollgate_records::Records;

use crate::format::{self, Format, FormatFlag};
use crate::page::Page;
use crate::problem::Problem;
use crate::records_place::{self, RecordsFlags};
use crate::visible::visible;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  tollgate migrate
  tollgate migrate --records postgres://tollgate@db.example.com/tollgate

`tollgate serve` does the same when it starts; this is for whoever wants it done before. Several at once take turns. {}",
    records_place::HELP))]
pub(crate) struct MigrateFlags {
    #[command(flatten)]
    records: RecordsFlags,
    #[command(flatten)]
    format: FormatFlag,
}

/// What was done.
pub(crate) fn page(flags: &MigrateFlags) -> Result<Page, Problem> {
    let url = flags.records.url()?;
    let migrated = records_place::runtime()?.block_on(Records::migrate(&url));
    let migrated = migrated.map_err(|error| Problem::Records { place: url.to_string(), error })?;
    let (place, from, to) = (url.to_string(), migrated.from, migrated.to);
    Ok(Page::good(match flags.format.chosen() {
        Format::Table if from == to => format!("{}: schema {to}, up to date\n", visible(&place)),
        Format::Table => format!("{}: from schema {from} to schema {to}\n", visible(&place)),
        Format::Json => format::json(&json!({ "records": place, "from": from, "to": to })),
    }))
}
