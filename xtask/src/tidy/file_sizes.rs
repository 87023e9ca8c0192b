//! Rule `file-sizes`: one concept per file keeps files short.

use super::offence::Offence;
use super::repository::SourceFile;

const LINES_MAX: usize = 500;
const ENDINGS: [&str; 3] = [".rs", ".ts", ".svelte"];

/// Source files above the limit.
pub(super) fn check(files: &[SourceFile]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| ENDINGS.iter().any(|ending| file.path.ends_with(ending))) {
        let lines = file.text.lines().count();
        if lines > LINES_MAX {
            let message = format!("{lines} lines, {LINES_MAX} at most; split it by concept, one per file");
            offences.push(Offence::at(&file.path, LINES_MAX + 1, message));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, check};

    #[test]
    fn five_hundred_lines_are_enough() {
        assert_eq!(check(&[SourceFile::new("crates/core/src/limit.rs", "\n".repeat(500))]), []);
        assert_eq!(check(&[SourceFile::new("Cargo.lock", "\n".repeat(9_000))]), []);
        let found = check(&[SourceFile::new("web/src/App.svelte", "\n".repeat(501))]);
        assert!(found[0].to_string().starts_with("web/src/App.svelte:501: 501 lines, 500 at most; split it"));
    }
}
