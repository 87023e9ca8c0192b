//! The tools that the gate needs, how each is recognised and how it is installed.
//!
//! A new tool is one entry in [`REQUIREMENTS`]; a new way to install is one variant of [`Install`] and its arm in `setup`.
//! Programs that tests start, and that live under `target/tools`, are in `components`.

use crate::version::version_in;
use crate::workspace::Workspace;

/// One tool.
pub(super) struct Requirement {
    /// What it is called in the output.
    pub(super) name: &'static str,
    /// Prints its version and ends well if it is there. `cargo` is the one that runs us.
    version_command: &'static [&'static str],
    /// The oldest version that will do.
    at_least: Option<&'static str>,
    /// How to get it.
    pub(super) install: Install,
}

/// How a tool is installed.
pub(super) enum Install {
    /// Setup runs `rustup component add`.
    RustupComponent(&'static str),
    /// Setup does not change the machine that far; the caller runs this line.
    ByHand(&'static str),
}

/// Everything the gate needs.
pub(super) const REQUIREMENTS: [Requirement; 6] = [
    Requirement {
        name: "cargo",
        version_command: &["cargo", "--version"],
        at_least: None,
        install: Install::ByHand("rustup update stable"),
    },
    Requirement {
        name: "rustc",
        version_command: &["rustc", "--version"],
        at_least: Some(env!("CARGO_PKG_RUST_VERSION")),
        install: Install::ByHand("rustup update stable"),
    },
    Requirement {
        name: "rustfmt",
        version_command: &["cargo", "fmt", "--version"],
        at_least: None,
        install: Install::RustupComponent("rustfmt"),
    },
    Requirement {
        name: "clippy",
        version_command: &["cargo", "clippy", "--version"],
        at_least: None,
        install: Install::RustupComponent("clippy"),
    },
    Requirement {
        name: "git",
        version_command: &["git", "--version"],
        at_least: None,
        install: Install::ByHand("apt-get install git"),
    },
    Requirement {
        name: "curl",
        version_command: &["curl", "--version"],
        at_least: None,
        install: Install::ByHand("apt-get install curl"),
    },
];

impl Install {
    /// The one line that installs it.
    pub(super) fn line(&self) -> String {
        match self {
            Self::RustupComponent(component) => format!("rustup component add {component}"),
            Self::ByHand(line) => (*line).to_owned(),
        }
    }
}

impl Requirement {
    /// What it says its version is, or in what way it is missing.
    pub(super) fn find(&self, workspace: &Workspace) -> Result<String, String> {
        let (program, arguments) = self.version_command.split_first().ok_or("has no command")?;
        let invocation =
            if *program == "cargo" { workspace.cargo([]) } else { workspace.program(program, []) };
        let said = invocation.args(arguments).read().map_err(|_| "not found".to_owned())?;
        let said = said.lines().next().unwrap_or_default().trim().to_owned();
        match self.at_least {
            Some(least) if version_in(&said) < version_in(least) => {
                Err(format!("`{said}` is too old, {least} or newer is needed"))
            }
            _ => Ok(said),
        }
    }
}
