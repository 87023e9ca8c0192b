//! Rule `stray-files`: no leavings of tools, nothing huge, and only known entries where everybody looks first.

use super::offence::Offence;
use super::repository::SourceFile;

const FILE_BYTES_MAX: usize = 1024 * 1024;

/// How leavings of editors, merges, systems and compilers end.
#[rustfmt::skip]
const LEAVINGS: [&str; 23] = [
    "~", ".orig", ".rej", ".bak", ".tmp", ".swp", ".swo", ".DS_Store", "Thumbs.db", ".iml", ".code-workspace",
    ".o", ".a", ".so", ".dll", ".dylib", ".exe", ".rlib", ".rmeta", ".pyc", ".class", ".log", ".profraw",
];

/// What may stand at the root.
#[rustfmt::skip]
const ROOT_ENTRIES: [&str; 21] = [
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE",
    "Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml", ".gitignore", ".cargo", ".ci",
    "bench", "crates", "deploy", "docs", "examples", "fuzz", "web", "xtask",
];

/// What may stand in the folder of a crate.
const CRATE_ENTRIES: [&str; 8] =
    ["Cargo.toml", "README.md", "build.rs", "src", "tests", "examples", "benches", "migrations"];

/// Files that do not belong, or not there.
pub(super) fn check(files: &[SourceFile]) -> Vec<Offence> {
    files.iter().filter_map(|file| Some(Offence::of_file(&file.path, complaint(file)?))).collect()
}

fn complaint(file: &SourceFile) -> Option<String> {
    if let Some(ending) = LEAVINGS.iter().find(|ending| file.path.ends_with(*ending)) {
        return Some(format!("files ending in `{ending}` are leavings of a tool; delete it"));
    }
    if file.size_bytes > FILE_BYTES_MAX {
        let size = file.size_bytes;
        return Some(format!(
            "{size} bytes, {FILE_BYTES_MAX} at most; generate it or fetch it when it is needed"
        ));
    }
    let parts: Vec<&str> = file.path.split('/').collect();
    match parts[..] {
        [entry, ..] if !ROOT_ENTRIES.contains(&entry) => Some(unknown_entry(entry, "at the root")),
        ["crates", _, entry, ..] if !CRATE_ENTRIES.contains(&entry) => {
            Some(unknown_entry(entry, "in a crate"))
        }
        ["crates", entry] => Some(unknown_entry(entry, "in crates/")),
        _ => None,
    }
}

fn unknown_entry(entry: &str, place: &str) -> String {
    format!("`{entry}` has no place {place}; move it, or allow it in xtask/src/tidy/stray_files.rs")
}

#[cfg(test)]
mod tests {
    use super::{FILE_BYTES_MAX, SourceFile, check};

    fn offences_of(path: &str) -> usize {
        check(&[SourceFile::new(path, "")]).len()
    }

    #[test]
    fn known_places_pass() {
        for path in
            ["README.md", ".ci/run", "crates/core/src/limit.rs", "crates/core/Cargo.toml", "fuzz/corpus/a"]
        {
            assert_eq!(offences_of(path), 0, "{path}");
        }
    }

    #[test]
    fn leavings_of_tools_are_found_anywhere() {
        for path in ["docs/plan.md~", "crates/core/src/limit.rs.orig", "web/.DS_Store", "bench/libx.so"] {
            assert_eq!(offences_of(path), 1, "{path}");
        }
    }

    #[test]
    fn unknown_entries_are_found_at_the_root_and_in_crates() {
        for path in ["notes.txt", "scripts/build.sh", "crates/core/notes.md", "crates/README.md"] {
            assert_eq!(offences_of(path), 1, "{path}");
        }
    }

    #[test]
    fn a_huge_file_is_found() {
        let huge = SourceFile::new("docs/flame.svg", vec![b'x'; FILE_BYTES_MAX + 1]);
        assert!(check(&[huge])[0].to_string().contains("1048577 bytes, 1048576 at most"));
    }
}
