//! What was typed after `tollgate`: one verb and its flags.
//!
//! Promises that help, version and every complaint look alike, whichever verb they belong to.
//! Does not know what a verb does; its flags stand with it.

use clap::{Parser, Subcommand};

use crate::demo::DemoFlags;

/// Exact token-bucket rate limiting.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, arg_required_else_help = true, subcommand_required = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Invocation {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Watch rate limits at work, in virtual time
    Demo(DemoFlags),
}
