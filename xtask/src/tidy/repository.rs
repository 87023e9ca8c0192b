//! What the rules look at: the files that git holds or would hold, and the packages.

use std::path::Path;

use crate::metadata::Metadata;
use crate::problem::Problem;
use crate::workspace::Workspace;

use super::rust_code;

/// The repository at one moment.
pub(super) struct Repository<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) files: Vec<SourceFile>,
    pub(super) members: Metadata,
}

/// One file that is tracked, or would be after `git add --all`.
pub(super) struct SourceFile {
    /// From the root, with `/` between its parts.
    pub(super) path: String,
    pub(super) size_bytes: usize,
    /// Its text, empty if it is not UTF-8.
    pub(super) text: String,
    /// Its text with comments and literals blanked out, empty if it is not Rust.
    pub(super) code: String,
}

impl<'a> Repository<'a> {
    /// Reads all files and asks cargo for the packages.
    pub(super) fn read(workspace: &'a Workspace) -> Result<Self, Problem> {
        let listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listing = workspace.program("git", listing).read()?;
        let paths = listing.split('\0').filter(|path| !path.is_empty());
        let files = paths.filter_map(|path| SourceFile::read(workspace.root(), path)).collect();
        Ok(Self { workspace, files, members: Metadata::of_members(workspace)? })
    }
}

impl SourceFile {
    /// None for what git lists and the disk does not hold: deleted files, submodules, broken links.
    fn read(root: &Path, path: &str) -> Option<Self> {
        let bytes = std::fs::read(root.join(path)).ok()?;
        Some(Self::new(path, bytes))
    }

    /// A file with this content.
    pub(super) fn new(path: &str, content: impl Into<Vec<u8>>) -> Self {
        let content = content.into();
        let size_bytes = content.len();
        let text = String::from_utf8(content).unwrap_or_default();
        let code = if Path::new(path).extension() == Some("rs".as_ref()) {
            rust_code::blank_out_prose(&text)
        } else {
            String::new()
        };
        Self { path: path.to_owned(), size_bytes, text, code }
    }

    /// The last part of its path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}
