//! How results are printed: tables for people, one JSON object per case and subject for scripts.

use serde_json::json;

use super::callers::Round;
use super::cases::{Asked, Case, Figures, Outcome, Row};
use crate::core_suite::results::Spread;
use crate::options::Options;
use crate::text_table::TextTable;

/// Prints a line for each subject of the case, and one for each thing that was asked for.
pub(crate) fn print_json(case: &Case, outcome: &Outcome, options: &Options) {
    for Row { subject, figures } in &outcome.rows {
        let mut line = json!({ "suite": "redis", "case": case.name, "subject": subject });
        match figures {
            Figures::Plain(per_s) => line["per_s"] = json!(per_s.median.round()),
            Figures::Admitted(per_s) => line["admitted_per_s"] = json!(per_s.median.round()),
            Figures::Bytes(bytes) => line["bytes_per_bucket"] = json!(tenths(*bytes)),
            Figures::Ours(rounds) => {
                line["per_s"] = json!(spread(rounds, Round::per_second).median.round());
                line["round_trips_per_check"] = json!(spread(rounds, Round::round_trips_per_check).median);
                line["sent_per_check"] = json!(spread(rounds, Round::sent_per_check).median);
            }
        }
        // Figures that mean little say so themselves.
        if options.quick {
            line["quick"] = json!(true);
        }
        println!("{line}");
    }
    for asked in &outcome.asked {
        let Asked { what, must, aim, .. } = asked;
        let reached = (asked.judged() * 1e4).round() / 1e4;
        println!(
            "{}",
            json!({ "suite": "redis", "case": case.name, "what": what, "reached": reached, "must": must, "aim": aim })
        );
    }
}

/// All figures, and then what was asked for.
pub(crate) fn tables(results: &[(&Case, Outcome)]) -> String {
    let figures =
        ["checks/s", "min–max", "trips/check", "sent/check", "denied", "redis busy", "callers busy", "bytes"];
    let mut all = TextTable::new(&["case", "subject"], &figures);
    let mut asked = TextTable::new(&["case", "what"], &["reached", "min–max", "must", "aim", "met?"]);
    for (case, outcome) in results {
        for (at, row) in outcome.rows.iter().enumerate() {
            let name = if at == 0 { case.name } else { "" };
            all.row(cells(name, row));
        }
        for (at, one) in outcome.asked.iter().enumerate() {
            let name = if at == 0 { case.name } else { "" };
            asked.row(judged(name, one));
        }
    }
    format!("{}\nWhat was asked for\n{}", all.render(), asked.render())
}

fn cells(case: &str, row: &Row) -> Vec<String> {
    let mut cells = vec![case.to_owned(), row.subject.to_owned()];
    let mut rate = |per_s: Spread| {
        cells.extend([format!("{:.0}", per_s.median), format!("{:.0}–{:.0}", per_s.min, per_s.max)]);
    };
    match &row.figures {
        Figures::Plain(per_s) | Figures::Admitted(per_s) => rate(*per_s),
        Figures::Bytes(bytes) => {
            cells.extend(std::iter::repeat_n(String::new(), 7));
            cells.push(format!("{bytes:.1}"));
        }
        Figures::Ours(rounds) => {
            rate(spread(rounds, Round::per_second));
            let busy = |seconds: fn(&Round) -> f64| {
                let share = rounds.iter().map(|round| 100.0 * seconds(round) / round.seconds).collect();
                format!("{:.0} %", Spread::of(share).median)
            };
            cells.extend([
                format!("{:.4}", spread(rounds, Round::round_trips_per_check).median),
                format!("{:.4}", spread(rounds, Round::sent_per_check).median),
                rounds.iter().map(|round| round.denied).sum::<u64>().to_string(),
                busy(|round| round.redis_s),
                busy(|round| round.callers_s),
            ]);
        }
    }
    cells
}

fn judged(case: &str, asked: &Asked) -> Vec<String> {
    let Asked { what, reached, must, aim, is_ceiling, is_of_each } = asked;
    let digits = if *must < 1.0 || *is_of_each { 4 } else { 2 };
    let sign = if *is_ceiling { '≤' } else { '≥' };
    vec![
        case.to_owned(),
        (*what).to_owned(),
        format!("{:.digits$}", asked.judged()),
        format!("{:.digits$}–{:.digits$}", reached.min, reached.max),
        format!("{sign} {must}"),
        aim.map_or_else(|| "—".to_owned(), |aim| format!("{sign} {aim}")),
        asked.judge().to_owned(),
    ]
}

fn spread(rounds: &[Round], figure: fn(&Round) -> f64) -> Spread {
    Spread::of(rounds.iter().map(figure).collect())
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
