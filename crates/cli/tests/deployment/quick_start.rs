//! The README's quick start of the service is true: one shell types every line of it, and sees what the page shows.
//!
//! Ports and the home are others, so that tests can run beside each other and beside a service; times and waits are compared by their
//! form.

use std::net::TcpListener;
use std::process::Stdio;

use crate::mortal::mortal;
use crate::process::{PATIENCE, Process};
use crate::scratch::Scratch;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
const HEADING: &str = "## Quick start: the service\n";
/// Whose home the page shows.
const HOME: &str = "/var/of/ann";
/// Printed by the shell when a command is done.
const DONE: &str = "--- done";

/// A command of the page, and the lines that it shows.
struct Shown {
    typed: String,
    lines: Vec<String>,
}

fn section() -> String {
    let page = std::fs::read_to_string(README).unwrap();
    let (_, rest) = page.split_once(HEADING).unwrap_or_else(|| panic!("no {HEADING}"));
    rest.split("\n## ").next().unwrap().to_owned()
}

/// The commands of all transcripts.
fn transcript(section: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for block in section.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match line.strip_prefix("$ ") {
                Some(typed) => shown.push(Shown { typed: typed.to_owned(), lines: Vec::new() }),
                None => shown.last_mut().unwrap().lines.push(line.to_owned()),
            }
        }
    }
    shown
}

/// A line with its times and waits as `#`.
fn form(line: &str) -> String {
    let line = line.trim_end();
    if line.starts_with("date: ") {
        return "date: #".to_owned();
    }
    let is_logged = line.len() > 27 && line.as_bytes()[10] == b'T' && line.as_bytes()[26] == b'Z';
    let mut line = if is_logged { format!("#{}", &line[27..]) } else { line.to_owned() };
    for before in [";t=", "retry-after: ", "content-length: ", "Retry in "] {
        if let Some((head, tail)) = line.split_once(before) {
            line = format!("{head}{before}#{}", tail.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
    }
    // The size of the tables follows the memory of the machine.
    if let Some((head, rest)) = line.split_once("memory (")
        && let Some((_, tail)) = rest.split_once("). ")
    {
        line = format!("{head}memory (#). {tail}");
    }
    line
}

/// Three ports that nobody has: those of the HTTP, Redis and admin doors.
fn ports() -> [String; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().to_string())
}

#[test]
fn every_line_of_the_quick_start_does_what_the_page_shows() {
    let [http, resp, admin] = ports();
    let token_file = format!("admin-{}.token", admin.rsplit_once(':').unwrap().1);
    let scratch = Scratch::new();
    // The server ends with the shell.
    let binary = env!("CARGO_BIN_EXE_tollgate");
    let script = format!(
        "#!/bin/sh\ncommand -v setpriv >/dev/null && exec setpriv --pdeathsig KILL {binary} \"$@\"\nexec {binary} \"$@\"\n"
    );
    scratch.write("tollgate", &script);
    let mut shell = mortal("sh");
    shell.envs([("TOLLGATE_HTTP", &http), ("TOLLGATE_RESP", &resp), ("TOLLGATE_ADMIN", &admin)]);
    shell.env("PATH", format!("{}:{}", scratch.folder().display(), std::env::var("PATH").unwrap()));
    let home = scratch.path("home");
    shell.env("NO_PROXY", "*").env("HOME", &home).current_dir(scratch.folder()).stdin(Stdio::piped());
    let mut shell = Process::start(shell);
    shell.type_in("exec 2>&1; chmod +x tollgate\n");
    for Shown { typed, lines } in transcript(&section()) {
        shell.type_in(&format!("{}\necho '{DONE}'\n", typed.replace("127.0.0.1:8080", &http)));
        let (mut seen, mut is_done) = (Vec::new(), false);
        // What runs in the background may speak after the shell is done.
        while !is_done || seen.len() < lines.len() {
            let Some(line) = shell.next_line(PATIENCE) else { break };
            if line == DONE {
                is_done = true;
                continue;
            }
            let line =
                line.replace(&http, "127.0.0.1:8080").replace(&admin, "127.0.0.1:8082").replace(&home, HOME);
            let line = line.replace(&token_file, "admin-8082.token");
            seen.push(form(&line.replace(&resp, "127.0.0.1:6380")));
        }
        let shown: Vec<String> = lines.iter().map(|line| form(line)).collect();
        // Columns are as wide as the ports of the page make them.
        let words = |lines: &[String]| -> Vec<Vec<String>> {
            lines.iter().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
        };
        assert_eq!(words(&seen), words(&shown), "$ {typed}\nshows\n{}", seen.join("\n"));
    }
}

#[test]
fn the_quick_start_builds_the_command_and_leads_to_pages_that_exist() {
    let section = section();
    assert!(section.contains("cargo build --release --package tollgate-cli\n"));
    assert!(section.contains("export PATH=\"$PWD/target/release:$PATH\"\n"));
    let links = section.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let missing: Vec<&str> = links.filter(|link| !std::path::Path::new(root).join(link).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
