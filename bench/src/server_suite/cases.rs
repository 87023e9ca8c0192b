//! What is measured, of whom, and what was asked for.

use std::net::SocketAddr;
use std::time::Duration;

use super::dialect::Dialect;
use super::generator::{Generator, Run};
use super::servers::Server;
use crate::core_suite::results::Spread;
use crate::options::Options;
use crate::problem::Problem;

const KEYS: u32 = 1_000_000;
const CONNECTIONS: usize = 50;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(1_500);
const QUICK_ROUND: Duration = Duration::from_millis(200);
const SEED: u64 = 0x5E11_0E12;
const MEGABYTE: f64 = 1e6;

/// One case.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What was asked of the ratio or figure.
    pub(crate) must: Must,
    pub(crate) execute: fn(&Options) -> Result<Outcome, Problem>,
}

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Must {
    AtLeast(f64),
    AtMost(f64),
}

/// What came out of a case.
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    /// The figure that was asked for, and what it is.
    pub(crate) reached: f64,
    pub(crate) measure: &'static str,
}

/// One subject of a case.
pub(crate) struct Row {
    pub(crate) subject: &'static str,
    /// Replies per second, over the rounds; `None` of memory.
    pub(crate) per_s: Option<Spread>,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) denied: u64,
    pub(crate) errors: u64,
    /// Resident megabytes; `None` of speed.
    pub(crate) megabytes: Option<f64>,
}

pub(crate) const CASES: [Case; 6] = [
    Case { name: "resp/50x64", must: Must::AtLeast(8.0), execute: |options| resp(64, "redis_lua", options) },
    Case { name: "resp/50x1", must: Must::AtLeast(0.83), execute: |options| resp(1, "redis_ping", options) },
    Case { name: "http/50x1", must: Must::AtLeast(1.3), execute: http },
    Case { name: "resp/50x1/half-peak", must: Must::AtMost(2.0), execute: half_peak },
    Case {
        name: "memory/explicit/1000000",
        must: Must::AtMost(50.0),
        execute: |options| memory(Door::Resp, options),
    },
    Case {
        name: "memory/policy/1000000",
        must: Must::AtMost(30.0),
        execute: |options| memory(Door::Http, options),
    },
];

/// Whom to ask, and how.
struct Subject {
    name: &'static str,
    address: SocketAddr,
    dialect: Dialect,
}

#[derive(Clone, Copy)]
enum Door {
    Resp,
    Http,
}

fn resp(pipeline: u32, against: &'static str, options: &Options) -> Result<Outcome, Problem> {
    let keys = options.scaled(KEYS);
    let (tollgate, redis, crab) = (Server::tollgate(keys)?, Server::redis()?, Server::throttlecrab(keys)?);
    let lua = Server::redis()?;
    let subjects = [
        Subject { name: "tollgate", address: tollgate.resp, dialect: Dialect::Throttle },
        Subject { name: "redis_ping", address: redis.resp, dialect: Dialect::Ping },
        Subject { name: "redis_lua", address: lua.resp, dialect: lua.load_script()? },
        Subject { name: "throttlecrab", address: crab.resp, dialect: Dialect::CrabThrottle },
    ];
    closed_loops(&subjects, pipeline, against, options)
}

fn http(options: &Options) -> Result<Outcome, Problem> {
    let keys = options.scaled(KEYS);
    let (tollgate, crab) = (Server::tollgate(keys)?, Server::throttlecrab(keys)?);
    let subjects = [
        Subject { name: "tollgate", address: tollgate.http, dialect: Dialect::HttpCheck },
        Subject { name: "throttlecrab", address: crab.http, dialect: Dialect::HttpThrottle },
    ];
    closed_loops(&subjects, 1, "throttlecrab", options)
}

/// Every subject in turn, round by round; ratios are made within rounds.
fn closed_loops(
    subjects: &[Subject],
    pipeline: u32,
    against: &'static str,
    options: &Options,
) -> Result<Outcome, Problem> {
    let keys = options.scaled(KEYS);
    let mut generators = subjects
        .iter()
        .map(|subject| Generator::connect(subject.address, subject.dialect.clone(), CONNECTIONS, keys, SEED))
        .collect::<Result<Vec<_>, _>>()?;
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); subjects.len()];
    let rounds = if options.quick { 1 } else { ROUNDS };
    // One round to warm up; and another one begins each time.
    for number in 0..=rounds {
        for turn in 0..subjects.len() {
            let who = (number + turn) % subjects.len();
            let run = generators[who].closed_loop(pipeline, length(options))?;
            if number > 0 {
                runs[who].push(run);
            }
        }
    }
    for (subject, runs) in subjects.iter().zip(&runs) {
        prove(subject, runs)?;
    }
    let rates = |name| {
        let at = subjects.iter().position(|subject| subject.name == name).unwrap_or(0);
        runs[at].iter().map(Run::per_second)
    };
    let ratios = rates("tollgate").zip(rates(against)).map(|(ours, theirs)| ours / theirs).collect();
    let rows = subjects.iter().zip(&runs).map(|(subject, runs)| Row::of(subject.name, runs)).collect();
    let measure = match against {
        "redis_lua" => "× the Lua script's rate",
        "redis_ping" => "× the rate of PING",
        _ => "× throttlecrab's rate",
    };
    Ok(Outcome { rows, reached: Spread::of(ratios).median, measure })
}

/// A limiter has denied somebody and failed nobody.
fn prove(subject: &Subject, runs: &[Run]) -> Result<(), Problem> {
    let denied: u64 = runs.iter().map(|run| run.denied).sum();
    let errors: u64 = runs.iter().map(|run| run.errors).sum();
    let replies: u64 = runs.iter().map(|run| run.admitted + run.denied).sum();
    let name = subject.name;
    if errors > 0 {
        return Err(Problem::failed(format!("{name} answered {errors} requests with an error")));
    }
    // Each of the keys has two tokens, so most replies to more requests than that are denials.
    if subject.dialect != Dialect::Ping && denied == 0 && replies > 3 * u64::from(KEYS) {
        return Err(Problem::failed(format!("{name} does not limit: it denied nobody of {replies}")));
    }
    Ok(())
}

/// The slowest of a hundred, at half of our own peak, beside that of PING.
fn half_peak(options: &Options) -> Result<Outcome, Problem> {
    let keys = options.scaled(KEYS);
    let (tollgate, redis) = (Server::tollgate(keys)?, Server::redis()?);
    let connect =
        |server: &Server, dialect| Generator::connect(server.resp, dialect, CONNECTIONS, keys, SEED);
    let (mut ours, mut theirs) = (connect(&tollgate, Dialect::Throttle)?, connect(&redis, Dialect::Ping)?);
    ours.closed_loop(1, length(options))?;
    let peak = ours.closed_loop(1, length(options))?.per_second();
    let rounds = if options.quick { 1 } else { ROUNDS };
    let (mut ours_runs, mut theirs_runs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours_runs.push(ours.open_loop(peak / 2.0, length(options))?);
        theirs_runs.push(theirs.open_loop(peak / 2.0, length(options))?);
    }
    let p99 = |runs: &[Run]| runs.iter().map(|run| run.percentile_us(99)).collect::<Vec<f64>>();
    let ratios = p99(&ours_runs).iter().zip(p99(&theirs_runs)).map(|(ours, theirs)| ours / theirs).collect();
    let rows = vec![Row::of("tollgate", &ours_runs), Row::of("redis_ping", &theirs_runs)];
    Ok(Outcome { rows, reached: Spread::of(ratios).median, measure: "× the p99 of PING" })
}

/// What a million live keys add to the idle server's memory.
fn memory(door: Door, options: &Options) -> Result<Outcome, Problem> {
    let keys = options.scaled(KEYS);
    let server = Server::tollgate(keys)?;
    let (address, dialect, pipeline) = match door {
        Door::Resp => (server.resp, Dialect::Throttle, 1_000),
        Door::Http => (server.http, Dialect::HttpFacts, 16),
    };
    let idle = megabytes(server.resident_bytes()?);
    let run = Generator::connect(address, dialect, 1, keys, SEED)?.fill(pipeline)?;
    if run.admitted != u64::from(keys) {
        let admitted = run.admitted;
        return Err(Problem::failed(format!(
            "of {keys} new keys {admitted} were admitted, which should be all"
        )));
    }
    let full = megabytes(server.resident_bytes()?);
    let row = |subject, megabytes| Row {
        subject,
        per_s: None,
        p50_us: f64::NAN,
        p99_us: f64::NAN,
        denied: run.denied,
        errors: run.errors,
        megabytes: Some(megabytes),
    };
    let rows = vec![row("tollgate, idle", idle), row("tollgate, all keys", full)];
    Ok(Outcome { rows, reached: full - idle, measure: "MB above idle (idle: below 25 MB)" })
}

fn length(options: &Options) -> Duration {
    if options.quick { QUICK_ROUND } else { ROUND }
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a process are far below 2^52")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / MEGABYTE
}

impl Row {
    fn of(subject: &'static str, runs: &[Run]) -> Row {
        let median = |values: Vec<f64>| Spread::of(values).median;
        Row {
            subject,
            per_s: Some(Spread::of(runs.iter().map(Run::per_second).collect())),
            p50_us: median(runs.iter().map(|run| run.percentile_us(50)).collect()),
            p99_us: median(runs.iter().map(|run| run.percentile_us(99)).collect()),
            denied: runs.iter().map(|run| run.denied).sum(),
            errors: runs.iter().map(|run| run.errors).sum(),
            megabytes: None,
        }
    }
}

impl Must {
    /// How it is written, and whether `reached` is it.
    pub(crate) fn judge(self, reached: f64) -> (String, bool) {
        match self {
            Must::AtLeast(must) => (format!("≥ {must}"), reached >= must),
            Must::AtMost(must) => (format!("≤ {must}"), reached <= must),
        }
    }
}
