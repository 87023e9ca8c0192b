//! Step `examples`: every example program runs to its end. Each counts as one test.
//!
//! The examples are built once, together, and then started without cargo, so that the time limit is the program's own.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::metadata::Metadata;
use crate::paint;
use crate::problem::Problem;
use crate::workspace::Workspace;

use super::tally::Tally;

const EXAMPLE_SECONDS_MAX: u64 = 60;
/// What is kept of an example's output, to be shown if it fails.
const KEPT_BYTES_MAX: u64 = 64 * 1024;

/// Builds all examples and runs them one after the other.
pub(super) fn run(workspace: &Workspace) -> Result<Tally, Problem> {
    let metadata = Metadata::of_members(workspace)?;
    if !metadata.packages.iter().any(|package| package.targets_of_kind("example").next().is_some()) {
        println!("   nothing to run: no package has an example");
        return Ok(Tally::SKIP);
    }
    let build = workspace.cargo(["build", "--workspace", "--all-features", "--examples"]);
    println!("   {}", paint::faint(&format!("$ {}", build.typed())));
    let messages = build.args(["--quiet", "--message-format=json-render-diagnostics"]).read()?;

    let mut tally = Tally::default();
    for Example { name, executable } in messages.lines().filter_map(Example::from_message) {
        let mut command = Command::new(executable);
        command.current_dir(workspace.root());
        let outcome = run_to_its_end(command, Duration::from_secs(EXAMPLE_SECONDS_MAX));
        match &outcome {
            Ok(()) => println!("   {name}: {}", paint::good("ok")),
            Err(why) => println!("   {name}: {}\n{why}", paint::bad("FAILED")),
        }
        tally += Tally::of_one(outcome.is_ok());
    }
    Ok(tally)
}

/// One example, built.
#[derive(PartialEq, Eq, Debug)]
struct Example {
    name: String,
    executable: String,
}

impl Example {
    /// What cargo says about a built example; other messages are none.
    fn from_message(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        let target = &message["target"];
        if message["reason"] != "compiler-artifact" || target["kind"][0] != "example" {
            return None;
        }
        let executable = message["executable"].as_str()?.to_owned();
        Some(Self { name: target["name"].as_str()?.to_owned(), executable })
    }
}

/// Runs a program; the error holds the reason and what the program printed.
fn run_to_its_end(mut command: Command, limit: Duration) -> Result<(), String> {
    let explain = |error: io::Error| format!("   cannot run it: {error}");
    let (output, writer) = io::pipe().map_err(explain)?;
    command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(explain)?).stderr(writer);
    let mut child = command.spawn().map_err(explain)?;
    // The command holds our ends of the pipe; with them gone, the pipe ends when the program does.
    drop(command);

    let (sender, printed) = mpsc::channel();
    thread::spawn(move || sender.send(read_all(output)));
    let Ok(printed) = printed.recv_timeout(limit) else {
        child.kill().and_then(|()| child.wait()).map_err(explain)?;
        return Err(format!("   stopped after {} s; an example must end by itself", limit.as_secs()));
    };
    let status = child.wait().map_err(explain)?;
    if status.success() { Ok(()) } else { Err(format!("{}\n   ended with {status}", printed.trim_end())) }
}

/// Reads until the end, keeping the beginning.
fn read_all(mut output: impl Read) -> String {
    let mut kept = Vec::new();
    // An error here is an end like any other; the exit status tells whether the program was content.
    let _ = output.by_ref().take(KEPT_BYTES_MAX).read_to_end(&mut kept);
    let _ = io::copy(&mut output, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Command, Duration, EXAMPLE_SECONDS_MAX, Example, run_to_its_end};

    #[test]
    fn only_messages_about_built_examples_count() {
        let example = r#"{"reason":"compiler-artifact","target":{"kind":["example"],"name":"demo"},"executable":"/t/demo"}"#;
        let library =
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"core"},"executable":null}"#;
        let demo = Example { name: "demo".to_owned(), executable: "/t/demo".to_owned() };
        assert_eq!(Example::from_message(example), Some(demo));
        assert_eq!(Example::from_message(library), None);
        assert_eq!(Example::from_message("not json"), None);
    }

    fn run(script: &str, limit: Duration) -> Result<(), String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_to_its_end(command, limit)
    }

    #[test]
    fn a_program_that_ends_is_judged_by_its_exit_code() {
        let limit = Duration::from_secs(EXAMPLE_SECONDS_MAX);
        assert_eq!(run("echo fine", limit), Ok(()));
        let why = run("echo out of tokens >&2; exit 3", limit).unwrap_err();
        assert!(why.starts_with("out of tokens\n") && why.ends_with('3'), "{why}");
    }

    #[test]
    fn a_program_that_does_not_end_is_stopped() {
        let why = run("exec sleep 600", Duration::from_millis(20)).unwrap_err();
        assert!(why.contains("must end by itself"), "{why}");
    }
}
