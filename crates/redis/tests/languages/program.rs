//! An example in another language, in a process of its own, which does what it is ordered to.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::language::{Copied, Language};

/// Longest that an answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running program.
pub(crate) struct Program {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<String>,
    _copied: Copied,
}

/// What the last of several checks was told, and how many were admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) admitted: u64,
    /// Microseconds; -1 is never.
    pub(crate) wait: i64,
    /// Micro-tokens of each bucket.
    pub(crate) remaining: Vec<i64>,
}

impl Program {
    pub(crate) fn start(language: Language, url: &str) -> Program {
        Program::start_with(language, &[("REDIS_URL", url)], str::to_owned)
    }

    /// In a cluster, with all its keys in one slot.
    pub(crate) fn start_tagged(language: Language, url: &str, tag: &str) -> Program {
        Program::start_with(language, &[("REDIS_URL", url), ("TAG", tag)], str::to_owned)
    }

    /// With scripts that were tampered with.
    pub(crate) fn start_with(
        language: Language,
        variables: &[(&str, &str)],
        tamper: fn(&str) -> String,
    ) -> Program {
        let copied = Copied::new(language, tamper);
        let mut command = copied.command("driver", variables);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let (tell, answers) = channel();
        std::thread::spawn(move || lines.map_while(|line| tell.send(line).ok()).for_each(drop));
        Program { orders: child.stdin.take().unwrap(), child, answers, _copied: copied }
    }

    /// Begins the same check so many times. [`Program::tally`] has the outcome.
    pub(crate) fn begin(&mut self, charges: &[Value], times: u32) {
        self.order(&json!({"do": "check", "charges": charges, "times": times}));
    }

    #[track_caller]
    pub(crate) fn tally(&mut self) -> Tally {
        let told = self.answer();
        let number = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("{told}"));
        let remaining = told["remaining"].as_array().unwrap_or_else(|| panic!("{told}"));
        Tally {
            admitted: number(&told["admitted"]).unsigned_abs(),
            wait: number(&told["wait"]),
            remaining: remaining.iter().map(number).collect(),
        }
    }

    /// One check.
    #[track_caller]
    pub(crate) fn check(&mut self, charges: &[Value]) -> Tally {
        self.begin(charges, 1);
        self.tally()
    }

    /// What is said of a check that fails.
    #[track_caller]
    pub(crate) fn complaint(&mut self, charges: &[Value]) -> String {
        self.begin(charges, 1);
        let told = self.answer();
        told["error"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
    }

    /// The name of a bucket, and the words of its limit.
    #[track_caller]
    pub(crate) fn words(&mut self, charge: &Value) -> (Vec<u8>, Vec<String>) {
        self.order(&json!({"do": "words", "charge": charge}));
        let told = self.answer();
        let name = told["name"].as_str().unwrap_or_else(|| panic!("{told}"));
        let byte = |at: usize| u8::from_str_radix(&name[at..at + 2], 16).unwrap();
        let words = told["limit"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned());
        ((0..name.len()).step_by(2).map(byte).collect(), words.collect())
    }

    fn order(&mut self, order: &Value) {
        self.orders.write_all(format!("{order}\n").as_bytes()).unwrap();
    }

    #[track_caller]
    fn answer(&mut self) -> Value {
        let line = self.answers.recv_timeout(PATIENCE).unwrap_or_else(|why| panic!("no answer: {why}"));
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
