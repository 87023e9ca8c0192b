//! For whom a list is printed: people or machines.

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::visible::visible_json;

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For machines: one document
    Json,
}

/// The flag of every verb that lists things, and the short way to say it.
#[derive(Debug, Args)]
pub(crate) struct FormatFlag {
    /// The form of the result
    #[arg(
        short,
        long,
        value_enum,
        default_value = "table",
        hide_possible_values = true,
        value_name = "table|json"
    )]
    output: Format,
    /// The same as -o json
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

impl FormatFlag {
    /// What was asked for, in either way.
    pub(crate) fn chosen(&self) -> Format {
        if self.json { Format::Json } else { self.output }
    }
}

/// A JSON document, indented, its last line ended. Nothing in it steers a terminal.
pub(crate) fn json(document: &impl Serialize) -> String {
    // Structs of texts and numbers: nothing in them can fail to be written.
    let mut text = visible_json(&serde_json::to_string_pretty(document).unwrap_or_default());
    text.push('\n');
    text
}
