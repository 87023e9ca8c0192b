//! For whom a list is printed: people or machines.

use clap::ValueEnum;
use serde::Serialize;

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For machines: one document
    Json,
}

/// A JSON document, indented, its last line ended.
pub(crate) fn json(document: &impl Serialize) -> String {
    // Structs of texts and numbers: nothing in them can fail to be written.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
