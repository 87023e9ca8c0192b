//! Numbers as they are typed: decimals, read exactly. `0.003` is 3/1000, never a float.

use super::found::Found;
use super::tree::{Kind, Node, cut};

/// `digits / 10^scale`, in lowest terms of ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) digits: u128,
    pub(super) scale: u32,
}

/// Why a text is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotDecimal {
    /// Something else.
    Other,
    /// Below zero.
    Negative,
    /// More digits than anything here needs.
    TooLong,
}

/// Most places after the point, and the largest exponent.
const SCALE_MAX: u32 = 24;

impl Decimal {
    /// Reads `12`, `0.5`, `1e3`.
    pub(super) fn read(text: &str) -> Result<Decimal, NotDecimal> {
        if let Some(rest) = text.strip_prefix('-') {
            return Err(Decimal::read(rest).map_or(NotDecimal::Other, |_| NotDecimal::Negative));
        }
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().map_err(|_| NotDecimal::Other)?),
            None => (text, 0),
        };
        let (whole, places) = number.split_once('.').unwrap_or((number, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(places) || number.ends_with('.') {
            return Err(NotDecimal::Other);
        }
        let mut digits = 0_u128;
        for byte in whole.bytes().chain(places.bytes()) {
            let shifted = digits.checked_mul(10).and_then(|d| d.checked_add(u128::from(byte - b'0')));
            digits = shifted.ok_or(NotDecimal::TooLong)?;
        }
        let mut scale = i64::try_from(places.len()).unwrap_or(i64::MAX).saturating_sub(i64::from(exponent));
        while digits.is_multiple_of(10) && scale > 0 && digits != 0 {
            digits /= 10;
            scale -= 1;
        }
        if digits == 0 {
            return Ok(Decimal { digits: 0, scale: 0 });
        }
        while scale < 0 {
            digits = digits.checked_mul(10).ok_or(NotDecimal::TooLong)?;
            scale += 1;
        }
        match u32::try_from(scale) {
            Ok(scale) if scale <= SCALE_MAX => Ok(Decimal { digits, scale }),
            _ => Err(NotDecimal::TooLong),
        }
    }

    /// So many of a unit that has `parts` parts (a power of ten times something), if it is a whole number of parts.
    pub(super) fn times(self, parts: u64) -> Option<u128> {
        let product = self.digits.checked_mul(u128::from(parts))?;
        let unit = 10_u128.checked_pow(self.scale)?;
        (product % unit == 0).then_some(product / unit)
    }

    /// The number, if it is a whole one that fits.
    pub(super) fn whole(self) -> Option<u64> {
        self.times(1).and_then(|whole| u64::try_from(whole).ok())
    }
}

/// The number that a field holds, or a mistake. `example` is one that would do.
pub(super) fn number(node: &Node<'_>, field: &str, example: &str, found: &mut Found) -> Option<Decimal> {
    let Kind::Plain(text) = &node.kind else {
        let cure = match node.scalar().map(Decimal::read) {
            Some(Ok(_)) => "write the number without quotes".to_owned(),
            _ => format!("write a number, as in `{field}: {example}`"),
        };
        found.unfit(node, field, "a number", cure);
        return None;
    };
    match Decimal::read(text) {
        Ok(number) => Some(number),
        Err(NotDecimal::Negative) => {
            found.add(
                node.place,
                format!("`{field}` is {}, which is below 0", cut(text)),
                format!("write a number above 0, as in `{field}: {example}`"),
            );
            None
        }
        Err(NotDecimal::TooLong) => {
            found.add(
                node.place,
                format!("`{field}` is {}, with more digits than can be kept", cut(text)),
                "write fewer digits",
            );
            None
        }
        Err(NotDecimal::Other) => {
            let plain = text.replace(['_', ',', '\''], "");
            let cure = match Decimal::read(&plain) {
                Ok(_) => format!("write the digits alone: `{plain}`"),
                Err(_) => format!("write a number, as in `{field}: {example}`"),
            };
            found.unfit(node, field, "a number", cure);
            None
        }
    }
}

/// A whole number between two others, or a mistake.
pub(super) fn whole(node: &Node<'_>, field: &str, least: u64, most: u64, found: &mut Found) -> Option<u64> {
    let whole =
        if is_negative(node) { None } else { number(node, field, &least.max(1).to_string(), found)?.whole() };
    let whole = whole.filter(|whole| (least..=most).contains(whole));
    if whole.is_none() {
        let what = format!("`{field}` is {}, not a whole number from {least} to {most}", node.described());
        found.add(node.place, what, format!("write a whole number from {least} to {most}"));
    }
    whole
}

/// A percentage, `25` or `25%`, or a mistake.
pub(super) fn percent(node: &Node<'_>, field: &str, found: &mut Found) -> Option<u8> {
    let percent = match node.scalar().and_then(|text| text.strip_suffix('%')) {
        Some(digits) => Decimal::read(digits.trim_end()).ok().and_then(Decimal::whole),
        None if is_negative(node) => None,
        None => number(node, field, "25", found)?.whole(),
    };
    let percent = percent.and_then(|percent| u8::try_from(percent).ok()).filter(|percent| *percent <= 100);
    if percent.is_none() {
        let what = format!("`{field}` is {}, no percentage", node.described());
        found.add(node.place, what, "write a whole number of percent from 0 to 100");
    }
    percent
}

/// Whether it is a number below 0: for fields that name the numbers they take themselves, of which 0 may be one.
fn is_negative(node: &Node<'_>) -> bool {
    matches!(&node.kind, Kind::Plain(text) if Decimal::read(text) == Err(NotDecimal::Negative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_read_as_it_is_typed() {
        for (text, digits, scale) in [
            ("0.003", 3, 3),
            ("10.500", 105, 1),
            ("1e3", 1_000, 0),
            ("15e-1", 15, 1),
            ("0", 0, 0),
            ("0.000", 0, 0),
        ] {
            assert_eq!(Decimal::read(text), Ok(Decimal { digits, scale }), "{text}");
        }
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for text in [
            "", ".", "1.", ".5", "1.2.3", "NaN", "inf", ".inf", "0x10", "1_000", "e5", "1e", "--1", "+1",
            " 1", "١",
        ] {
            assert_eq!(Decimal::read(text), Err(NotDecimal::Other), "{text}");
        }
        assert_eq!(Decimal::read("-0.5"), Err(NotDecimal::Negative));
        assert_eq!(Decimal::read(&"9".repeat(100)), Err(NotDecimal::TooLong));
        assert_eq!(Decimal::read("1e2147483647"), Err(NotDecimal::TooLong));
        assert_eq!(Decimal::read("1e-2147483648"), Err(NotDecimal::TooLong));
    }
}
