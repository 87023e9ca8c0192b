//! docs/policy.md is true: every transcript on it is run and compared, and every policy on it passes `tollgate check`.
//!
//! Transcripts are run in one copy of docs/examples, in the order of the page. To take over what is printed now:
//! `TOLLGATE_APPROVE=1 cargo test -p tollgate-cli --test policy_doc`.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");

/// An empty folder with a copy of the examples.
fn examples(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(EXAMPLES).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// Runs a line in a shell that finds `tollgate`; what it prints, stderr included.
fn run(line: &str, folder: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_tollgate")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {line}\n}} 2>&1")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", binary.display()))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The page with every transcript as it is printed now.
fn with_transcripts(page: &str) -> String {
    let folder = examples("policy_doc");
    let mut renewed = String::new();
    let mut is_transcript = false;
    for line in page.lines() {
        match line.strip_prefix("$ ") {
            Some(command) if is_transcript => renewed.extend([line, "\n", &run(command, &folder)]),
            _ if is_transcript && line != "```" => {}
            _ => {
                is_transcript = line == "```console";
                renewed.extend([line, "\n"]);
            }
        }
    }
    renewed
}

#[test]
fn every_transcript_is_what_is_printed() {
    let page = fs::read_to_string(DOC).unwrap();
    let renewed = with_transcripts(&page);
    if std::env::var_os("TOLLGATE_APPROVE").is_some() {
        fs::write(DOC, &renewed).unwrap();
        return;
    }
    let differing = page.lines().zip(renewed.lines()).zip(1..).find(|((old, new), _)| old != new);
    assert!(
        page == renewed,
        "docs/policy.md no longer shows what is printed; the first difference is {differing:?}.\nIf what is printed is right:\n  \
         TOLLGATE_APPROVE=1 cargo test -p tollgate-cli --test policy_doc"
    );
    for verb in ["check", "explain", "test", "init", "presets"] {
        assert!(page.contains(&format!("$ tollgate {verb}")), "no transcript of {verb}");
    }
}

#[test]
fn every_policy_on_the_page_passes_check_without_lints() {
    let page = fs::read_to_string(DOC).unwrap();
    let policies: Vec<&str> =
        page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(policies.len() >= 6, "{}", policies.len());
    for policy in policies {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["check", "-", "--deny-lints"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(policy.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{policy}\n{said}");
    }
}
