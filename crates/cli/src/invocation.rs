//! What was typed after `tollgate`: one verb and its flags.
//!
//! Promises that help, version and every complaint look alike, whichever verb they belong to.
//! Does not know what a verb does; its flags stand with it.

use clap::{Parser, Subcommand};

use crate::audit::AuditFlags;
use crate::check::CheckFlags;
use crate::completions::{self, CompletionsFlags};
use crate::config::ConfigFlags;
use crate::demo::DemoFlags;
use crate::explain::ExplainFlags;
use crate::healthcheck::HealthcheckFlags;
use crate::init::InitFlags;
use crate::keys::KeysFlags;
use crate::man::ManFlags;
use crate::migrate::MigrateFlags;
use crate::presets::PresetsFlags;
use crate::rules::RulesFlags;
use crate::script::{self, ScriptFlags};
use crate::serve::ServeFlags;
use crate::test::TestFlags;
use crate::token::TokenFlags;
use crate::top::TopFlags;
use crate::violations::ViolationsFlags;

/// Exact token-bucket rate limiting.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, arg_required_else_help = true, subcommand_required = true)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "\
Begin with `tollgate serve` or `tollgate init`, or watch `tollgate demo`; docs/policy.md explains policies from zero.
Exit codes: 0 good; 1 a bad policy, a failed case, or a failure; 2 wrong usage.")]
pub(crate) struct Invocation {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Answer other programs: JSON and forward-auth over HTTP, and the Redis protocol
    Serve(Box<ServeFlags>),
    /// Print the settings that serve would have, and who said so
    Config(Box<ConfigFlags>),
    /// Ask the running server whether it is ready
    Healthcheck(Box<HealthcheckFlags>),
    /// List, change and roll back the rules of a running server
    Rules(Box<RulesFlags>),
    /// Look at clients of a running server, and block, fill or override them
    Keys(Box<KeysFlags>),
    /// List who was denied what, when and why
    Violations(Box<ViolationsFlags>),
    /// List who changed what, when and why
    Audit(Box<AuditFlags>),
    /// Watch a running server: rates of its rules, and who asks most
    Top(Box<TopFlags>),
    /// Make, list and revoke tokens of the admin door
    Token(Box<TokenFlags>),
    /// Make the tables of the database, or bring them up to date
    Migrate(Box<MigrateFlags>),
    /// Write a policy to start from
    Init(InitFlags),
    /// Find the mistakes in policies, and what is likely not meant
    Check(CheckFlags),
    /// Show which rules a request meets, and what comes of it
    Explain(Box<ExplainFlags>),
    /// Run the unit tests of a policy, in virtual time
    Test(TestFlags),
    /// List the presets that rules can name
    Presets(PresetsFlags),
    /// Print the JSON schema of policies, for editors
    Schema,
    /// Print what runs on a shared store, for programs in other languages
    #[command(after_help = script::HOW)]
    Script(ScriptFlags),
    /// Watch rate limits at work, in virtual time
    Demo(DemoFlags),
    /// Print what a shell needs to complete this command
    #[command(after_help = completions::HOW)]
    Completions(CompletionsFlags),
    /// Print the manual
    Man(ManFlags),
}
