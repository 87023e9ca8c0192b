//! How results are printed: tables for people, one JSON object per case and subject for scripts.

use serde_json::{Value, json};

use super::results::{CaseResult, GOVERNOR, Measure, NONE};
use crate::core_suite::results::Spread;
use crate::options::Options;
use crate::text_table::TextTable;

/// Prints a line for each subject of the case.
pub(crate) fn print_json(result: &CaseResult, measure: Measure, options: &Options) {
    for (subject, nanos) in result.subjects() {
        println!("{}", line(result, subject, nanos, measure, options));
    }
}

fn line(result: &CaseResult, subject: &str, nanos: &[f64], measure: Measure, options: &Options) -> Value {
    let ns = Spread::of(nanos.to_vec());
    let mut line = json!({
        "suite": "tower", "case": result.case, "subject": subject, "rounds": nanos.len(),
        "ns": thousandths(ns.median), "ns_min": thousandths(ns.min), "ns_max": thousandths(ns.max),
        "per_s": (1e9 / ns.median).round(), "overhead_ns": thousandths(result.overhead(nanos).median),
        "measure": measure.name(), "ratio": thousandths(result.ratio(nanos, measure)), "ratio_to": GOVERNOR,
    });
    // Figures that mean little or nothing say so themselves.
    if options.quick {
        line["quick"] = json!(true);
    }
    if options.scale > 1 {
        line["scale"] = json!(options.scale);
    }
    line
}

/// All figures, and then what was asked for.
pub(crate) fn tables(results: &[(CaseResult, Measure)]) -> String {
    let mut figures = TextTable::new(
        &["case", "subject"],
        &["ns per request", "min–max", "requests/s", "overhead ns", "min–max", "× tower_governor"],
    );
    let mut asked = TextTable::new(&["case", "tollgate ÷ tower_governor"], &["reached", "must", "met?"]);
    for (result, measure) in results {
        for (at, (subject, nanos)) in result.subjects().into_iter().enumerate() {
            let name = if at == 0 { result.case } else { "" };
            let ns = Spread::of(nanos.to_vec());
            let mut cells = vec![name.to_owned(), subject.to_owned(), format!("{:.0}", ns.median), range(ns)];
            cells.push(format!("{:.0}", 1e9 / ns.median));
            if subject != NONE {
                let overhead = result.overhead(nanos);
                cells.extend([format!("{:.0}", overhead.median), range(overhead)]);
                cells.push(format!("{:.2} {}", result.ratio(nanos, *measure), measure.name()));
            }
            figures.row(cells);
        }
        let reached = result.ratio(&result.tollgate, *measure);
        let (must, met) = match measure.judge(reached) {
            None => ("—".to_owned(), ""),
            Some((must, true)) => (must, "must met"),
            Some((must, false)) => (must, "MISSED"),
        };
        let cells = [
            result.case.to_owned(),
            measure.name().to_owned(),
            format!("{reached:.2} ×"),
            must,
            met.to_owned(),
        ];
        asked.row(cells.into());
    }
    format!("{}\nWhat was asked for\n{}", figures.render(), asked.render())
}

fn range(spread: Spread) -> String {
    format!("{:.0}–{:.0}", spread.min, spread.max)
}

fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
