//! Where the repository is, and which of its optional parts are there.

use std::path::{Path, PathBuf};

use crate::invocation::Invocation;
use crate::problem::Problem;

/// The checkout that the verb works on.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace that holds this xtask. Cargo tells where it is when it runs us.
    pub(crate) fn find() -> Result<Self, Problem> {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| {
            Problem::usage("cargo did not say where the repository is; start me as `cargo xtask`")
        })?;
        match PathBuf::from(manifest_dir).parent() {
            Some(root) => Ok(Self { root: root.to_owned() }),
            None => {
                Err(Problem::usage("xtask has no parent folder; start me as `cargo xtask` in the repository"))
            }
        }
    }

    /// The folder of the root `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A cargo command of the toolchain that runs us, started at the root.
    pub(crate) fn cargo<const N: usize>(&self, arguments: [&str; N]) -> Invocation {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Invocation::new("cargo", program, &self.root).args(arguments)
    }

    /// Any other program found on `PATH`, started at the root.
    pub(crate) fn program<const N: usize>(&self, name: &str, arguments: [&str; N]) -> Invocation {
        Invocation::new(name, name, &self.root).args(arguments)
    }

    /// Whether the fuzz targets, a workspace of their own, are there.
    pub(crate) fn has_fuzz_targets(&self) -> bool {
        self.root.join(FUZZ_MANIFEST).is_file()
    }
}

/// The manifest of the fuzz targets, from the root.
pub(crate) const FUZZ_MANIFEST: &str = "fuzz/Cargo.toml";

/// Whether a program of this name is on `PATH`.
pub(crate) fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
