//! What came out of a case: a row per subject, and the one that the others are compared with.
//!
//! Knows how to compare; not how to print, nor what would be good enough.

use super::subject::SubjectKind;

/// Tollgate's own check of one bucket, measured in the same rounds as the check of four.
pub(crate) const SINGLE: &str = "tollgate_single";

/// From here on a row says that it was disturbed: the machine was busy with something else.
const DISTURBED_SHARE_MIN: f64 = 0.05;

/// A measured case.
pub(crate) struct CaseResult {
    pub(crate) case: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) comparison: Comparison,
}

/// One subject in one case.
pub(crate) struct Row {
    pub(crate) subject: &'static str,
    pub(crate) figure: Figure,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Figure {
    /// Nanoseconds per check: wall time × threads ÷ checks.
    Speed {
        ns: Spread,
        /// Part of the checks that were admitted.
        admitted_share: f64,
        /// Part of the threads' time in which they had no core to run on; see [`DISTURBED_SHARE_MIN`].
        wait_share: f64,
    },
    /// Nanoseconds of processor time per acquire, and the worst of real wait ÷ fair wait where all wait.
    Acquire { cpu_ns: Spread, worst_wait: Option<Spread> },
    /// Resident bytes per key, and the part of them requested from Rust's allocator.
    Memory { bytes_per_key: f64, requested_bytes_per_key: f64 },
}

/// The middle and the ends of several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// What a ratio says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// governor's cost ÷ the subject's: how many times better the subject is.
    GainOverGovernor,
    /// The subject's cost ÷ that of a single check: how many times dearer it is.
    CostOfSingle,
}

impl Spread {
    /// Of at least one figure; of none all are 0.
    pub(crate) fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).copied().unwrap_or(0.0);
        let last = figures.len().saturating_sub(1);
        // An even number of rounds has two middles; take their mean.
        Self { median: f64::midpoint(at(last / 2), at(last.div_ceil(2))), min: at(0), max: at(last) }
    }
}

impl Figure {
    /// What a user pays: nanoseconds or bytes. Less is better.
    pub(crate) fn cost(&self) -> f64 {
        match self {
            Self::Speed { ns, .. } | Self::Acquire { cpu_ns: ns, .. } => ns.median,
            Self::Memory { bytes_per_key, .. } => *bytes_per_key,
        }
    }

    /// Whether its threads had to wait for a core more than a little.
    pub(crate) fn is_disturbed(&self) -> bool {
        matches!(self, Self::Speed { wait_share, .. } if *wait_share >= DISTURBED_SHARE_MIN)
    }
}

impl Comparison {
    /// The subject that the others are compared with.
    pub(crate) fn reference(self) -> &'static str {
        match self {
            Self::GainOverGovernor => SubjectKind::Governor.name(),
            Self::CostOfSingle => SINGLE,
        }
    }
}

impl CaseResult {
    /// The row of that subject, if it ran.
    pub(crate) fn row(&self, subject: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.subject == subject)
    }

    /// Whether a row, and with it every ratio of the case, came about on a busy machine.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.rows.iter().any(|row| row.figure.is_disturbed())
    }

    /// What the cheapest of the others pays for each of what `row` does.
    pub(crate) fn ratio_to_cheapest(&self, row: &Row) -> Option<f64> {
        let others = self.rows.iter().filter(|other| other.subject != row.subject);
        let cheapest = others.map(|other| other.figure.cost()).min_by(f64::total_cmp)?;
        Some(cheapest / row.figure.cost()).filter(|ratio| ratio.is_finite())
    }

    /// How `row` compares with the reference.
    pub(crate) fn ratio(&self, row: &Row) -> Option<f64> {
        let reference = self.row(self.comparison.reference())?.figure.cost();
        let ratio = match self.comparison {
            Comparison::GainOverGovernor => reference / row.figure.cost(),
            Comparison::CostOfSingle => row.figure.cost() / reference,
        };
        ratio.is_finite().then_some(ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::{CaseResult, Comparison, Figure, Row, SINGLE, Spread};

    fn speed(subject: &'static str, ns: f64) -> Row {
        Row {
            subject,
            figure: Figure::Speed { ns: Spread::of(vec![ns]), admitted_share: 1.0, wait_share: 0.0 },
        }
    }

    fn ratio_of_first(comparison: Comparison, rows: Vec<Row>) -> Option<f64> {
        let result = CaseResult { case: "a/case".to_owned(), rows, comparison };
        result.ratio(&result.rows[0])
    }

    #[test]
    fn the_median_of_five_is_the_third() {
        let spread = Spread::of(vec![9.0, 1.0, 3.0, 2.0, 100.0]);
        assert_eq!(spread, Spread { median: 3.0, min: 1.0, max: 100.0 });
        assert_eq!(Spread::of(vec![4.0, 2.0]), Spread { median: 3.0, min: 2.0, max: 4.0 });
    }

    #[test]
    fn a_gain_is_what_governor_pays_for_each_of_ours() {
        let rows = || vec![speed("tollgate", 100.0), speed("governor", 400.0)];
        assert_eq!(ratio_of_first(Comparison::GainOverGovernor, rows()), Some(4.0));
    }

    #[test]
    fn four_buckets_are_dearer_than_one() {
        let rows = || vec![speed("tollgate", 250.0), speed(SINGLE, 100.0)];
        assert_eq!(ratio_of_first(Comparison::CostOfSingle, rows()), Some(2.5));
    }

    #[test]
    fn without_the_reference_there_is_no_ratio() {
        assert_eq!(ratio_of_first(Comparison::GainOverGovernor, vec![speed("tollgate", 100.0)]), None);
    }
}
