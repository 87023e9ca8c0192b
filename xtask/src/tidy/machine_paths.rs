//! Rule `machine-paths`: what works in one folder of one machine works nowhere else.

use super::offence::Offence;
use super::repository::SourceFile;

/// Written in two pieces, or this file would be its own first offence.
const PREFIXES: [&str; 3] = [concat!("/", "home/"), concat!("/", "root/"), concat!("/", "work/")];

/// Absolute paths into somebody's folders, in any text file.
pub(super) fn check(files: &[SourceFile]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            let found = PREFIXES.iter().filter(|prefix| holds(line, prefix));
            offences.extend(found.map(|prefix| {
                let message = format!(
                    "a path under `{prefix}` exists on one machine; write it from the root of the repository"
                );
                Offence::at(&file.path, number, message)
            }));
        }
    }
    offences
}

/// Whether the prefix begins a path here, rather than standing inside a longer one or a URL.
fn holds(line: &str, prefix: &str) -> bool {
    let continues_a_path = |c: char| c.is_alphanumeric() || "._-}*~".contains(c);
    line.match_indices(prefix).any(|(at, _)| !line[..at].ends_with(continues_a_path))
}

#[cfg(test)]
mod tests {
    use super::{PREFIXES, SourceFile, check};

    #[test]
    fn a_path_of_one_machine_is_found_in_any_text() {
        for prefix in PREFIXES {
            let text = format!("first line\nsee `{prefix}me/notes`");
            let found = check(&[SourceFile::new("docs/a.md", text)]);
            assert!(found[0].to_string().starts_with("docs/a.md:2: a path under"));
        }
    }

    #[test]
    fn a_relative_path_or_a_url_is_none() {
        let text =
            PREFIXES.map(|prefix| format!("https://example.org{prefix} target{prefix} .{prefix}")).join("\n");
        assert_eq!(check(&[SourceFile::new("docs/a.md", text)]), []);
    }
}
