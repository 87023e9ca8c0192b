//! The small print of SVG: text that cannot break out of its element, and lengths without floats.

use std::fmt;
use std::ops::{Add, Sub};

/// A length in tenths of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tenths(i64);

impl Tenths {
    pub(super) const fn pixels(pixels: u64) -> Tenths {
        Tenths(pixels.cast_signed() * 10)
    }

    /// `part / whole` of this length, rounded to the nearest tenth.
    pub(super) fn share(self, part: u128, whole: u128) -> Tenths {
        let whole = whole.max(1);
        // Amounts are below 2^64 and lengths below 2^20.
        let length = u128::from(self.0.unsigned_abs());
        Tenths(i64::try_from((length * part + whole / 2) / whole).unwrap_or(i64::MAX))
    }
}

impl Add for Tenths {
    type Output = Tenths;

    fn add(self, other: Tenths) -> Tenths {
        Tenths(self.0 + other.0)
    }
}

impl Sub for Tenths {
    type Output = Tenths;

    fn sub(self, other: Tenths) -> Tenths {
        Tenths(self.0 - other.0)
    }
}

/// `12`, `12.5`, `-0.3`.
impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, tenths) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        match tenths % 10 {
            0 => write!(f, "{sign}{}", tenths / 10),
            rest => write!(f, "{sign}{}.{rest}", tenths / 10),
        }
    }
}

/// Text as it may stand between two tags or in quotes.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_at_most_one_place() {
        let shown = [0, 125, -3, 120, -125].map(|tenths| Tenths(tenths).to_string());
        assert_eq!(shown.join(" "), "0 12.5 -0.3 12 -12.5");
        assert_eq!(Tenths::pixels(100).share(1, 3), Tenths(333));
        assert_eq!(Tenths::pixels(250).share(u128::from(u64::MAX), u128::from(u64::MAX)), Tenths(2_500));
    }

    #[test]
    fn text_cannot_break_out() {
        assert_eq!(escaped("a < b && \"c\""), "a &lt; b &amp;&amp; &quot;c&quot;");
    }
}
