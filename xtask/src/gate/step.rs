//! The steps of the gate: their names, their order, and the function behind each.

use crate::problem::Problem;
use crate::tidy;
use crate::workspace::Workspace;

use super::{Report, Selection, build_checks, examples, setup, tally::Tally, test_runs, web_checks};

/// One step of the gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The tools that the others need are installed.
    Setup,
    /// The code is formatted.
    Fmt,
    /// The repository's own rules hold.
    Tidy,
    /// The dashboard's page is built, right and small. Whatever is compiled later embeds it.
    Web,
    /// No warning, in any set of features.
    Clippy,
    /// Unit and integration tests, in debug mode.
    Test,
    /// The dashboard in a real browser, before a real server.
    Browser,
    /// The tests that need optimisation, few at a time or alone.
    Proofs,
    /// The concurrent protocols under every interleaving.
    Loom,
    /// The examples in the documentation.
    DocTests,
    /// The example programs run to their end.
    Examples,
    /// The documentation builds without a warning.
    Docs,
}

impl Step {
    /// Every step, cheapest and most telling first.
    pub(super) const ALL: [Self; 12] = [
        Self::Setup,
        Self::Fmt,
        Self::Tidy,
        Self::Web,
        Self::Clippy,
        Self::Test,
        Self::Browser,
        Self::Proofs,
        Self::Loom,
        Self::DocTests,
        Self::Examples,
        Self::Docs,
    ];

    /// The name by which a developer runs or skips it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Fmt => "fmt",
            Self::Tidy => "tidy",
            Self::Web => "web",
            Self::Clippy => "clippy",
            Self::Test => "test",
            Self::Browser => "browser",
            Self::Proofs => "proofs",
            Self::Loom => "loom",
            Self::DocTests => "doc-tests",
            Self::Examples => "examples",
            Self::Docs => "docs",
        }
    }

    /// Does the step's work. A problem counts as one failure.
    pub(super) fn run(self, workspace: &Workspace, selection: &Selection) -> Result<Report, Problem> {
        match self {
            Self::Setup => setup::run(workspace, selection),
            Self::Fmt => build_checks::fmt(workspace).map(Report::from),
            Self::Tidy => {
                tidy::count(workspace).map(|(passed, failed)| Tally { passed, failed, skipped: 0 }.into())
            }
            Self::Web => web_checks::web(workspace).map(Report::from),
            Self::Clippy => build_checks::clippy(workspace).map(Report::from),
            Self::Test => test_runs::test(workspace),
            Self::Browser => web_checks::browser(workspace, selection),
            Self::Proofs => test_runs::proofs(workspace),
            Self::Loom => test_runs::loom(workspace).map(Report::from),
            Self::DocTests => test_runs::doc_tests(workspace).map(Report::from),
            Self::Examples => examples::run(workspace).map(Report::from),
            Self::Docs => build_checks::docs(workspace).map(Report::from),
        }
    }
}
