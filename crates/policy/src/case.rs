//! Unit tests of a policy: requests at virtual times, and what is expected of them. Read by [`Case::parse_all`].

use tollgate_core::Span;

use crate::DescribedRequest;

/// One case. Every bucket is full when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// What it shows.
    pub name: Box<str>,
    /// The line of the file where it begins, from 1.
    pub line: u32,
    /// In the order of time.
    pub steps: Vec<Step>,
}

/// The same request, once or several times at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The line of the file where it begins, from 1.
    pub line: u32,
    /// When, from the beginning of the case. Never before the step before.
    pub at: Span,
    /// What is asked.
    pub request: DescribedRequest,
    /// How often, 1 to 1,000,000.
    pub times: u32,
    /// What must come of it.
    pub expected: Expected,
}

/// What must come of a step. `None`: whatever comes is right.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expected {
    /// How many of the requests are admitted.
    pub admitted: Option<u32>,
    /// The enforced rules that the last request asks, in any order, and no others.
    pub rules: Option<Vec<Box<str>>>,
    /// The rules that deny, block or kill the last request, in any order, and no others.
    pub violated: Option<Vec<Box<str>>>,
    /// The rules that only watch and would have denied the last request, in any order, and no others.
    pub would_deny: Option<Vec<Box<str>>>,
    /// What the last request is told to wait.
    pub retry_after: Option<ExpectedWait>,
}

/// A wait, to the precision that somebody wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedWait {
    /// The wait.
    pub wait: Span,
    /// The last written digit is worth this: `333.334s` is written to the millisecond. Never zero.
    pub precision: Span,
}

impl ExpectedWait {
    /// Whether the exact wait is this one when it is rounded up to the precision.
    pub fn is_met_by(self, exact: Span) -> bool {
        let step = self.precision.as_nanos().max(1);
        exact.as_nanos().div_ceil(step).checked_mul(step) == Some(self.wait.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_rounded_up_to_the_digits_that_were_written() {
        let exact = Span::from_nanos(333_333_333_334);
        let met = |nanos: u64, precision: u64| {
            ExpectedWait { wait: Span::from_nanos(nanos), precision: Span::from_nanos(precision) }
                .is_met_by(exact)
        };
        assert!(met(333_334_000_000, 1_000_000), "333.334s");
        assert!(met(334_000_000_000, 1_000_000_000), "334s");
        assert!(met(333_333_333_334, 1), "333.333333334s");
        assert!(!met(333_333_000_000, 1_000_000), "333.333s would be too early");
        assert!(!met(335_000_000_000, 1_000_000_000), "335s");
    }
}
