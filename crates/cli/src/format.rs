//! For whom a list is printed: people or machines.

use clap::{Args, ValueEnum};
use serde::Serialize;

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For machines: one document
    Json,
}

/// The flag of every verb that lists things.
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
    pub(crate) output: Format,
}

/// A JSON document, indented, its last line ended.
pub(crate) fn json(document: &impl Serialize) -> String {
    // Structs of texts and numbers: nothing in them can fail to be written.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
