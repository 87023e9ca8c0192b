//! The tools that the gate needs, how each is recognised and how it is installed.
//!
//! A new tool is one entry in [`REQUIREMENTS`]; a new way to install is one variant of [`Install`] and its arm in `setup`.
//! Programs that tests start, and that live under `target/tools`, are in `components`.

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

/// The first dotted number in a text: `rustc 1.95.0 (…)` gives 1, 95, 0.
fn version_in(text: &str) -> Vec<u32> {
    let mut words = text.split_whitespace();
    let version = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default();
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(version_in("rustc 1.95.0 (59807616e 2026-04-14)"), [1, 95, 0]);
        assert!(version_in("rustc 1.95.0") >= version_in("1.95"));
        assert!(version_in("rustc 1.100.0-nightly") > version_in("1.95"));
        assert!(version_in("rustc 1.94.1") < version_in("1.95"));
    }
}
