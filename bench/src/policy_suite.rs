//! The policy suite: what it costs to go from facts to a verdict through a policy, beside the bare check of the same buckets;
//! what finding the rules that apply costs with few rules and with many; how long a large policy takes to compile.
//!
//! Does not judge: what was asked for is printed beside the figures, and a missed one changes no exit code.

mod checking;
mod matching;
mod policies;

use serde_json::json;

use self::checking::ThroughPolicy;
use self::matching::Matching;
use crate::conditions::Conditions;
use crate::core_suite::case::{Distribution, Mode};
use crate::core_suite::fill::Filler;
use crate::core_suite::four_buckets::FourBuckets;
use crate::core_suite::quota::Quota;
use crate::core_suite::results::{Figure, Row, Spread};
use crate::core_suite::rounds::{self, Contender, Expected, Plan};
use crate::core_suite::stream;
use crate::core_suite::subject::Subject;
use crate::options::Options;
use crate::problem::Problem;
use crate::stopwatch::Lap;
use crate::text_table::TextTable;

const ROUNDS: u32 = 5;
const QUICK_DIVISOR: u32 = 10;
const USERS: u32 = 1_000_000;
const CHECKS: u32 = 2_000_000;
const RULES_FEW: u32 = 10;
const RULES_MANY: u32 = 10_000;

const CHECK: &str = "check/1000000/4of20";
const MATCHING: &str = "matching/10000rules";
const COMPILE: &str = "compile/10000rules";
/// Every case, its unit, and the most that was asked for; no figure was asked of matching, only that it does not grow.
const CASES: [(&str, &str, Option<f64>); 3] = [
    (CHECK, "× the bare check of four buckets", Some(5.0)),
    (MATCHING, "× ten rules", None),
    (COMPILE, "s", Some(1.0)),
];

/// One case: rows, and the figure that is held against what was asked for.
struct CaseResult {
    case: &'static str,
    rows: Vec<Row>,
    reached: f64,
}

/// Measures the cases asked for and prints them.
pub(crate) fn execute(options: &Options) -> Result<(), Problem> {
    let asked: Vec<&str> =
        CASES.iter().map(|(case, ..)| *case).filter(|case| options.case.matches(case)).collect();
    if asked.is_empty() {
        let list = CASES.map(|(case, ..)| case).join("\n  ");
        return Err(Problem::usage(format!(
            "no case matches `{}`; the cases are:\n  {list}",
            options.case.as_str()
        )));
    }
    let conditions = Conditions::observe(&[]);
    if options.json {
        eprint!("{conditions}");
    } else {
        println!("{conditions}");
    }
    let mut results = Vec::new();
    for case in asked {
        eprintln!("policy: {case}");
        let result = match case {
            CHECK => check(options)?,
            MATCHING => matching(options)?,
            _ => compile(options)?,
        };
        if options.json {
            print_json(&result);
        }
        results.push(result);
    }
    if !options.json {
        print!("{}", tables(&results));
    }
    Ok(())
}

fn check(options: &Options) -> Result<CaseResult, Problem> {
    let (users, checks) = (options.scaled(USERS), options.scaled(checks_of(options)));
    let policy = ThroughPolicy::new(users, checks)?;
    let bare = FourBuckets::new(Quota::MANY_KEYS, users, checks);
    let stream = stream::users(Distribution::Uniform, users, checks);
    for subject in [&policy as &dyn Subject, &bare] {
        Filler::new().fill(subject, users);
    }
    let contenders =
        [Contender { name: "policy", subject: &policy }, Contender { name: "four_buckets", subject: &bare }];
    compare(CHECK, &contenders, &stream, options)
}

fn matching(options: &Options) -> Result<CaseResult, Problem> {
    let (few, many) = (Matching::new(RULES_FEW)?, Matching::new(RULES_MANY)?);
    let stream = stream::users(Distribution::Uniform, 10_000, options.scaled(checks_of(options)));
    let contenders =
        [Contender { name: "10000_rules", subject: &many }, Contender { name: "10_rules", subject: &few }];
    compare(MATCHING, &contenders, &stream, options)
}

/// The first contender's cost ÷ the second's.
fn compare(
    case: &'static str,
    contenders: &[Contender<'_>; 2],
    stream: &[String],
    options: &Options,
) -> Result<CaseResult, Problem> {
    let rounds = if options.quick { 1 } else { ROUNDS };
    let plan = Plan { stream, threads: 1, mode: Mode::Single, rounds, expected: Expected::Admitted };
    let rows = rounds::run(contenders, &plan)?;
    let cost = |at: usize| rows.get(at).map_or(f64::NAN, |row| row.figure.cost());
    let reached = cost(0) / cost(1);
    Ok(CaseResult { case, rows, reached })
}

fn compile(options: &Options) -> Result<CaseResult, Problem> {
    let rules = options.scaled(RULES_MANY).max(2);
    let rounds = if options.quick { 1 } else { ROUNDS };
    let mut nanos = Vec::new();
    for _ in 0..rounds {
        let (lap, book) = Lap::of(|| policies::wide(rules).map(tollgate::policy::RuleBook::new));
        book?;
        nanos.push(Lap::span(&[lap]).unwrap_or_default().as_secs_f64() * 1e9);
    }
    let ns = Spread::of(nanos);
    let figure = Figure::Speed { ns, admitted_share: 1.0, wait_share: 0.0 };
    Ok(CaseResult { case: COMPILE, rows: vec![Row { subject: "policy", figure }], reached: ns.median / 1e9 })
}

fn checks_of(options: &Options) -> u32 {
    if options.quick { CHECKS / QUICK_DIVISOR } else { CHECKS }
}

fn print_json(result: &CaseResult) {
    let reference = result.rows.last().map_or("", |row| row.subject);
    let base = result.rows.last().map_or(f64::NAN, |row| row.figure.cost());
    for row in &result.rows {
        let ns = row.figure.cost();
        let line = json!({
            "suite": "policy", "case": result.case, "subject": row.subject, "ns": ns, "per_s": (1e9 / ns).round(),
            "ratio": ns / base, "ratio_to": reference,
        });
        println!("{line}");
    }
}

fn tables(results: &[CaseResult]) -> String {
    let mut figures = TextTable::new(&["case", "subject"], &["ns", "min–max"]);
    let mut asked = TextTable::new(&["case"], &["reached", "must", "met?"]);
    for result in results {
        for (at, row) in result.rows.iter().enumerate() {
            let Figure::Speed { ns, .. } = row.figure else { continue };
            let name = if at == 0 { result.case.to_owned() } else { String::new() };
            let range = format!("{:.0}–{:.0}", ns.min, ns.max);
            figures.row(vec![name, row.subject.to_owned(), format!("{:.1}", ns.median), range]);
        }
        let Some((_, unit, must)) = CASES.iter().find(|(case, ..)| *case == result.case) else { continue };
        let must_text = must.map_or_else(|| "–".to_owned(), |must| format!("≤ {must} {unit}"));
        let met = must.map_or("", |must| if result.reached <= must { "must met" } else { "MISSED" });
        let cells = [format!("{:.2} {unit}", result.reached), must_text, met.to_owned()];
        asked.row([result.case.to_owned()].into_iter().chain(cells).collect());
    }
    format!("{}\nWhat was asked for\n{}", figures.render(), asked.render())
}
