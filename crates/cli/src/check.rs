//! `tollgate check`: the mistakes in policies, and what is likely not meant.
//!
//! Promises to look at every file, whatever is wrong with another one, and that what it calls good can be put in force.

mod report;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use tollgate::policy::{Action, Lint, LintKind, MAX_KEYS_ASSUMED, Mistakes, Mode, Policy, TableRoom};
use tollgate::{Limiter, PolicyError};
use tollgate_redis::SharedLimit;

use crate::format::{Format, FormatFlag};
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;
use crate::source::{self, Content, Source, Unread};

#[derive(Debug, Args)]
#[command(after_help = "\
A mistake is what cannot be meant, a lint what is hardly meant. Every mistake of every file is told, with its place and its cure. \
The exit code is 1 if a file has a mistake or cannot be read, and with --deny-lints if it has a lint.")]
pub(crate) struct CheckFlags {
    /// The policies, in YAML or JSON; - reads stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Refuse policies with lints, too: for CI
    #[arg(long)]
    deny_lints: bool,
    /// Size of the bucket table that lints assume [default: 100000]
    #[arg(long, value_name = "N", default_value_t = MAX_KEYS_ASSUMED, hide_default_value = true)]
    max_keys: usize,
    #[command(flatten)]
    format: FormatFlag,
}

/// Room for the buckets of a policy that nobody will put a request to.
const KEYS_MAX: usize = 64;

/// One file that was looked at.
struct Checked {
    file: String,
    found: Result<Sound, Unsound>,
}

/// Why a policy is refused.
enum Unsound {
    /// There is no text to look at.
    Unread(Unread),
    /// By the parser.
    Mistakes(Mistakes),
    /// By the limiter.
    Unenforceable(PolicyError),
}

/// A policy without mistakes.
struct Sound {
    rules: usize,
    lints: Vec<Lint>,
}

/// Looks at every file. Of what cannot be read at all people are told on stderr, and machines like of everything else.
pub(crate) fn page(flags: &CheckFlags, screen: &Screen) -> Result<Page, Problem> {
    source::refuse_stdin_twice(&flags.files)?;
    let checked: Vec<Checked> = flags.files.iter().map(|path| look(path, flags.max_keys)).collect();
    let is_good = checked.iter().all(|file| file.is_good(flags.deny_lints));
    let text = match flags.format.chosen() {
        Format::Table => {
            tell_of_unread(&checked);
            report::table(&checked, flags.deny_lints, screen.ink)
        }
        Format::Json => report::json(&checked, flags.deny_lints),
    };
    Ok(Page { text, is_good })
}

fn tell_of_unread(checked: &[Checked]) {
    for file in checked {
        if let Err(Unsound::Unread(unread)) = &file.found {
            let _ = writeln!(io::stderr(), "error: {unread}");
        }
    }
}

fn look(path: &Path, max_keys: usize) -> Checked {
    match Source::read(path, Content::Policy) {
        Ok(source) => Checked { found: judge(&source, max_keys), file: source.name },
        Err(unread) => Checked { file: unread.name.clone(), found: Err(Unsound::Unread(unread)) },
    }
}

fn judge(source: &Source, max_keys: usize) -> Result<Sound, Unsound> {
    let policy = Policy::parse(&source.name, &source.text).map_err(Unsound::Mistakes)?;
    let (rules, mut lints) = (policy.rules.len(), policy.lints_for(TableRoom::for_keys(max_keys)));
    lints.extend(cannot_share(&policy));
    lints.sort_by_key(|lint| (lint.line, lint.kind));
    let limiter = Limiter::builder().keys_max(KEYS_MAX).build_with_policy(policy);
    limiter.map(|_| Sound { rules, lints }).map_err(Unsound::Unenforceable)
}

/// Rules that a shared store would refuse, where the policy is for one.
fn cannot_share(policy: &Policy) -> impl Iterator<Item = Lint> {
    let rules = policy.rules.iter().filter(|rule| policy.store.is_some() && rule.mode != Mode::Off);
    rules.filter_map(|rule| {
        let Action::Limit(algorithm) = &rule.action else { return None };
        let refused = SharedLimit::accept(algorithm).err()?.to_string();
        let (message, cure) = refused.split_once("; ").unwrap_or((&refused, "use another limit"));
        Some(Lint {
            kind: LintKind::CannotShare,
            rule: Some(rule.name.clone()),
            source: rule.source.clone(),
            line: rule.line,
            message: message.to_owned(),
            cure: cure.to_owned(),
        })
    })
}

impl Checked {
    fn is_good(&self, deny_lints: bool) -> bool {
        self.found.as_ref().is_ok_and(|sound| sound.lints.is_empty() || !deny_lints)
    }
}
