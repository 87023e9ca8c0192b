//! The parent of all workers: starts them, lets them go at the same moment, and judges what they bring back.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tollgate_core::{Moment, Span};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Event;

use crate::load::{Load, Mode, PROCESSES, policy};
use crate::monotonic;
use crate::worker::{Admitted, Orders};

/// Longest that a worker may take to say something.
const PATIENCE: Duration = Duration::from_mins(1);

/// The processes.
pub(crate) struct Crew {
    workers: Vec<Worker>,
    folder: PathBuf,
    loads: Vec<Load>,
}

struct Worker {
    child: Child,
    orders: ChildStdin,
    said: Receiver<String>,
    file: PathBuf,
}

/// What a run has brought of one load.
pub(crate) struct Haul {
    pub(crate) begin: Moment,
    pub(crate) end: Moment,
    events: Vec<Event>,
    load: Load,
}

impl Crew {
    /// Starts the processes; returns when all of them have agreed on their limits. `test` is who asks: the same test is run again in
    /// each process. All of `loads` last equally long. `skews` are how far the wall clocks of the processes are off, in seconds.
    pub(crate) fn start(test: &str, url: &str, loads: &[Load], skews: [i64; PROCESSES]) -> Crew {
        let folder = std::env::temp_dir().join(format!("tollgate-hammer-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut workers = Vec::new();
        for (number, skew) in skews.into_iter().enumerate() {
            let file = folder.join(number.to_string());
            let orders = Orders {
                url: url.to_owned(),
                policy: policy(loads),
                keys: loads.iter().map(Load::keys).collect(),
                number,
                file: file.display().to_string(),
            };
            workers.push(Worker::start(test, &orders, skew, file));
        }
        for (worker, skew) in workers.iter().zip(skews) {
            let found: i128 = worker.hears("ready").trim().parse().unwrap();
            let off = (found - i128::from(skew) * 1_000_000_000).unsigned_abs();
            assert!(off < 1_000_000_000, "a clock that should be off by {skew} s is off by {found} ns");
        }
        Crew { workers, folder, loads: loads.to_vec() }
    }

    /// Lets them go for as long as the loads last, does something `meanwhile` from their start on, and waits for them: what came of each load.
    pub(crate) fn hammer(mut self, meanwhile: impl FnOnce(&mut Crew, Moment)) -> Vec<Haul> {
        let begin = monotonic::now() + Span::from_millis(200);
        let end = begin + Span::from_nanos(u64::try_from(self.loads[0].lasts().as_nanos()).unwrap());
        self.tell(&format!("go {} {}", begin.as_nanos(), end.as_nanos()));
        meanwhile(&mut self, begin);
        let mut counts = vec![[0_u64; 3]; self.loads.len()];
        let mut hauls: Vec<Haul> =
            self.loads.iter().map(|load| Haul { begin, end, events: Vec::new(), load: *load }).collect();
        for worker in &self.workers {
            let done = worker.hears("done");
            let said = done.split_whitespace().map(|word| word.parse::<u64>().unwrap());
            for (sum, said) in counts.iter_mut().flatten().zip(said) {
                *sum += said;
            }
            for Admitted { load, key, called, answered } in Admitted::read(&worker.file) {
                let event = Event { key, called, answered, cost: 1_000_000, admitted: true };
                hauls[usize::try_from(load).unwrap()].events.push(event);
            }
        }
        for (haul, counts) in hauls.iter().zip(counts) {
            haul.assert_decided(counts);
        }
        hauls
    }

    /// Puts another policy into force everywhere; returns when all have been told.
    pub(crate) fn swap(&mut self, loads: &[Load]) {
        let file = self.folder.join("policy.yaml");
        std::fs::write(&file, policy(loads)).unwrap();
        self.tell(&format!("policy {}", file.display()));
        for worker in &self.workers {
            worker.hears("swapped");
        }
    }

    fn tell(&mut self, line: &str) {
        for worker in &mut self.workers {
            writeln!(worker.orders, "{line}").unwrap();
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Haul {
    /// Of all checks none was decided without the store, and those of leases as their rule says.
    fn assert_decided(&self, [asked, fallbacks, leased]: [u64; 3]) {
        let (keys, mode, admitted) = (self.load.keys, self.load.mode.name(), self.events.len());
        println!("{keys} keys, {mode}: {asked} checks, {admitted} admitted, {leased} from leases");
        assert_eq!(fallbacks, 0, "of {asked} checks none is decided without the store");
        match self.load.mode {
            Mode::Exact => assert_eq!(leased, 0),
            Mode::Leased => assert!(leased > asked / 2, "{leased} of {asked} checks are decided by leases"),
        }
    }

    /// No interval is above what the promise allows.
    pub(crate) fn assert_kept(&self, promise: &Promise) {
        let judgement = judge(self.events.clone(), promise);
        println!("   {judgement}");
        judgement.assert_kept();
    }

    /// Of what one key could have had, in micro-tokens, hardly anything was wasted, where the load is to be used up. What is left of a token is no
    /// waste: a check costs one.
    pub(crate) fn assert_used(&self, micros_of_key: u64) {
        if !self.load.is_used_up() {
            return;
        }
        // A token that is whole only when all is over is nobody's.
        let there = (micros_of_key - 1) / 1_000_000 * self.load.keys;
        let used = self.events.len() as u64 * 1_000 / there;
        println!("   {} of {there} tokens used: {used} per mille", self.events.len());
        assert!(used >= self.load.mode.used_per_mille_min(), "{used} per mille of {there} tokens were used");
    }

    /// What one key could have had under one limit, in micro-tokens.
    pub(crate) fn there(&self) -> u64 {
        self.load.burst * 1_000_000 + self.load.limit().minted_in(self.end.since(self.begin)).as_micros()
    }
}

impl Worker {
    fn start(test: &str, orders: &Orders, skew: i64, file: PathBuf) -> Worker {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let (variable, value) = orders.environment();
        command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(variable, value);
        if skew != 0 {
            crate::skew::set_off(&mut command, skew);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (orders, stderr) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
        let (sender, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Worker { child, orders, said, file }
    }

    /// Waits until it says this word, and returns what follows it. Whatever else it says is shown.
    fn hears(&self, word: &str) -> String {
        loop {
            let line =
                self.said.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("a worker does not say `{word}`"));
            match line.strip_prefix(word) {
                Some(rest) => return rest.to_owned(),
                None => println!("   a worker says: {line}"),
            }
        }
    }
}
