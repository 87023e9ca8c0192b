//! What this suite demands of Tollgate ("must reach") and hopes for ("aim").
//!
//! The one place where these numbers stand. A verdict is said, not enforced.

use super::results::{CaseResult, Figure};
use super::subject::SubjectKind;

/// A demand on one case.
pub(crate) struct Threshold {
    pub(crate) case: &'static str,
    pub(crate) measure: Measure,
    pub(crate) must: f64,
    /// None where "must" is all that was asked.
    pub(crate) aim: Option<f64>,
}

/// Which figure is held against the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// At least so many times as fast as governor.
    TimesGovernor,
    /// At most so many resident bytes per key.
    BytesPerKey,
    /// At most so many times the cost of a single check.
    TimesSingle,
    /// At least so many times as cheap as the cheapest peer.
    TimesCheapest,
    /// Nobody waits longer than so many times what is fair.
    WorstWait,
}

/// How a case fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    AimMet,
    MustMet,
    Missed,
    NotRun,
}

pub(crate) const THRESHOLDS: [Threshold; 10] = [
    faster("str/1000000/uniform/1t/single", 4.0, 8.0),
    faster("str/1000000/uniform/1t/batch16", 10.0, 20.0),
    faster("str/10000000/uniform/1t/single", 8.0, 15.0),
    faster("str/1000000/zipf/2t/single", 4.0, 8.0),
    faster("str/1/hot/2t/single", 1.7, 4.0),
    Threshold { case: "bytes_per_key/1000000", measure: Measure::BytesPerKey, must: 28.0, aim: Some(22.0) },
    Threshold {
        case: "multi4/1000000/uniform/1t/single",
        measure: Measure::TimesSingle,
        must: 3.0,
        aim: None,
    },
    Threshold { case: "acquire/free/1000", measure: Measure::TimesCheapest, must: 1.0, aim: None },
    Threshold { case: "acquire/waiting/1000", measure: Measure::TimesCheapest, must: 1.0, aim: None },
    Threshold { case: "acquire/waiting/1000", measure: Measure::WorstWait, must: 1.1, aim: None },
];

const fn faster(case: &'static str, must: f64, aim: f64) -> Threshold {
    Threshold { case, measure: Measure::TimesGovernor, must, aim: Some(aim) }
}

impl Threshold {
    /// What Tollgate reached, in the threshold's measure.
    pub(crate) fn reached(&self, results: &[CaseResult]) -> Option<f64> {
        let result = results.iter().find(|result| result.case == self.case)?;
        let row = result.row(SubjectKind::Tollgate.name())?;
        match (self.measure, row.figure) {
            (Measure::BytesPerKey, Figure::Memory { bytes_per_key, .. }) => Some(bytes_per_key),
            (Measure::TimesGovernor | Measure::TimesSingle, Figure::Speed { .. }) => result.ratio(row),
            (Measure::TimesCheapest, Figure::Acquire { .. }) => result.ratio_to_cheapest(row),
            (Measure::WorstWait, Figure::Acquire { worst_wait, .. }) => worst_wait.map(|worst| worst.median),
            _ => None,
        }
    }

    /// Whether that is enough.
    pub(crate) fn standing(&self, reached: Option<f64>) -> Standing {
        let Some(reached) = reached else { return Standing::NotRun };
        let enough = |wanted: f64| match self.measure {
            Measure::TimesGovernor | Measure::TimesCheapest => reached >= wanted,
            Measure::BytesPerKey | Measure::TimesSingle | Measure::WorstWait => reached <= wanted,
        };
        match self.aim {
            Some(aim) if enough(aim) => Standing::AimMet,
            _ if enough(self.must) => Standing::MustMet,
            _ => Standing::Missed,
        }
    }

    /// `≥ 4×` or `≤ 28 B`.
    pub(crate) fn spoken(&self, value: f64) -> String {
        match self.measure {
            Measure::TimesGovernor | Measure::TimesCheapest => format!("≥ {value}×"),
            Measure::BytesPerKey => format!("≤ {value} B"),
            Measure::TimesSingle | Measure::WorstWait => format!("≤ {value}×"),
        }
    }

    /// What it is about, where that is not the usual comparison.
    pub(crate) fn aspect(&self) -> &'static str {
        match self.measure {
            Measure::TimesCheapest => " (cheapest peer)",
            Measure::WorstWait => " (worst wait ÷ fair)",
            Measure::TimesGovernor | Measure::BytesPerKey | Measure::TimesSingle => "",
        }
    }

    /// `4.12×` or `27.30 B`.
    pub(crate) fn spoken_reached(&self, value: f64) -> String {
        let unit = if self.measure == Measure::BytesPerKey { " B" } else { "×" };
        format!("{value:.2}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Standing, THRESHOLDS};
    use crate::core_suite::acquire::AcquireCase;
    use crate::core_suite::case::{cases, memory_case_name};

    #[test]
    fn every_threshold_is_about_a_case_that_is_measured() {
        let names: Vec<String> =
            cases().iter().map(ToString::to_string).chain([memory_case_name()]).collect();
        let acquires = AcquireCase::ALL.map(|case| case.name().to_owned());
        let names = [names.as_slice(), acquires.as_slice()].concat();
        for threshold in &THRESHOLDS {
            assert!(names.iter().any(|name| name == threshold.case), "{}", threshold.case);
        }
    }

    #[test]
    fn speed_counts_upwards_and_memory_downwards() {
        let standing = |at: usize, reached: f64| THRESHOLDS[at].standing(Some(reached));
        assert_eq!(
            [3.9, 4.0, 8.0].map(|ratio| standing(0, ratio)),
            [Standing::Missed, Standing::MustMet, Standing::AimMet]
        );
        assert_eq!(
            [28.1, 28.0, 22.0].map(|bytes| standing(5, bytes)),
            [Standing::Missed, Standing::MustMet, Standing::AimMet]
        );
        assert_eq!(
            [3.1, 3.0, 1.0].map(|cost| standing(6, cost)),
            [Standing::Missed, Standing::MustMet, Standing::MustMet]
        );
        assert_eq!(THRESHOLDS[0].standing(None), Standing::NotRun);
    }
}
