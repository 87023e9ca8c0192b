//! Rates, bursts and costs from floating-point input, such as a parsed configuration.
//!
//! A float means the shortest decimal that prints as it: `0.1` is exactly one tenth. Every conversion is exact or
//! refused. This is the only file of the crate in which a float appears; no decision is ever computed in one.

use core::fmt::{self, Write};

use crate::decimal::Decimal;
use crate::{Burst, Cost, Rate, Span};

/// Why a float is no rate, burst or cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloatError {
    /// The field it was meant for: `rate`, `burst` or `cost`.
    pub field: &'static str,
    /// What was given.
    pub value: f64,
    /// What is wrong with it.
    pub fault: FloatFault,
}

/// What can be wrong with a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatFault {
    /// NaN.
    NotANumber,
    /// Infinite.
    Infinite,
    /// Zero.
    Zero,
    /// Below zero.
    Negative,
    /// More digits than can be held exactly (a burst or cost finer than a micro-token, for instance).
    TooFine,
    /// Beyond every limit this crate can hold.
    TooLarge,
}

impl fmt::Display for FloatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, value, fault } = self;
        match fault {
            FloatFault::NotANumber => write!(f, "`{field}` is not a number (NaN); give a number above 0"),
            FloatFault::Infinite => write!(f, "`{field}` is infinite; give a number, or leave the limit out"),
            FloatFault::Zero => write!(f, "`{field}` is 0; give a number above 0"),
            FloatFault::Negative => {
                write!(f, "`{field}` is {value}, which is below 0; give a number above 0")
            }
            FloatFault::TooFine if *field == "rate" => {
                write!(
                    f,
                    "`{field}` is {value}, with more than 15 decimal places; round it, or use `Rate::new` with a longer period"
                )
            }
            FloatFault::TooFine => {
                write!(
                    f,
                    "`{field}` is {value}, finer than one micro-token (0.000001); round it to six decimal places"
                )
            }
            FloatFault::TooLarge => {
                write!(f, "`{field}` is {value}, more than can be counted; use at most 1000000000000")
            }
        }
    }
}

impl core::error::Error for FloatError {}

/// Tokens per second.
impl TryFrom<f64> for Rate {
    type Error = FloatError;
    fn try_from(per_second: f64) -> Result<Rate, FloatError> {
        let Decimal { digits, scale } = exactly("rate", per_second)?;
        Rate::ratio(digits, 10_u128.pow(scale), Span::from_secs(1)).ok_or(FloatError {
            field: "rate",
            value: per_second,
            fault: FloatFault::TooLarge,
        })
    }
}

/// Tokens.
impl TryFrom<f64> for Burst {
    type Error = FloatError;
    fn try_from(tokens: f64) -> Result<Burst, FloatError> {
        micros("burst", tokens).map(Burst::micros)
    }
}

/// Tokens.
impl TryFrom<f64> for Cost {
    type Error = FloatError;
    fn try_from(tokens: f64) -> Result<Cost, FloatError> {
        micros("cost", tokens).map(Cost::micros)
    }
}

/// `tokens` as a whole number of micro-tokens.
fn micros(field: &'static str, tokens: f64) -> Result<u64, FloatError> {
    let refuse = |fault| FloatError { field, value: tokens, fault };
    let decimal = exactly(field, tokens)?;
    if decimal.scale > 6 {
        return Err(refuse(FloatFault::TooFine));
    }
    decimal.micros().and_then(|m| u64::try_from(m).ok()).ok_or(refuse(FloatFault::TooLarge))
}

/// The shortest decimal that prints as `value`, which must be above 0.
fn exactly(field: &'static str, value: f64) -> Result<Decimal, FloatError> {
    let refuse = |fault| Err(FloatError { field, value, fault });
    if value.is_nan() {
        return refuse(FloatFault::NotANumber);
    }
    if value < 0.0 {
        return refuse(FloatFault::Negative);
    }
    if value.is_infinite() {
        return refuse(FloatFault::Infinite);
    }
    if value == 0.0 {
        return refuse(FloatFault::Zero);
    }
    let mut text = Text { bytes: [0; TEXT_BYTES_MAX], len: 0 };
    // Display never uses an exponent, so what overflows the buffer is huge, or tiny with endless zeros.
    if write!(text, "{value}").is_err() {
        return refuse(if value >= 1.0 { FloatFault::TooLarge } else { FloatFault::TooFine });
    }
    Decimal::read(text.as_str()).map_or_else(|| refuse(FloatFault::TooFine), Ok)
}

/// Longest decimal worth reading: 20 digits before the point and [`crate::decimal::SCALE_MAX`] after it.
const TEXT_BYTES_MAX: usize = 40;

/// A string on the stack.
struct Text {
    bytes: [u8; TEXT_BYTES_MAX],
    len: usize,
}

impl Text {
    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let end = self.len + s.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(s.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{Limit, LimitError};
    use std::string::ToString;

    #[test]
    fn a_float_means_the_decimal_it_prints_as() -> Result<(), LimitError> {
        let typed = Limit::new(Rate::try_from(0.003).unwrap(), Burst::try_from(2.5).unwrap())?;
        assert_eq!(typed, Limit::new(Rate::new(3, Span::from_secs(1_000)), Burst::micros(2_500_000))?);
        assert_eq!(Cost::try_from(0.1), Ok(Cost::micros(100_000)));
        Ok(())
    }

    #[test]
    fn every_float_that_is_no_amount_is_refused_with_field_value_and_cure() {
        let said = |value: f64| Cost::try_from(value).unwrap_err().to_string();
        assert_eq!(said(f64::NAN), "`cost` is not a number (NaN); give a number above 0");
        assert_eq!(said(f64::INFINITY), "`cost` is infinite; give a number, or leave the limit out");
        assert_eq!(said(f64::NEG_INFINITY), "`cost` is -inf, which is below 0; give a number above 0");
        assert_eq!(said(-3.0), "`cost` is -3, which is below 0; give a number above 0");
        assert_eq!(said(-0.0), "`cost` is 0; give a number above 0");
        assert_eq!(
            said(0.000_000_1),
            "`cost` is 0.0000001, finer than one micro-token (0.000001); round it to six decimal places"
        );
        assert_eq!(
            said(1e15),
            "`cost` is 1000000000000000, more than can be counted; use at most 1000000000000"
        );
        assert_eq!(
            Rate::try_from(1e-300).unwrap_err().fault,
            FloatFault::TooFine,
            "a tiny rate does not become 0"
        );
        assert_eq!(Rate::try_from(1e300).unwrap_err().fault, FloatFault::TooLarge);
    }
}
