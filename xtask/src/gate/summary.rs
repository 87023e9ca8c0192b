//! The table at the end of the gate.

use std::fmt;

use crate::paint;

use super::step::Step;
use super::tally::Tally;

/// One step's line in the table.
pub(super) struct Line {
    step: Step,
    /// Its wall time, or why it did not run.
    time: String,
    tally: Tally,
}

impl Line {
    /// A step that ran for `time`.
    pub(super) fn ran(step: Step, time: String, tally: Tally) -> Self {
        Self { step, time, tally }
    }

    /// A step that was left out; it counts as one skipped.
    pub(super) fn not_run(step: Step, why: &str) -> Self {
        Self { step, time: format!("({why})"), tally: Tally::SKIP }
    }

    /// What is printed when the step ends.
    pub(super) fn ending(&self) -> String {
        let verdict = if self.tally.failed == 0 { paint::good("ok") } else { paint::bad("FAILED") };
        format!("   {}: {verdict} in {} ({})", self.step.name(), self.time, self.tally)
    }
}

/// The lines of all steps so far.
#[derive(Default)]
pub(super) struct Summary(Vec<Line>);

impl Summary {
    /// Adds the line of the next step.
    pub(super) fn add(&mut self, line: Line) {
        self.0.push(line);
    }

    /// All steps together.
    pub(super) fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.0.iter().for_each(|line| total += line.tally);
        total
    }
}

/// The table, then the total on a line of its own.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time_width = self.0.iter().map(|line| line.time.len()).max().unwrap_or(0).max("time".len());
        writeln!(f, "\n{}", paint::header("summary"))?;
        writeln!(
            f,
            "   {:<10} {:>time_width$} {:>7} {:>7} {:>7}",
            "step", "time", "passed", "failed", "skipped"
        )?;
        for Line { step, time, tally } in &self.0 {
            let Tally { passed, failed, skipped } = tally;
            let row =
                format!("   {:<10} {time:>time_width$} {passed:>7} {failed:>7} {skipped:>7}", step.name());
            writeln!(f, "{}", if *failed > 0 { paint::bad(&row) } else { row })?;
        }
        writeln!(f, "\n{}", self.total())
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Step, Summary, Tally};

    #[test]
    fn the_last_line_is_the_total_and_nothing_else() {
        let mut summary = Summary::default();
        summary.add(Line::ran(
            Step::Test,
            "3 min 05 s".to_owned(),
            Tally { passed: 41, failed: 1, skipped: 2 },
        ));
        summary.add(Line::not_run(Step::Loom, "named in TOLLGATE_SKIP"));
        assert_eq!(summary.to_string().lines().last(), Some("41 passed, 1 failed, 3 skipped"));
    }
}
