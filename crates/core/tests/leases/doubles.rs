//! A number as a script has it: a double that is whole and below 2^53. Anything else is a mistake in the specification.

use std::ops::{Add, Mul, Sub};

/// Below this every whole number is a double.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// One number of a script.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(crate) struct Double(f64);

pub(crate) const ZERO: Double = Double(0.0);
pub(crate) const ONE: Double = Double(1.0);

impl Double {
    #[track_caller]
    fn exact(value: f64) -> Double {
        assert!(value.abs() < EXACT_MAX, "{value} is not exact");
        assert!(value.fract() == 0.0, "{value} is not whole");
        Double(value)
    }

    #[track_caller]
    pub(crate) fn of(value: u64) -> Double {
        Double::exact(value as f64)
    }

    #[track_caller]
    pub(crate) fn signed(value: i64) -> Double {
        Double::exact(value as f64)
    }

    pub(crate) fn as_u64(self) -> u64 {
        assert!(self.0 >= 0.0, "{self:?}");
        self.0 as u64
    }

    pub(crate) fn as_i64(self) -> i64 {
        self.0 as i64
    }

    /// `math.fmod`.
    #[track_caller]
    pub(crate) fn fmod(self, by: Double) -> Double {
        Double::exact(self.0 % by.0)
    }

    /// `(a - math.fmod(a, b)) / b`.
    #[track_caller]
    pub(crate) fn div(self, by: Double) -> Double {
        Double::exact((self - self.fmod(by)).0 / by.0)
    }

    pub(crate) fn min(self, other: Double) -> Double {
        if other < self { other } else { self }
    }

    pub(crate) fn max(self, other: Double) -> Double {
        if other > self { other } else { self }
    }
}

impl Add for Double {
    type Output = Double;
    #[track_caller]
    fn add(self, other: Double) -> Double {
        Double::exact(self.0 + other.0)
    }
}

impl Sub for Double {
    type Output = Double;
    #[track_caller]
    fn sub(self, other: Double) -> Double {
        Double::exact(self.0 - other.0)
    }
}

impl Mul for Double {
    type Output = Double;
    #[track_caller]
    fn mul(self, other: Double) -> Double {
        Double::exact(self.0 * other.0)
    }
}
