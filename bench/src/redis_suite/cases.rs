//! What is measured, of whom, and what was asked for.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use tollgate_redis::LedgerOptions;

use super::callers::{Callers, Round};
use super::delayed;
use super::plain_script::PlainScript;
use super::store::Store;
use super::traffic::Traffic;
use crate::core_suite::results::Spread;
use crate::options::Options;
use crate::problem::Problem;

const USERS: u32 = 100_000;
const HOT_USERS: u32 = 10;
const MEMORY_KEYS: u32 = 1_000_000;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(1_500);
const QUICK_ROUND: Duration = Duration::from_millis(200);
/// Long enough for all.
const FILL_MAX: Duration = Duration::from_mins(2);

/// Everything is admitted, so everything is charged and written, here and by the plain script; and no bucket is full again soon.
const ONE: &str = "{store: {deadline: 1s}, rules: [{name: user, scope: user, rate: 100/m, burst: 1000000}]}";
const FOUR: &str = "
store: {deadline: 1s}
rules:
  - {name: user, scope: user, rate: 100/m, burst: 1000000}
  - {name: address, scope: ip, rate: 100/m, burst: 1000000}
  - {name: endpoint, scope: endpoint, limit_keys: [path], rate: 100/m, burst: 10000000}
  - {name: everything, scope: global, rate: 100/m, burst: 100000000}
";
const EXACT: &str =
    "{store: {deadline: 1s}, rules: [{name: hot, scope: user, rate: 1000000/s, burst: 2000000}]}";
const LEASED: &str = "
store: {deadline: 1s}
rules: [{name: hot, scope: user, rate: 1000000/s, burst: 2000000, consistency: leased}]
";
/// Whoever comes often is denied soon.
const STRICT: &str = "{store: {deadline: 1s}, rules: [{name: user, scope: user, rate: 1/m, burst: 5}]}";
/// Kept for long: nothing vanishes while a million are made.
const SLOW: &str = "{store: {deadline: 1s}, rules: [{name: user, scope: user, rate: 24/h, burst: 100}]}";

/// One case.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) execute: fn(&Options) -> Result<Outcome, Problem>,
}

/// What came out of a case.
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    pub(crate) asked: Vec<Asked>,
}

/// What was asked for, and what was reached.
pub(crate) struct Asked {
    pub(crate) what: &'static str,
    pub(crate) reached: Spread,
    pub(crate) must: f64,
    pub(crate) aim: Option<f64>,
    /// Whether less is better.
    pub(crate) is_ceiling: bool,
    /// Whether the worst round is judged, and not the median.
    pub(crate) is_of_each: bool,
}

/// One subject of a case.
pub(crate) struct Row {
    pub(crate) subject: &'static str,
    pub(crate) figures: Figures,
}

/// What was measured of a subject.
pub(crate) enum Figures {
    /// Checks per second of the plain script.
    Plain(Spread),
    /// Rounds of ours.
    Ours(Vec<Round>),
    /// Bytes for each bucket.
    Bytes(f64),
    /// Checks per second that were admitted, of all keys.
    Admitted(Spread),
}

pub(crate) const CASES: [Case; 6] = [
    Case { name: "one", execute: |options| beside_plain(1, ONE, (1.5, 2.5), options) },
    Case { name: "four", execute: |options| beside_plain(4, FOUR, (2.5, 4.0), options) },
    Case { name: "leased", execute: leased },
    Case { name: "attack", execute: attack },
    Case { name: "memory", execute: memory },
    Case { name: "delayed", execute: delayed::execute },
];

/// Ours and the plain script on the same server, in turn.
fn beside_plain(
    buckets: u32,
    policy: &str,
    (must, aim): (f64, f64),
    options: &Options,
) -> Result<Outcome, Problem> {
    let users = options.scaled(USERS);
    let mut store = Store::start()?;
    let mut plain = PlainScript::connect(&mut store, buckets, users)?;
    let mut ours = Callers::start(&store, policy, &LedgerOptions::default(), Traffic::Spread(users))?;
    let (mut rounds, mut plain_rates) = (Vec::new(), Vec::new());
    // One round to warm up: then most keys are there.
    for number in 0..=rounds_of(options) {
        let rate = plain.run(length(options))?;
        let round = ours.run(&mut store, length(options))?;
        if number > 0 {
            plain_rates.push(rate);
            rounds.push(round);
        }
    }
    if rounds.iter().any(|round| round.denied > 0) {
        return Err(Problem::failed("somebody was denied, who had enough"));
    }
    let ratios = rounds.iter().zip(&plain_rates).map(|(round, plain)| round.per_second() / plain).collect();
    Ok(Outcome {
        rows: vec![
            Row { subject: "tollgate", figures: Figures::Ours(rounds) },
            Row { subject: "plain script", figures: Figures::Plain(Spread::of(plain_rates)) },
        ],
        asked: vec![Asked::at_least("× the plain script's checks/s", ratios, must, aim)],
    })
}

/// A few hot keys, leased and not.
fn leased(options: &Options) -> Result<Outcome, Problem> {
    let [leased, exact] = in_turn([LEASED, EXACT], [false, false], &Traffic::Spread(HOT_USERS), options)?;
    let ratios = pairs(&leased, &exact, Round::per_second);
    let trips = leased.iter().map(Round::round_trips_per_check).collect();
    let asked = vec![
        Asked::at_least("× the checks/s of exact mode", ratios, 20.0, 100.0),
        Asked { is_ceiling: true, aim: None, ..Asked::at_least("round trips per check", trips, 0.05, 0.0) },
    ];
    Ok(Outcome { rows: rows(["leased", "exact"], [leased, exact]), asked })
}

/// Most traffic is from a few who are denied; with and without remembering them.
fn attack(options: &Options) -> Result<Outcome, Problem> {
    let traffic = Traffic::Attack(options.scaled(USERS));
    let [with, without] = in_turn([STRICT, STRICT], [false, true], &traffic, options)?;
    let fewer = pairs(&without, &with, Round::sent_per_check);
    let asked = vec![Asked::at_least("× fewer checks sent to Redis", fewer, 8.0, 9.5)];
    Ok(Outcome { rows: rows(["denials remembered", "not remembered"], [with, without]), asked })
}

/// Two kinds of ours in turn, each on a server of its own: neither spends what the other has.
fn in_turn(
    policies: [&str; 2],
    forgets_denials: [bool; 2],
    traffic: &Traffic,
    options: &Options,
) -> Result<[Vec<Round>; 2], Problem> {
    let mut stores = [Store::start()?, Store::start()?];
    let mut callers = Vec::new();
    for (at, store) in stores.iter().enumerate() {
        let ledger = LedgerOptions { forgets_denials: forgets_denials[at], ..LedgerOptions::default() };
        callers.push(Callers::start(store, policies[at], &ledger, traffic.clone())?);
    }
    let mut rounds = [Vec::new(), Vec::new()];
    for number in 0..=rounds_of(options) {
        for turn in 0..2 {
            let at = (number + turn) % 2;
            let round = callers[at].run(&mut stores[at], length(options))?;
            if number > 0 {
                rounds[at].push(round);
            }
        }
    }
    Ok(rounds)
}

/// What a million buckets add to the memory of Redis.
fn memory(options: &Options) -> Result<Outcome, Problem> {
    let keys = options.scaled(MEMORY_KEYS);
    let mut store = Store::start()?;
    let traffic = Traffic::Each(Arc::new(AtomicU32::new(0)), keys);
    let mut callers = Callers::start(&store, SLOW, &LedgerOptions::default(), traffic)?;
    let empty = store.used_bytes()?;
    let round = callers.run(&mut store, FILL_MAX)?;
    if round.admitted != u64::from(keys) {
        return Err(Problem::failed(format!("of {keys} new keys {} were admitted", round.admitted)));
    }
    let each = (store.used_bytes()? - empty) / f64::from(keys);
    let asked = Asked {
        is_ceiling: true,
        aim: None,
        ..Asked::at_least("bytes per bucket with its TTL", vec![each], 150.0, 0.0)
    };
    Ok(Outcome { rows: vec![Row { subject: "tollgate", figures: Figures::Bytes(each) }], asked: vec![asked] })
}

fn rows(subjects: [&'static str; 2], rounds: [Vec<Round>; 2]) -> Vec<Row> {
    let row = |(subject, rounds)| Row { subject, figures: Figures::Ours(rounds) };
    subjects.into_iter().zip(rounds).map(row).collect()
}

/// Ratios within rounds.
fn pairs(above: &[Round], below: &[Round], figure: fn(&Round) -> f64) -> Vec<f64> {
    above.iter().zip(below).map(|(above, below)| figure(above) / figure(below)).collect()
}

pub(crate) fn rounds_of(options: &Options) -> usize {
    if options.quick { 1 } else { ROUNDS }
}

fn length(options: &Options) -> Duration {
    if options.quick { QUICK_ROUND } else { ROUND }
}

impl Asked {
    pub(crate) fn at_least(what: &'static str, reached: Vec<f64>, must: f64, aim: f64) -> Asked {
        Asked {
            what,
            reached: Spread::of(reached),
            must,
            aim: Some(aim),
            is_ceiling: false,
            is_of_each: false,
        }
    }

    /// The figure that is judged: the median of all rounds, or that of the worst round.
    pub(crate) fn judged(&self) -> f64 {
        let Spread { median, min, max } = self.reached;
        match (self.is_of_each, self.is_ceiling) {
            (false, _) => median,
            (true, true) => max,
            (true, false) => min,
        }
    }

    /// How it is judged.
    pub(crate) fn judge(&self) -> &'static str {
        let judged = self.judged();
        let is_within = |bound: f64| if self.is_ceiling { judged <= bound } else { judged >= bound };
        match self.aim {
            Some(aim) if is_within(aim) => "aim met",
            _ if is_within(self.must) => "must met",
            _ => "MISSED",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Asked;

    #[test]
    fn an_aim_is_above_what_must_be_and_a_ceiling_is_not_to_be_passed() {
        let judged = |reached| Asked::at_least("", vec![reached], 1.5, 2.5).judge();
        assert_eq!([1.4, 1.5, 2.6].map(judged), ["MISSED", "must met", "aim met"]);
        let ceiling =
            |reached| Asked { is_ceiling: true, aim: None, ..Asked::at_least("", vec![reached], 150.0, 0.0) };
        assert_eq!([150.0, 151.0].map(|reached| ceiling(reached).judge()), ["must met", "MISSED"]);
    }

    #[test]
    fn one_bad_round_of_each_is_a_miss() {
        let of_each = Asked { is_of_each: true, ..Asked::at_least("", vec![2.0, 2.0, 1.0], 1.5, 2.0) };
        assert_eq!((of_each.judge(), of_each.judged()), ("MISSED", 1.0));
    }
}
