//! The results as people read them: every figure, then flatness over key counts, then what was asked for.

use super::case::{Distribution, Family, Mode, cases};
use super::results::{CaseResult, Comparison, Figure, Row};
use super::subject::SubjectKind;
use super::thresholds::{Standing, THRESHOLDS};
use super::zipf;
use crate::options::Options;
use crate::text_table::TextTable;

/// What the figures mean, before there are any.
pub(crate) fn explanation(options: &Options) -> String {
    let mut text = format!(
        "ns           wall time × threads ÷ checks; median of the rounds, interleaved; one clock read per check\n\
         quota        generous: checks are admitted, so this is the path that writes (denied/: the bucket is empty)\n\
         keys         `user:123456`, inserted beforehand; one stream for all subjects; zipf exponent {:.1}\n\
         batch16      peers have no batch and run their single check\n\
         acquire      processor time of the process ÷ acquires, 1,000 tasks of one thread on one key; waiting/: 10,000 tokens a \
         second\n\
         bytes        growth of resident memory in a fresh process; beside it what was asked of Rust's allocator\n\
         disturbed    that part of the threads' time they had no core: run again on an idle machine\n",
        zipf::EXPONENT
    );
    if options.quick {
        text.push_str("QUICK        one round on a tenth of the stream: these figures mean little\n");
    }
    if options.scale > 1 {
        text.push_str("SCALED       fewer keys than the names say: these figures mean nothing\n");
    }
    text
}

/// All tables of the suite.
pub(crate) fn render(results: &[CaseResult]) -> String {
    let mut text = figures(results);
    if let Some(flatness) = flatness(results) {
        text.push_str(
            "\nCost per check as keys grow (uniform, 1 thread; times the cost at the fewest keys)\n",
        );
        text.push_str(&flatness);
    }
    text.push_str("\nWhat was asked for\n");
    text.push_str(&verdicts(results));
    text
}

fn figures(results: &[CaseResult]) -> String {
    let mut table =
        TextTable::new(&["case", "subject"], &["ns or B/key", "min–max", "Mchecks/s", "vs governor", ""]);
    for result in results {
        for (at, row) in result.rows.iter().enumerate() {
            let name = if at == 0 { result.case.clone() } else { String::new() };
            let mut cells = vec![name, row.subject.to_owned()];
            cells.extend(figure_cells(row.figure));
            cells.push(result.ratio(row).map_or_else(String::new, |ratio| ratio_cell(result, row, ratio)));
            cells.push(remark(row.figure));
            table.row(cells);
        }
    }
    table.render()
}

fn figure_cells(figure: Figure) -> [String; 3] {
    match figure {
        Figure::Speed { ns, .. } => {
            let ends = format!("{}–{}", short(ns.min), short(ns.max));
            [short(ns.median), ends, format!("{:.2}", 1e3 / ns.median)]
        }
        Figure::Acquire { cpu_ns, .. } => {
            let ends = format!("{}–{}", short(cpu_ns.min), short(cpu_ns.max));
            [short(cpu_ns.median), ends, format!("{:.2}", 1e3 / cpu_ns.median)]
        }
        Figure::Memory { bytes_per_key, requested_bytes_per_key } => {
            let requested = format!("({} requested)", short(requested_bytes_per_key));
            [format!("{} B", short(bytes_per_key)), requested, String::new()]
        }
    }
}

fn ratio_cell(result: &CaseResult, row: &Row, ratio: f64) -> String {
    match result.comparison {
        Comparison::GainOverGovernor => format!("{ratio:.2}×"),
        Comparison::CostOfSingle if row.subject == result.comparison.reference() => String::new(),
        Comparison::CostOfSingle => format!("{ratio:.2}× a single"),
    }
}

/// `disturbed 40 %` when the threads had to wait for a core; how fair the wait was.
fn remark(figure: Figure) -> String {
    match figure {
        Figure::Speed { wait_share, .. } if figure.is_disturbed() => {
            format!("disturbed {:.0} %", wait_share * 100.0)
        }
        Figure::Acquire { worst_wait: Some(worst), .. } => format!("worst wait {:.2}× fair", worst.median),
        _ => String::new(),
    }
}

/// Each subject's cost from 10^4 keys up. None when fewer than two counts were measured.
fn flatness(results: &[CaseResult]) -> Option<String> {
    let growing = cases().into_iter().filter(|case| {
        let plain = (case.family, case.mode, case.threads) == (Family::Str, Mode::Single, 1);
        plain && case.distribution == Distribution::Uniform
    });
    let measured: Vec<(u32, &CaseResult)> = growing
        .filter_map(|case| Some((case.keys, results.iter().find(|result| result.case == case.to_string())?)))
        .collect();
    let (_, base) = measured.first().filter(|_| measured.len() > 1)?;
    let mut table = TextTable::new(&["keys"], &SubjectKind::ALL.map(SubjectKind::name));
    for (keys, result) in &measured {
        let cost = |result: &CaseResult, kind: SubjectKind| Some(result.row(kind.name())?.figure.cost());
        let cell = |kind| match (cost(result, kind), cost(base, kind)) {
            (Some(ns), Some(first)) => format!("{} ns ({:.1}×)", short(ns), ns / first),
            _ => String::new(),
        };
        table.row([keys.to_string()].into_iter().chain(SubjectKind::ALL.map(cell)).collect());
    }
    Some(table.render())
}

fn verdicts(results: &[CaseResult]) -> String {
    let mut table = TextTable::new(&["case"], &["reached", "must", "aim", "met?"]);
    for threshold in &THRESHOLDS {
        let reached = threshold.reached(results);
        let standing = match threshold.standing(reached) {
            Standing::AimMet => "aim met",
            Standing::MustMet => "must met",
            Standing::Missed => "MISSED",
            Standing::NotRun => "not run",
        };
        let disturbed = results.iter().any(|result| result.case == threshold.case && result.is_disturbed());
        table.row(vec![
            format!("{}{}", threshold.case, threshold.aspect()),
            reached.map_or_else(|| "–".to_owned(), |value| threshold.spoken_reached(value)),
            threshold.spoken(threshold.must),
            threshold.aim.map_or_else(|| "–".to_owned(), |aim| threshold.spoken(aim)),
            if disturbed { format!("{standing} (disturbed)") } else { standing.to_owned() },
        ]);
    }
    table.render()
}

/// `13.4` below a hundred, `494` above.
fn short(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::{flatness, verdicts};
    use crate::core_suite::results::{CaseResult, Comparison, Figure, Row, Spread};

    fn result(case: &str, ours: f64, governor: f64) -> CaseResult {
        let row = |subject, ns| Row {
            subject,
            figure: Figure::Speed { ns: Spread::of(vec![ns]), admitted_share: 1.0, wait_share: 0.0 },
        };
        CaseResult {
            case: case.to_owned(),
            rows: vec![row("tollgate", ours), row("governor", governor)],
            comparison: Comparison::GainOverGovernor,
        }
    }

    #[test]
    fn a_missed_threshold_is_said_plainly() {
        let table = verdicts(&[result("str/1/hot/2t/single", 100.0, 134.0)]);
        let line = table.lines().find(|line| line.starts_with("str/1/hot")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["str/1/hot/2t/single", "1.34×", "≥", "1.7×", "≥", "4×", "MISSED"]);
        assert!(table.contains("not run"));
    }

    #[test]
    fn flatness_compares_with_the_fewest_keys() {
        let few = result("str/10000/uniform/1t/single", 20.0, 60.0);
        let many = result("str/10000000/uniform/1t/single", 80.0, 1_140.0);
        assert!(flatness(&[result("str/1/hot/1t/single", 1.0, 1.0)]).is_none());
        let table = flatness(&[few, many]).unwrap();
        assert!(table.contains("80.0 ns (4.0×)") && table.contains("1140 ns (19.0×)"), "{table}");
    }
}
