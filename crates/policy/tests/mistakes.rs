//! Every file under `mistakes/` is refused with exactly the message beside it (P9).
//!
//! `TOLLGATE_BLESS=1` writes the messages anew; read them as a user would before committing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tollgate_policy::Policy;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

/// Files of the folder with one of these endings, sorted.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder()).into_iter().flatten().flatten().map(|entry| entry.path());
    let fits = |path: &PathBuf| path.extension().is_some_and(|ending| endings.iter().any(|e| ending == *e));
    paths.filter(fits).collect::<BTreeSet<_>>().into_iter().collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[test]
fn every_bad_file_is_refused_with_its_message() {
    let is_blessing = std::env::var_os("TOLLGATE_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in files(&["yaml", "json"]) {
        let name = name_of(&path);
        let text = fs::read_to_string(&path).unwrap();
        let Err(mistakes) = Policy::parse(&name, &text) else {
            wrong.push(format!("{name} is accepted"));
            continue;
        };
        let message = format!("{mistakes}\n");
        let beside = path.with_file_name(format!("{name}.txt"));
        if is_blessing {
            fs::write(&beside, &message).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if message != expected {
            wrong.push(format!("{name}: expected\n{expected}\nand got\n{message}"));
        }
    }
    assert!(wrong.is_empty(), "{}\nTOLLGATE_BLESS=1 writes the messages anew", wrong.join("\n"));
}

#[test]
fn there_are_at_least_sixty_and_each_has_its_message() {
    let bad = files(&["yaml", "json"]);
    assert!(bad.len() >= 60, "{} bad files", bad.len());
    let expected: BTreeSet<String> = bad.iter().map(|path| format!("{}.txt", name_of(path))).collect();
    let beside: BTreeSet<String> = files(&["txt"]).iter().map(|path| name_of(path)).collect();
    assert_eq!(beside, expected);
}

#[test]
fn every_mistake_has_a_place_and_a_cure() {
    for path in files(&["yaml", "json"]) {
        let text = fs::read_to_string(&path).unwrap();
        let mistakes = Policy::parse("bad", &text).unwrap_err();
        assert!(mistakes.count() >= 1);
        let mut before = (0, 0);
        for mistake in mistakes.iter() {
            assert!(!mistake.what.is_empty() && !mistake.cure.is_empty(), "{}: {mistake:?}", name_of(&path));
            assert!(mistake.line >= 1 && mistake.column >= 1);
            assert!(
                (mistake.line, mistake.column) >= before,
                "{}: not in the order of the file",
                name_of(&path)
            );
            before = (mistake.line, mistake.column);
        }
    }
}

#[test]
fn of_more_than_a_hundred_mistakes_the_rest_are_counted() {
    let text = "- {scope: ip, rate: 0, burst: 1}\n".repeat(250);
    let mistakes = Policy::parse("many.yaml", &text).unwrap_err();
    assert_eq!(mistakes.iter().count(), 100);
    assert_eq!(mistakes.count(), 250);
    assert!(mistakes.to_string().ends_with("\n\n… and 150 more"));
}
