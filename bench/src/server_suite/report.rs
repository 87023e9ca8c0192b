//! How results are printed: tables for people, one JSON object per case and subject for scripts.

use serde_json::{Value, json};

use super::cases::{Case, Outcome, Row};
use crate::options::Options;
use crate::text_table::TextTable;

/// Prints a line for each subject of the case.
pub(crate) fn print_json(case: &Case, outcome: &Outcome, options: &Options) {
    for (at, row) in outcome.rows.iter().enumerate() {
        let mut line = json!({
            "suite": "server", "case": case.name, "subject": row.subject, "denied": row.denied, "errors": row.errors,
        });
        if let Some(per_s) = row.per_s {
            line["per_s"] = json!(per_s.median.round());
            line["per_s_min"] = json!(per_s.min.round());
            line["per_s_max"] = json!(per_s.max.round());
            line["p50_us"] = tenths(row.p50_us);
            line["p99_us"] = tenths(row.p99_us);
        }
        if let Some(megabytes) = row.megabytes {
            line["resident_mb"] = tenths(megabytes);
        }
        if at == 0 {
            line["ratio"] = json!((outcome.reached * 1e3).round() / 1e3);
            line["ratio_to"] = json!(outcome.measure);
        }
        // Figures that mean little say so themselves.
        if options.quick {
            line["quick"] = json!(true);
        }
        println!("{line}");
    }
}

/// All figures, and then what was asked for.
pub(crate) fn tables(results: &[(&Case, Outcome)]) -> String {
    let figures = ["checks/s", "min–max", "p50 µs", "p99 µs", "denied", "errors", "MB"];
    let mut all = TextTable::new(&["case", "subject"], &figures);
    let mut asked = TextTable::new(&["case", "what"], &["reached", "must", "met?"]);
    for (case, outcome) in results {
        for (at, row) in outcome.rows.iter().enumerate() {
            let name = if at == 0 { case.name } else { "" };
            all.row(cells(name, row));
        }
        let (must, is_met) = case.must.judge(outcome.reached);
        let met = if is_met { "must met" } else { "MISSED" };
        let reached = format!("{:.2}", outcome.reached);
        asked.row([case.name, outcome.measure, &reached, &must, met].map(str::to_owned).into());
    }
    format!("{}\nWhat was asked for\n{}", all.render(), asked.render())
}

fn cells(case: &str, row: &Row) -> Vec<String> {
    let mut cells = vec![case.to_owned(), row.subject.to_owned()];
    match row.per_s {
        Some(per_s) => cells.extend([
            format!("{:.0}", per_s.median),
            format!("{:.0}–{:.0}", per_s.min, per_s.max),
            format!("{:.0}", row.p50_us),
            format!("{:.0}", row.p99_us),
        ]),
        None => cells.extend(["", "", "", ""].map(str::to_owned)),
    }
    cells.extend([row.denied.to_string(), row.errors.to_string()]);
    cells.extend(row.megabytes.map(|megabytes| format!("{megabytes:.1}")));
    cells
}

fn tenths(value: f64) -> Value {
    json!((value * 10.0).round() / 10.0)
}
