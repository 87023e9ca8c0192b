//! What is noted of a check that was denied.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

use crate::Timestamp;

const MICROS_PER_TOKEN: i64 = 1_000_000;

/// A check that was denied, as the door that denied it tells it. All borrowed: most are only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation<'a> {
    /// The name of the rule that denied.
    pub rule: &'a str,
    /// The bucket's key, as people read it. Beyond [`KEY_BYTES_MAX`](crate::KEY_BYTES_MAX) it is cut.
    pub key: &'a str,
    /// Who asked, if known.
    pub user: Option<&'a str>,
    /// Where it came from, if known.
    pub address: Option<IpAddr>,
    /// What was asked for: a path without its query, as a rule.
    pub endpoint: Option<&'a str>,
    /// When, by the wall clock.
    pub at: Timestamp,
    /// What the bucket held; less than nothing where there was debt.
    pub tokens: MicroTokens,
    /// What was asked of it.
    pub cost: MicroTokens,
    /// Why it was denied, in a word: `rate_limited`.
    pub reason: &'a str,
    /// Which door denied it: `http`.
    pub door: &'a str,
}

/// Tokens in millionths. Shown as a decimal number: `-0.25`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MicroTokens(pub i64);

impl MicroTokens {
    /// So many whole tokens; the ends saturate.
    pub const fn whole(tokens: i64) -> MicroTokens {
        MicroTokens(tokens.saturating_mul(MICROS_PER_TOKEN))
    }
}

impl fmt::Display for MicroTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.unsigned_abs();
        let (whole, fraction) =
            (micros / MICROS_PER_TOKEN.unsigned_abs(), micros % MICROS_PER_TOKEN.unsigned_abs());
        let sign = if self.0 < 0 { "-" } else { "" };
        if fraction == 0 {
            return write!(f, "{sign}{whole}");
        }
        let fraction = format!("{fraction:06}");
        write!(f, "{sign}{whole}.{}", fraction.trim_end_matches('0'))
    }
}

impl Serialize for MicroTokens {
    /// A number. Beyond nine thousand million tokens its last digits are rounded.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % MICROS_PER_TOKEN == 0 {
            return serializer.serialize_i64(self.0 / MICROS_PER_TOKEN);
        }
        #[expect(clippy::cast_precision_loss, reason = "as documented")]
        serializer.serialize_f64(self.0 as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::MicroTokens;

    #[test]
    fn tokens_are_shown_as_decimal_numbers() {
        let shown = [
            (0, "0"),
            (1_500_000, "1.5"),
            (-250_000, "-0.25"),
            (1, "0.000001"),
            (-3_000_000, "-3"),
            (i64::MIN, "-9223372036854.775808"),
        ];
        for (micros, text) in shown {
            assert_eq!(MicroTokens(micros).to_string(), text);
        }
        assert_eq!(
            serde_json::to_string(&[MicroTokens(2_000_000), MicroTokens(-250_000)]).unwrap(),
            "[2,-0.25]"
        );
    }
}
