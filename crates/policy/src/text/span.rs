//! Lengths of time: `500ms`, `10s`, `5m`, `1h`, `1d`.

use tollgate_core::Span;

use super::decimal::Decimal;
use super::found::Found;
use super::tree::Node;

/// The units and their nanoseconds, longest first.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
];

/// Why a text is no length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotSpan {
    /// A number without a unit.
    NoUnit,
    /// Something else.
    Other,
    /// Longer than 584 years, or finer than a nanosecond.
    OutOfRange,
}

/// Nanoseconds of a unit.
pub(super) fn unit_nanos(unit: &str) -> Option<u64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, nanos)| *nanos)
}

/// The length of time that a text is, if it is one: a number and its unit, as in `500ms`, `10s`, `5m`, `1h` or `1d`.
pub fn span_of(text: &str) -> Option<Span> {
    parse(text).ok()
}

/// Reads a number and its unit.
pub(super) fn parse(text: &str) -> Result<Span, NotSpan> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(|| match Decimal::read(text) {
        Ok(_) => NotSpan::NoUnit,
        Err(_) => NotSpan::Other,
    })?;
    let (number, unit) = text.split_at(unit_at);
    let nanos = unit_nanos(unit).ok_or(NotSpan::Other)?;
    let number = Decimal::read(number.trim_end()).map_err(|_| NotSpan::Other)?;
    let nanos = number.times(nanos).and_then(|nanos| u64::try_from(nanos).ok());
    nanos.map(Span::from_nanos).ok_or(NotSpan::OutOfRange)
}

/// A length of time, or a mistake.
pub(super) fn read(node: &Node<'_>, field: &str, example: &str, found: &mut Found) -> Option<Span> {
    let text = node.scalar().filter(|_| !node.is_null());
    let parsed = text.map_or(Err(NotSpan::Other), parse);
    let cure = match (parsed, text) {
        (Ok(span), _) => return Some(span),
        (Err(NotSpan::NoUnit), Some(text)) => {
            format!("say the unit: `{text}s` if it is seconds, `{text}ms` if it is milliseconds")
        }
        (Err(NotSpan::OutOfRange), _) => "write at least a nanosecond and at most 146 years".to_owned(),
        _ => format!("write a number and its unit (`ms`, `s`, `m`, `h` or `d`), as in `{field}: {example}`"),
    };
    found.unfit(node, field, "a length of time", cure);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            ("10s", 10_000_000_000),
            ("5m", 300_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("1d", 86_400_000_000_000),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Span::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_says_why() {
        assert_eq!(parse("60"), Err(NotSpan::NoUnit));
        assert_eq!(parse("99999999d"), Err(NotSpan::OutOfRange));
        for text in ["", "s", "1 week", "1y", "-1s", "5M", "1h30m"] {
            assert_eq!(parse(text), Err(NotSpan::Other), "{text}");
        }
    }
}
