//! Rule `unsafe`: unsafe code stands only in files that were audited for it.

use super::offence::Offence;
use super::repository::SourceFile;
use super::tokens;

/// Prefetch; pages of the system; reading the time-stamp counter; allocators that count and pass everything on.
const AUDITED: [&str; 5] = [
    "crates/tollgate/src/memory/hints.rs",
    "crates/tollgate/src/memory/room.rs",
    "crates/tollgate/src/clock/tsc.rs",
    "crates/tollgate/tests/no_allocation/counting_allocator.rs",
    "bench/src/counting_allocator.rs",
];

/// Every `unsafe` outside the audited files.
pub(super) fn check(files: &[SourceFile]) -> Vec<Offence> {
    let cure = "find a safe way, or have the file audited and listed in xtask/src/tidy/unsafe_code.rs";
    let others = files.iter().filter(|file| !AUDITED.contains(&file.path.as_str()));
    others.flat_map(|file| tokens::offences(file, &["unsafe"], cure)).collect()
}

#[cfg(test)]
mod tests {
    use super::{AUDITED, SourceFile, check};

    #[test]
    fn unsafe_code_is_found_outside_the_audited_files() {
        let text = "#![deny(unsafe_code)]\nfn f() { unsafe { g() } }";
        let found = check(&[SourceFile::new("crates/core/src/limit.rs", text)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("crates/core/src/limit.rs:2: `unsafe`: find a safe way"));
        assert_eq!(check(&[SourceFile::new(AUDITED[0], text)]), []);
    }
}
