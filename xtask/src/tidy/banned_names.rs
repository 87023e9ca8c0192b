//! Rule `banned-names`: a name that fits anything says nothing.

use super::offence::Offence;
use super::repository::SourceFile;

const BANNED: [&str; 7] = ["utils", "util", "common", "helpers", "helper", "misc", "manager"];
const CURE: &str = "says nothing about what is in it; name it after its concept";

/// Files, folders and inline modules with a banned name.
pub(super) fn check(files: &[SourceFile]) -> Vec<Offence> {
    files.iter().flat_map(|file| banned_path(file).into_iter().chain(banned_modules(file))).collect()
}

fn banned_path(file: &SourceFile) -> Option<Offence> {
    let mut stems = file.path.split('/').map(|part| part.split('.').next().unwrap_or_default());
    let banned = stems.find(|stem| BANNED.contains(stem))?;
    Some(Offence::of_file(&file.path, format!("`{banned}` {CURE}")))
}

fn banned_modules(file: &SourceFile) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (number, line) in (1..).zip(file.code.lines()) {
        if let Some(name) = module_declared(line).filter(|name| BANNED.contains(name)) {
            offences.push(Offence::at(&file.path, number, format!("module `{name}` {CURE}")));
        }
    }
    offences
}

/// The name in `mod name;` or `pub(crate) mod name {`.
fn module_declared(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.find(|word| *word == "mod")?;
    words.next().map(|name| name.trim_end_matches([';', '{']))
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, check};

    fn offences_of(path: &str, text: &str) -> usize {
        check(&[SourceFile::new(path, text)]).len()
    }

    #[test]
    fn files_and_folders_are_judged_by_their_name() {
        assert_eq!(offences_of("crates/core/src/utils.rs", ""), 1);
        assert_eq!(offences_of("crates/core/tests/common/mod.rs", ""), 1);
        assert_eq!(offences_of("web/src/helpers.ts", ""), 1);
        assert_eq!(offences_of("crates/core/src/commonest.rs", ""), 0);
    }

    #[test]
    fn modules_are_judged_where_they_are_declared() {
        assert_eq!(offences_of("a.rs", "pub(crate) mod util {\n}\nmod misc;"), 2);
        assert_eq!(offences_of("a.rs", "use std::common;\n// mod utils;\nmod utilisation;"), 0);
    }
}
