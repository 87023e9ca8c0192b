//! Finds words of the language in code, as whole words.

use super::offence::Offence;
use super::repository::SourceFile;

/// Every place where one of `tokens` stands in a file's code, with a message that ends with `cure`.
pub(super) fn offences(file: &SourceFile, tokens: &[&str], cure: &str) -> Vec<Offence> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(file.code.lines()) {
        let present = tokens.iter().filter(|token| holds(line, token));
        found.extend(present.map(|token| Offence::at(&file.path, number, format!("`{token}`: {cure}"))));
    }
    found
}

/// Whether the line holds the token and not merely a longer name around it.
fn holds(line: &str, token: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (starts_as_word, ends_as_word) = (token.starts_with(is_word), token.ends_with(is_word));
    line.match_indices(token).any(|(at, _)| {
        let joined_before = starts_as_word && line[..at].ends_with(is_word);
        let joined_after = ends_as_word && line[at + token.len()..].starts_with(is_word);
        !joined_before && !joined_after
    })
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, holds, offences};

    #[test]
    fn a_longer_name_is_another_name() {
        assert!(holds("let x: f64 = y as f64;", "f64"));
        assert!(!holds("from_f64(my_f64x)", "f64"));
        assert!(holds("#[ignore = \"slow\"]", "#[ignore"));
        assert!(!holds("#[ignored_words]", "#[ignore"));
    }

    #[test]
    fn an_offence_names_its_line_and_its_cure() {
        let file = SourceFile::new("a.rs", "// todo!\n\nfn f() { todo!() }\n");
        let found = offences(&file, &["todo!"], "finish it");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "a.rs:3: `todo!`: finish it");
    }
}
