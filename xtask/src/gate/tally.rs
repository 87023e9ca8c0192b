//! How many tests passed, failed and were skipped.

use std::fmt;
use std::ops::AddAssign;

/// Counts of tests. One command that either works or not counts as one test.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
}

impl Tally {
    /// One thing that works.
    pub(super) const SUCCESS: Self = Self { passed: 1, failed: 0, skipped: 0 };
    /// One thing that does not.
    pub(super) const FAILURE: Self = Self { passed: 0, failed: 1, skipped: 0 };
    /// One thing that was not tried.
    pub(super) const SKIP: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// Success or failure, counted as one.
    pub(super) fn of_one(works: bool) -> Self {
        if works { Self::SUCCESS } else { Self::FAILURE }
    }

    /// Whether any test was run at all.
    pub(super) fn ran_any(self) -> bool {
        self.passed + self.failed > 0
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// `12 passed, 0 failed, 1 skipped`: the form that scripts read from the last line of the gate.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}
