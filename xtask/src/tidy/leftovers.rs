//! Rule `leftovers`: what is merged is finished, and its tests run.

use super::offence::Offence;
use super::repository::SourceFile;
use super::tokens;

/// Unfinished code, debugging output and ignored tests.
pub(super) fn check(files: &[SourceFile]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in files {
        offences.extend(tokens::offences(file, &["todo!", "unimplemented!"], "finish it or leave it out"));
        offences.extend(tokens::offences(file, &["dbg!"], "delete it"));
        offences.extend(tokens::offences(
            file,
            &["#[ignore"],
            "a slow test goes to tests/proof.rs, a wrong one away",
        ));
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, check};

    #[test]
    fn unfinished_code_is_found_and_talk_of_it_is_not() {
        let file =
            SourceFile::new("a.rs", "#[ignore]\nfn f() { dbg!(1); unimplemented!() }\nfn g() { todo!() }");
        assert_eq!(check(&[file]).len(), 4);
        let talk = SourceFile::new("a.rs", "// never todo!()\nlet banned = \"dbg!\";");
        assert_eq!(check(&[talk]), []);
    }
}
