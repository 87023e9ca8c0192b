//! The records suite: what the violation log costs those who check. The same checks with the log and without it, half of them denied.
//!
//! Promises that every denial was noted, and that what was noted adds up. Does not judge: what was asked for is printed beside the figures, and a
//! missed one changes no exit code.

mod denying;
mod filing_room;

use serde_json::json;

use self::denying::HalfDenied;
use self::filing_room::FilingRoom;
use crate::conditions::Conditions;
use crate::core_suite::case::{Distribution, Mode};
use crate::core_suite::results::{Figure, Row, Spread};
use crate::core_suite::rounds::{self, Contender, Expected, Plan};
use crate::core_suite::stream;
use crate::options::Options;
use crate::problem::Problem;
use crate::text_table::TextTable;

const ROUNDS: u32 = 31;
const QUICK_DIVISOR: u32 = 40;
const USERS: u32 = 100_000;
/// About a second of one thread, or half a second of two: so long a round sees its rows filed, and not only noted.
const CHECKS: u32 = 4_000_000;
/// What was asked for: checks per second with the log, as a part of those without.
const MUST_AT_LEAST: f64 = 0.9;
const ON: &str = "log_on";
const OFF: &str = "log_off";

/// One case: how many threads check, and who is denied.
struct Case {
    name: &'static str,
    threads: u32,
    distribution: Distribution,
}

const CASES: [Case; 3] = [
    Case { name: "half-denied/100000/uniform/1t", threads: 1, distribution: Distribution::Uniform },
    Case { name: "half-denied/100000/uniform/2t", threads: 2, distribution: Distribution::Uniform },
    Case { name: "half-denied/1/hot/2t", threads: 2, distribution: Distribution::Hot },
];

/// A measured case.
struct CaseResult {
    case: &'static str,
    /// With the log, and without.
    rows: Vec<Row>,
    /// Checks per second with the log ÷ those without, round by round.
    ratio: Spread,
}

/// Measures the cases asked for and prints them: JSON lines as they come, or tables at the end.
pub(crate) fn execute(options: &Options) -> Result<(), Problem> {
    let asked: Vec<&Case> = CASES.iter().filter(|case| options.case.matches(case.name)).collect();
    if asked.is_empty() {
        let list = CASES.map(|case| case.name).join("\n  ");
        let pattern = options.case.as_str();
        return Err(Problem::usage(format!("no case matches `{pattern}`; the cases are:\n  {list}")));
    }
    let conditions = Conditions::observe(&["sqlx"]);
    if options.json {
        eprint!("{conditions}");
    } else {
        println!("{conditions}");
    }
    let mut results = Vec::new();
    for case in asked {
        eprintln!("records: {}", case.name);
        let result = measure(case, options)?;
        if options.json {
            print_json(&result, options);
        }
        results.push(result);
    }
    if !options.json {
        print!("{}", tables(&results));
    }
    Ok(())
}

fn measure(case: &Case, options: &Options) -> Result<CaseResult, Problem> {
    let users = options.scaled(if case.distribution == Distribution::Hot { 1 } else { USERS });
    let checks = options.scaled(if options.quick { CHECKS / QUICK_DIVISOR } else { CHECKS });
    let filing_room = FilingRoom::open()?;
    let (on, off) = (HalfDenied::new(users, Some(&filing_room))?, HalfDenied::new(users, None)?);
    let stream = stream::users(case.distribution, users, checks);
    let contenders = [Contender { name: ON, subject: &on }, Contender { name: OFF, subject: &off }];
    let rounds = if options.quick { 1 } else { ROUNDS };
    let plan =
        Plan { stream: &stream, threads: case.threads, mode: Mode::Single, rounds, expected: Expected::Half };
    let [with_log, without] = rounds::measured(&contenders, &plan).try_into().ok().expect("two contenders");
    let ratio = rounds::speed_beside(&with_log, &without);
    let rows = rounds::summaries(&contenders, &[with_log, without], &plan)?;
    filing_room.close(on.denied())?;
    Ok(CaseResult { case: case.name, rows, ratio })
}

fn print_json(result: &CaseResult, options: &Options) {
    for row in &result.rows {
        let ns = row.figure.cost();
        let mut line = json!({
            "suite": "records", "case": result.case, "subject": row.subject, "ns": ns, "per_s": (1e9 / ns).round(),
            "ratio": if row.subject == ON { result.ratio.median } else { 1.0 }, "ratio_to": OFF,
        });
        // Figures that mean little say so themselves.
        if options.quick {
            line["quick"] = json!(true);
        }
        if row.figure.is_disturbed() {
            line["disturbed"] = json!(true);
        }
        println!("{line}");
    }
}

fn tables(results: &[CaseResult]) -> String {
    let mut figures = TextTable::new(&["case", "subject"], &["ns", "min–max"]);
    let mut asked = TextTable::new(&["case"], &["reached", "min–max", "must", "met?"]);
    for result in results {
        for (at, row) in result.rows.iter().enumerate() {
            let Figure::Speed { ns, .. } = row.figure else { continue };
            let name = if at == 0 { result.case } else { "" };
            let range = format!("{:.0}–{:.0}", ns.min, ns.max);
            let cells = [name, row.subject, &format!("{:.1}", ns.median), &range];
            figures.row(cells.map(str::to_owned).to_vec());
        }
        let Spread { median: reached, min, max } = result.ratio;
        let is_disturbed = result.rows.iter().any(|row| row.figure.is_disturbed());
        let met = match (reached >= MUST_AT_LEAST, is_disturbed) {
            (true, _) => "must met",
            (false, true) => "MISSED (disturbed)",
            (false, false) => "MISSED",
        };
        let (reached, range) = (format!("{reached:.2} × log_off"), format!("{min:.2}–{max:.2}"));
        let cells = [result.case, &reached, &range, &format!("≥ {MUST_AT_LEAST}"), met];
        asked.row(cells.map(str::to_owned).to_vec());
    }
    format!("{}\nWhat was asked for\n{}", figures.render(), asked.render())
}

#[cfg(test)]
mod tests {
    use super::execute;
    use crate::glob::Glob;
    use crate::options::Options;

    #[test]
    fn a_pattern_that_matches_nothing_is_answered_with_the_cases() {
        let options = Options { json: false, quick: true, case: Glob::new("third"), scale: 1 };
        let message = execute(&options).unwrap_err().to_string();
        assert!(
            message.starts_with("no case matches `third`; the cases are:\n  half-denied/100000/uniform/1t"),
            "{message}"
        );
    }
}
