//! One JSON object per measurement, with fields that scripts rely on. Stdout holds nothing else.

use serde_json::{Value, json};

use super::results::{CaseResult, Comparison, Figure, Row};
use crate::options::Options;

/// Prints a line for each row of the case.
pub(crate) fn print(result: &CaseResult, options: &Options) {
    for row in &result.rows {
        println!("{}", line(result, row, options));
    }
}

fn line(result: &CaseResult, row: &Row, options: &Options) -> Value {
    let ratio = result.ratio(row).map(thousandths);
    let mut line = json!({
        "suite": "core",
        "case": result.case,
        "subject": row.subject,
        "ratio": ratio,
        "ratio_to": result.comparison.reference(),
    });
    if result.comparison == Comparison::GainOverGovernor {
        line["ratio_to_governor"] = json!(ratio);
    }
    match row.figure {
        Figure::Speed { ns, admitted_share, wait_share } => {
            line["ns"] = json!(thousandths(ns.median));
            line["ns_min"] = json!(thousandths(ns.min));
            line["ns_max"] = json!(thousandths(ns.max));
            line["per_s"] = json!((1e9 / ns.median).round());
            line["admitted_share"] = json!(admitted_share);
            line["wait_share"] = json!(thousandths(wait_share));
        }
        Figure::Acquire { cpu_ns, worst_wait } => {
            line["ns"] = json!(thousandths(cpu_ns.median));
            line["ns_min"] = json!(thousandths(cpu_ns.min));
            line["ns_max"] = json!(thousandths(cpu_ns.max));
            line["per_s"] = json!((1e9 / cpu_ns.median).round());
            if let Some(worst) = worst_wait {
                line["worst_wait_ratio"] = json!(thousandths(worst.median));
            }
        }
        Figure::Memory { bytes_per_key, requested_bytes_per_key } => {
            line["bytes_per_key"] = json!(thousandths(bytes_per_key));
            line["requested_bytes_per_key"] = json!(thousandths(requested_bytes_per_key));
        }
    }
    // Figures that mean little or nothing say so themselves.
    if options.quick {
        line["quick"] = json!(true);
    }
    if options.scale > 1 {
        line["scale"] = json!(options.scale);
    }
    line
}

fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::line;
    use crate::core_suite::results::{CaseResult, Comparison, Figure, Row, Spread};
    use crate::glob::Glob;
    use crate::options::Options;

    const FULL: fn() -> Options = || Options { json: true, quick: false, case: Glob::new("*"), scale: 1 };

    #[test]
    fn a_line_of_speed_has_the_fields_that_scripts_rely_on() {
        let row = |subject, ns| Row {
            subject,
            figure: Figure::Speed { ns: Spread::of(vec![ns]), admitted_share: 1.0, wait_share: 0.0 },
        };
        let rows = vec![row("tollgate", 100.0), row("governor", 400.0)];
        let result = CaseResult { case: "a/case".to_owned(), rows, comparison: Comparison::GainOverGovernor };
        assert_eq!(
            line(&result, &result.rows[0], &FULL()),
            json!({"suite": "core", "case": "a/case", "subject": "tollgate", "ns": 100.0, "ns_min": 100.0,
                   "ns_max": 100.0, "per_s": 10_000_000.0, "admitted_share": 1.0, "wait_share": 0.0, "ratio": 4.0,
                   "ratio_to": "governor", "ratio_to_governor": 4.0})
        );
    }

    #[test]
    fn a_line_of_memory_has_bytes_and_no_time() {
        let figure = Figure::Memory { bytes_per_key: 28.5, requested_bytes_per_key: 0.0 };
        let rows = vec![Row { subject: "governor", figure }];
        let result = CaseResult { case: "bytes".to_owned(), rows, comparison: Comparison::GainOverGovernor };
        let line = line(&result, &result.rows[0], &FULL());
        assert_eq!((&line["bytes_per_key"], &line["ratio_to_governor"]), (&json!(28.5), &json!(1.0)));
        assert!(line.get("ns").is_none() && line.get("quick").is_none());
    }
}
