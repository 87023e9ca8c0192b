//! `cargo xtask web`: the dashboard's page, from its sources in `web/` to `web/dist`, which the program embeds.
//!
//! Promises to do nothing twice: packages are fetched when the lock file changed, the page is built when a source did. Everything
//! else in this repository works without Node.

mod node;
mod stamp;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::invocation::Invocation;
use crate::paint;
use crate::problem::Problem;
use crate::workspace::Workspace;

use stamp::Stamp;

/// What is typed after `cargo xtask web`.
const WORDS: &str = "build, check, test";

/// Builds the page (the default), or checks or tests its sources.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    let word = match arguments {
        [] => "build",
        [word] => word.as_str(),
        [_, second, ..] => return Err(Problem::usage(format!("web: `{second}` is one word too many"))),
    };
    if !WORDS.split(", ").any(|known| known == word) {
        return Err(Problem::usage(format!("web: there is no `{word}`; there are: {WORDS}")));
    }
    let page = Page::find(workspace)?;
    page.fetch_packages()?;
    match word {
        "check" => page.check().map(exit_code),
        "test" => page.npm(["test"]).hand_over(),
        _ => page.build().map(|()| ExitCode::SUCCESS),
    }
}

fn exit_code(works: bool) -> ExitCode {
    if works { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The sources of the page, and the Node that works on them.
pub(crate) struct Page {
    folder: PathBuf,
    /// What Node says its version is.
    pub(crate) node: String,
}

impl Page {
    /// The page of this workspace. The problem, for want of Node, names the cure.
    pub(crate) fn find(workspace: &Workspace) -> Result<Self, Problem> {
        Ok(Self { folder: workspace.root().join("web"), node: node::find(workspace)? })
    }

    /// Where the built page is.
    pub(crate) fn dist(&self) -> PathBuf {
        self.folder.join("dist")
    }

    /// An npm command of the page's own.
    pub(crate) fn npm<const N: usize>(&self, arguments: [&str; N]) -> Invocation {
        Invocation::new("npm", "npm", &self.folder).args(arguments)
    }

    /// Brings `web/node_modules` to what the lock file says. No script of a package is run.
    pub(crate) fn fetch_packages(&self) -> Result<(), Problem> {
        let stamp = Stamp::of_packages(&self.folder)?;
        if stamp.is_there() {
            return Ok(());
        }
        must_work(self.npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
        stamp.put()
    }

    /// Builds `web/dist` unless it is there and no source has changed since.
    pub(crate) fn build(&self) -> Result<(), Problem> {
        self.fetch_packages()?;
        // Taken before the build: what is edited meanwhile is built the next time.
        let stamp = Stamp::of_sources(&self.folder)?;
        if stamp.is_there() && self.dist().join("index.html").is_file() {
            println!("   {}", paint::faint("web/dist is as new as its sources"));
            return Ok(());
        }
        must_work(self.npm(["run", "build"]))?;
        stamp.put()
    }

    /// Whether types and formatting of the sources are right.
    pub(crate) fn check(&self) -> Result<bool, Problem> {
        let types = run(self.npm(["run", "check"]))?;
        let format = run(self.npm(["run", "format:check"]))?;
        Ok(types && format)
    }
}

fn must_work(invocation: Invocation) -> Result<(), Problem> {
    let typed = invocation.typed().to_owned();
    if run(invocation)? { Ok(()) } else { Err(Problem::failed(format!("`{typed}` failed in web/"))) }
}

fn run(invocation: Invocation) -> Result<bool, Problem> {
    println!("   {}", paint::faint(&format!("web/ $ {}", invocation.typed())));
    Ok(invocation.run()?.success())
}

/// Every file below a folder, sorted, as paths from it; `skips` says which entries of the folder itself to leave out.
pub(crate) fn files_below(folder: &Path, skips: &[&str]) -> Result<Vec<PathBuf>, Problem> {
    let cannot = |path: &Path, error| Problem::failed(format!("cannot list '{}': {error}", path.display()));
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(within) = folders.pop() {
        let at = folder.join(&within);
        for entry in at.read_dir().map_err(|error| cannot(&at, error))? {
            let entry = entry.map_err(|error| cannot(&at, error))?;
            if within == Path::new("") && skips.iter().any(|skipped| entry.file_name() == *skipped) {
                continue;
            }
            let path = within.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
