//! A number as a person types it: `10`, `0.5`.
//!
//! Held exactly as written, above 0, with at most [`DIGITS_MAX`] digits and [`PLACES_MAX`] places after the point.
//! Knows no unit; the flag that takes it does.

use std::fmt;
use std::str::FromStr;

/// Most digits, before and after the point together.
const DIGITS_MAX: usize = 15;
/// Most digits after the point.
const PLACES_MAX: usize = 9;

/// `digits / 10^places`; never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) digits: u64,
    pub(crate) places: u32,
}

impl Decimal {
    /// Whether it takes the singular.
    pub(crate) fn is_one(self) -> bool {
        self == Decimal { digits: 1, places: 0 }
    }

    /// How many `units` this number is, if it is a whole number of them: 1.5 of 1,000 is 1,500.
    pub(crate) fn of(self, units: u64) -> Option<u64> {
        let (product, divisor) = (self.digits.checked_mul(units)?, 10_u64.pow(self.places));
        (product % divisor == 0).then_some(product / divisor)
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Decimal, DecimalError> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) || whole.len() + fraction.len() == 0 {
            return Err(DecimalError::NotPlain);
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        if whole.is_empty() && fraction.is_empty() {
            return Err(DecimalError::Zero);
        }
        if unsigned != text {
            return Err(DecimalError::Negative);
        }
        if whole.len() + fraction.len() > DIGITS_MAX || fraction.len() > PLACES_MAX {
            return Err(DecimalError::TooFine);
        }
        let digits = format!("{whole}{fraction}").parse().map_err(|_| DecimalError::TooFine)?;
        let places = u32::try_from(fraction.len()).map_err(|_| DecimalError::TooFine)?;
        Ok(Decimal { digits, places })
    }
}

/// As it was typed, without idle zeros.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, places) = (10_u64.pow(self.places), self.places as usize);
        write!(f, "{}", self.digits / unit)?;
        if places == 0 { Ok(()) } else { write!(f, ".{:0places$}", self.digits % unit) }
    }
}

/// Why a text is no such number. The flag and the value are named by whoever reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecimalError {
    NotPlain,
    Zero,
    Negative,
    TooFine,
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPlain => {
                write!(f, "not a plain number; write digits with at most one point, as in 10 or 0.5")
            }
            Self::Zero => write!(f, "it must be above 0; use 1, or a fraction such as 0.5"),
            Self::Negative => write!(f, "it must be above 0; drop the minus sign"),
            Self::TooFine => {
                write!(f, "too many digits; use at most {DIGITS_MAX}, {PLACES_MAX} of them after the point")
            }
        }
    }
}

impl std::error::Error for DecimalError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_held_as_it_was_typed() {
        for (typed, shown) in
            [("10", "10"), ("0.5", "0.5"), (".25", "0.25"), ("007.50", "7.5"), ("1.001", "1.001")]
        {
            assert_eq!(typed.parse::<Decimal>().map(|number| number.to_string()), Ok(shown.to_owned()));
        }
    }

    #[test]
    fn whatever_is_no_amount_is_refused() {
        let refusal = |text: &str| text.parse::<Decimal>().unwrap_err();
        for text in ["", ".", "-", "1e3", "NaN", "inf", "1.2.3", "1,5", " 1", "+1", "١"] {
            assert_eq!(refusal(text), DecimalError::NotPlain, "{text:?}");
        }
        assert_eq!(refusal("0.000"), DecimalError::Zero);
        assert_eq!(refusal("-3"), DecimalError::Negative);
        assert_eq!(refusal("0.0000000001"), DecimalError::TooFine);
        assert_eq!(refusal("1234567890123456"), DecimalError::TooFine);
    }

    #[test]
    fn units_are_exact_or_refused() {
        let half = Decimal { digits: 5, places: 1 };
        assert_eq!(half.of(1_000), Some(500));
        assert_eq!(half.of(1), None);
        assert_eq!(Decimal { digits: u64::MAX, places: 0 }.of(2), None);
    }
}
