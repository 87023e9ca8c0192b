//! What came out of a case, and the one figure of it that is held against what was asked for.
//!
//! Ratios are made within rounds and the median is taken of them; figures of different rounds are never divided.

use crate::core_suite::results::Spread;
use crate::problem::Problem;

pub(crate) const NONE: &str = "none";
pub(crate) const TOLLGATE: &str = "tollgate";
pub(crate) const GOVERNOR: &str = "tower_governor";

/// Nanoseconds per request of the same rounds: without a limiter, with ours, with the peer's.
pub(crate) struct CaseResult {
    pub(crate) case: &'static str,
    pub(crate) none: Vec<f64>,
    pub(crate) tollgate: Vec<f64>,
    pub(crate) governor: Vec<f64>,
}

/// Which figure of a case was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Measure {
    /// Ours ÷ the peer's nanoseconds beyond those without a limiter. Less is better.
    Overhead { must_at_most: Option<f64> },
    /// Ours ÷ the peer's requests per second. More is better.
    RequestsPerSecond { must_at_least: f64 },
}

impl CaseResult {
    /// From the rounds of the three, in the order of the fields.
    pub(crate) fn of(case: &'static str, nanos: Vec<Vec<f64>>) -> Result<Self, Problem> {
        let subjects: Result<[Vec<f64>; 3], _> = nanos.try_into();
        let [none, tollgate, governor] =
            subjects.map_err(|_| Problem::failed(format!("{case} did not measure three subjects")))?;
        Ok(Self { case, none, tollgate, governor })
    }

    /// Subjects and their nanoseconds per request.
    pub(crate) fn subjects(&self) -> [(&'static str, &[f64]); 3] {
        [(NONE, &self.none), (TOLLGATE, &self.tollgate), (GOVERNOR, &self.governor)]
    }

    /// Nanoseconds beyond those without a limiter, round by round.
    pub(crate) fn overhead(&self, nanos: &[f64]) -> Spread {
        Spread::of(self.overheads(nanos).collect())
    }

    /// The figure of `nanos` beside that of the peer, round by round.
    pub(crate) fn ratio(&self, nanos: &[f64], measure: Measure) -> f64 {
        let ratios = match measure {
            Measure::Overhead { .. } => {
                let pairs = self.overheads(nanos).zip(self.overheads(&self.governor));
                pairs.map(|(ours, theirs)| ours / theirs).collect()
            }
            Measure::RequestsPerSecond { .. } => {
                self.governor.iter().zip(nanos).map(|(theirs, ours)| theirs / ours).collect()
            }
        };
        Spread::of(ratios).median
    }

    fn overheads<'a>(&'a self, nanos: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        nanos.iter().zip(&self.none).map(|(with, without)| with - without)
    }
}

impl Measure {
    /// What was asked for, and whether `reached` is it; `None` if nothing was asked.
    pub(crate) fn judge(self, reached: f64) -> Option<(String, bool)> {
        match self {
            Self::Overhead { must_at_most } => {
                must_at_most.map(|must| (format!("≤ {must} ×"), reached <= must))
            }
            Self::RequestsPerSecond { must_at_least: must } => Some((format!("≥ {must} ×"), reached >= must)),
        }
    }

    /// What the ratio is one of.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Overhead { .. } => "overhead",
            Self::RequestsPerSecond { .. } => "requests/s",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CaseResult, Measure};

    fn result() -> CaseResult {
        let none = vec![100.0, 200.0, 100.0];
        CaseResult {
            case: "a/case",
            none,
            tollgate: vec![150.0, 250.0, 140.0],
            governor: vec![200.0, 300.0, 200.0],
        }
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn an_overhead_is_beyond_the_same_round_without_a_limiter() {
        let result = result();
        let overhead = result.overhead(&result.tollgate);
        assert!(close(overhead.median, 50.0) && close(overhead.min, 40.0) && close(overhead.max, 50.0));
        let measure = Measure::Overhead { must_at_most: Some(0.7) };
        assert!(close(result.ratio(&result.tollgate, measure), 0.5));
        assert!(close(result.ratio(&result.governor, measure), 1.0));
        assert_eq!(measure.judge(0.5), Some(("≤ 0.7 ×".to_owned(), true)));
        assert_eq!(Measure::Overhead { must_at_most: None }.judge(0.5), None);
    }

    #[test]
    fn requests_per_second_are_better_when_more() {
        let result = result();
        let measure = Measure::RequestsPerSecond { must_at_least: 0.95 };
        assert!(close(result.ratio(&result.tollgate, measure), 200.0 / 150.0));
        assert_eq!(measure.judge(0.9), Some(("≥ 0.95 ×".to_owned(), false)));
    }
}
