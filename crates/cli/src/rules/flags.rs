//! What was typed after `tollgate rules`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::admin::{self, AdminFlags, Asking};
use crate::order_flags::WhyAndHowLong;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  tollgate rules list
  tollgate rules diff limits.yaml
  tollgate rules apply limits.yaml --comment 'tighter log-ins'
  tollgate rules history
  tollgate rules rollback 7 --comment 'too tight'
  tollgate rules mode search shadow --reason 'watch first' --for 2h

Rules on record (`apply`) come before those of the server's policy file: one of the same name stands in for the file's, and deleting it \
brings the file's back. {}", admin::HELP))]
pub(crate) struct RulesFlags {
    #[command(subcommand)]
    pub(super) verb: RulesVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum RulesVerb {
    /// List the rules in force, and what they have done
    List(ListFlags),
    /// Show one rule in force
    Get(NameFlags),
    /// Find the mistakes that the server would find in these rules
    Validate(FilesFlags),
    /// Show what applying these rules would change, or what a version changed
    Diff(DiffFlags),
    /// Put rules on record: in force on every instance within a second
    Apply(ApplyFlags),
    /// Take a rule off the record
    Delete(DeleteFlags),
    /// Enforce a rule on record again
    Activate(SwitchFlags),
    /// Keep a rule on record without enforcing it
    Deactivate(SwitchFlags),
    /// Print the rules on record, as `apply` takes them
    Export(ExportFlags),
    /// List the versions of the rules on record: who made them, when and why
    History(HistoryFlags),
    /// Go back to what a version was
    Rollback(RollbackFlags),
    /// Order a rule to watch, to be enforced, or to be off
    Mode(ModeFlags),
    /// Order that every request which a rule governs is refused, or simply every request
    Kill(KillFlags),
    /// Have the server read its policy file again
    Reload(ReloadFlags),
}

#[derive(Debug, Args)]
pub(super) struct ListFlags {
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct NameFlags {
    /// The rule
    #[arg(value_name = "RULE")]
    pub(super) name: String,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct FilesFlags {
    /// Policies, single rules, or what `rules export` printed, in YAML or JSON; - reads stdin
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Rules on record that these files do not have go
    #[arg(long)]
    pub(super) prune: bool,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct DiffFlags {
    /// Policies, single rules, or what `rules export` printed, in YAML or JSON; - reads stdin
    #[arg(value_name = "FILE", required_unless_present = "version")]
    pub(super) files: Vec<PathBuf>,
    /// Rules on record that these files do not have go
    #[arg(long, requires = "files")]
    pub(super) prune: bool,
    /// A version in place of files: what it changed
    #[arg(long, value_name = "N", conflicts_with = "files")]
    pub(super) version: Option<i64>,
    /// The version that it is compared with [default: the one before]
    #[arg(long, value_name = "N", requires = "version")]
    pub(super) against: Option<i64>,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The change is shown and asked about first. All of it is put on record, or nothing: a rule with a mistake, or somebody else's change since \
it was shown, and the record stays as it is.")]
pub(super) struct ApplyFlags {
    #[command(flatten)]
    pub(super) files: FilesFlags,
    #[command(flatten)]
    pub(super) changing: Changing,
    /// The version that must be the last one [default: the one that the change is shown for]
    #[arg(long, value_name = "N")]
    pub(super) base_version: Option<i64>,
}

/// How a change is made.
#[derive(Debug, Args)]
pub(super) struct Changing {
    /// Why, for the history
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) comment: String,
    /// Do not ask
    #[arg(long, short)]
    pub(super) yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct DeleteFlags {
    /// The rule
    #[arg(value_name = "RULE")]
    pub(super) name: String,
    #[command(flatten)]
    pub(super) changing: Changing,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct SwitchFlags {
    /// The rule
    #[arg(value_name = "RULE")]
    pub(super) name: String,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) comment: String,
    #[command(flatten)]
    pub(super) asking: Asking,
}

/// In which language rules are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    Yaml,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct ExportFlags {
    /// In which language
    #[arg(
        long,
        short = 'o',
        value_enum,
        default_value = "yaml",
        hide_possible_values = true,
        value_name = "yaml|json"
    )]
    pub(super) output: Language,
    #[command(flatten)]
    pub(super) admin: AdminFlags,
}

#[derive(Debug, Args)]
pub(super) struct HistoryFlags {
    /// How many, the newest first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(super) limit: u32,
    /// Those before this version
    #[arg(long, value_name = "N")]
    pub(super) before: Option<i64>,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct RollbackFlags {
    /// The version to go back to, as `rules history` lists it
    #[arg(value_name = "VERSION")]
    pub(super) version: i64,
    #[command(flatten)]
    pub(super) changing: Changing,
    #[command(flatten)]
    pub(super) asking: Asking,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Does {
    /// It watches, and denies nobody
    Shadow,
    /// It denies
    Enforce,
    /// It is as if it were not there
    Off,
}

#[derive(Debug, Args)]
pub(super) struct ModeFlags {
    /// The rule
    #[arg(value_name = "RULE")]
    pub(super) rule: String,
    /// What it does
    #[arg(value_name = "MODE", value_enum)]
    pub(super) mode: Does,
    #[command(flatten)]
    pub(super) why: WhyAndHowLong,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
#[command(
    after_help = "It stands until it expires, or until `tollgate keys release` ends it by its number; clients are told the reason."
)]
pub(super) struct KillFlags {
    /// The rule whose requests are refused; without one, every request is
    #[arg(value_name = "RULE")]
    pub(super) rule: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) why: WhyAndHowLong,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct ReloadFlags {
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    #[command(flatten)]
    pub(super) asking: Asking,
}
