//! Reads a decimal number exactly: `0.003` is 3/1000, not the nearest binary fraction.

/// `digits / 10^scale`, exactly what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) digits: u128,
    pub(crate) scale: u32,
}

/// More places after the point than any rate needs (1 per year is 3.2·10^-8 per second).
pub(crate) const SCALE_MAX: u32 = 15;

impl Decimal {
    /// Reads plain digits with at most one point (`12`, `0.5`); no sign, no exponent, no spaces.
    /// `None` if it is anything else, has more than [`SCALE_MAX`] places, or does not fit.
    pub(crate) fn read(text: &str) -> Option<Decimal> {
        let (mut digits, mut scale, mut point, mut any) = (0_u128, 0, false, false);
        for byte in text.bytes() {
            match byte {
                b'.' if !point => point = true,
                b'0'..=b'9' => {
                    digits = digits.checked_mul(10)?.checked_add(u128::from(byte - b'0'))?;
                    scale += u32::from(point);
                    any = true;
                }
                _ => return None,
            }
        }
        while scale > 0 && digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        (any && scale <= SCALE_MAX).then_some(Decimal { digits, scale })
    }

    /// The value in millionths, if it is a whole number of them and fits.
    pub(crate) fn micros(self) -> Option<u128> {
        let places_left = 6_u32.checked_sub(self.scale)?;
        self.digits.checked_mul(10_u128.pow(places_left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_read_as_it_is_written() {
        assert_eq!(Decimal::read("0.003"), Some(Decimal { digits: 3, scale: 3 }));
        assert_eq!(Decimal::read("10.500"), Some(Decimal { digits: 105, scale: 1 }));
        assert_eq!(Decimal::read("1000"), Some(Decimal { digits: 1000, scale: 0 }));
        for bad in ["", ".", "1.2.3", "-1", "1e9", "NaN", " 1", "0.0000000000000000001"] {
            assert_eq!(Decimal::read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn micros_are_exact_or_refused() {
        assert_eq!(Decimal::read("0.5").and_then(Decimal::micros), Some(500_000));
        assert_eq!(Decimal::read("0.0000001").and_then(Decimal::micros), None);
    }
}
