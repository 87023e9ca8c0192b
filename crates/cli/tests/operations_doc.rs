//! docs/operations.md is true: one shell types every line of it, against real servers and a real client that misbehaves, and sees what
//! the page shows. To take over what is printed now: `TOLLGATE_APPROVE=1 cargo test -p tollgate-cli --test operations_doc`.
//!
//! `TOLLGATE_SKIP=redis` leaves out what is typed from the first line with `redis-server` on.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "deployment/component.rs"]
mod component;
#[path = "operations_doc/form.rs"]
mod form;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "deployment/process.rs"]
#[expect(dead_code, reason = "the tests of deployment ask more of it")]
mod process;
#[path = "deployment/scratch.rs"]
#[expect(dead_code, reason = "the tests of deployment ask more of it")]
mod scratch;
#[path = "operations_doc/shell.rs"]
mod shell;

use std::fs;

use component::is_skipped;
use form::form;
use shell::Shell;

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");

/// The page with what is printed now wherever that is of another form than what it shows; and the commands for which it is.
fn with_transcripts(page: &str, shell: &mut Shell) -> (String, Vec<String>) {
    let (mut renewed, mut wrong) = (String::new(), Vec::new());
    let mut lines = page.lines().peekable();
    let mut is_transcript = false;
    while let Some(line) = lines.next() {
        renewed.extend([line, "\n"]);
        let Some(typed) = line.strip_prefix("$ ").filter(|_| is_transcript) else {
            is_transcript = line == "```console" || is_transcript && line != "```";
            continue;
        };
        let mut shown = Vec::new();
        while let Some(next) = lines.next_if(|next| !next.starts_with("$ ") && *next != "```") {
            shown.push(next.to_owned());
        }
        if typed.starts_with("redis-server") && shell.has_no_redis() {
            return (renewed, wrong);
        }
        let seen = shell.run(typed);
        let is_as_shown = form(typed, &seen) == form(typed, &shown);
        if !is_as_shown {
            wrong.push(format!("$ {typed}\n{}\n--- the page shows\n{}\n", seen.join("\n"), shown.join("\n")));
        }
        for line in if is_as_shown { shown } else { seen } {
            renewed.extend([&line, "\n"]);
        }
    }
    (renewed, wrong)
}

#[test]
fn every_line_of_the_page_does_what_the_page_shows() {
    let page = fs::read_to_string(DOC).unwrap();
    let mut shell = Shell::new(!is_skipped("redis"));
    let (renewed, wrong) = with_transcripts(&page, &mut shell);
    if std::env::var_os("TOLLGATE_APPROVE").is_some() {
        assert!(!shell.has_no_redis(), "what was left out cannot be taken over");
        fs::write(DOC, renewed).unwrap();
        return;
    }
    assert!(
        wrong.is_empty(),
        "docs/operations.md does not show what is printed:\n{}\nIf what is printed is right:\n  \
         TOLLGATE_APPROVE=1 cargo test -p tollgate-cli --test operations_doc",
        wrong.join("\n")
    );
}

#[test]
fn the_page_has_an_incident_and_a_runbook_for_each_thing_that_breaks() {
    let page = fs::read_to_string(DOC).unwrap();
    for heading in [
        "## An incident",
        "### The store is down",
        "### A flood of keys",
        "### A hot key",
        "### A limit is too tight",
        "### The database is down",
        "### A token is lost",
        "### A rule broken by SQL",
    ] {
        let (_, rest) = page.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
        let end = if heading.starts_with("###") { "\n### " } else { "\n## " };
        let section = rest.split(end).next().unwrap();
        assert!(section.contains("$ tollgate "), "{heading} has no command");
        assert!(section.contains("ver when") || section.contains("is over when"), "{heading} has no end");
        let anchor = heading.trim_start_matches(['#', ' ']).to_lowercase().replace(' ', "-");
        assert!(page.contains(&format!("(#{anchor})")), "the table does not lead to {heading}");
    }
}
