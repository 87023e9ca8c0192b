//! `tollgate script`: what runs on Redis or Valkey, for programs in other languages that share its buckets.

use clap::{Args, ValueEnum};
use tollgate_redis::Script;

use crate::page::Page;

#[derive(Debug, Args)]
pub(crate) struct ScriptFlags {
    /// Which script
    #[arg(value_name = "SCRIPT", value_enum)]
    script: Scripts,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Scripts {
    /// Decides checks, and all else that is done to buckets
    Decide,
    /// Reads and changes the limits of rules
    Declare,
}

/// The script, to the byte: its digest is how the server knows it.
pub(crate) fn page(flags: &ScriptFlags) -> Page {
    let script = match flags.script {
        Scripts::Decide => Script::decide(),
        Scripts::Declare => Script::declare(),
    };
    Page::good(script.text().to_owned())
}

/// What it is for, for the help.
pub(crate) const HOW: &str = "\
Examples:
  tollgate script decide > decide.lua
  redis-cli -x SCRIPT LOAD < decide.lua
docs/redis-script.md describes arguments, replies and the names of keys, and examples/redis-node and examples/redis-python use them.
Every program that shares buckets takes the scripts of one release.";
