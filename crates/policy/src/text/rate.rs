//! Rates: `10/s`, `600/m`, `5/h`, `1/d`, `100/15m`, or a bare number of tokens per second. Exact: `0.003/s` is 3 in 1000 s.

use tollgate_core::{Rate, Span};

use super::decimal::{Decimal, NotDecimal};
use super::found::Found;
use super::span;
use super::tree::{Kind, Node, Place, cut};

/// A rate as it was typed, for the messages about it.
#[derive(Debug, Clone)]
pub(super) struct TypedRate {
    pub(super) rate: Rate,
    /// The field's name and what it held.
    pub(super) field: &'static str,
    pub(super) text: String,
    pub(super) place: Place,
}

const SECOND: u64 = 1_000_000_000;

/// Reads a rate, or adds a mistake. A field named for seconds takes no other unit.
pub(super) fn read(node: &Node<'_>, field: &'static str, found: &mut Found) -> Option<TypedRate> {
    let Some(text) = node.scalar().filter(|_| !node.is_null()) else {
        found.unfit(
            node,
            field,
            "a rate",
            "write tokens per second, as in `rate: 10`, or with a unit, as in `rate: 600/m`",
        );
        return None;
    };
    let typed = |rate| TypedRate { rate, field, text: cut(text), place: node.place };
    if let Some((number, per)) = text.split_once('/') {
        if field != "rate" {
            let cure = format!("write `rate: {}`, or only the number of tokens per second", cut(text));
            found.add(node.place, format!("`{field}` is {}, with a unit of its own", node.described()), cure);
            return None;
        }
        let period = per_nanos(per.trim());
        let number = Decimal::read(number.trim());
        let (Ok(number), Some(period)) = (number, period) else {
            found.unfit(node, field, "a rate", cure(text));
            return None;
        };
        return ratio(number, period).map(typed).or_else(|| too_fine(node, field, found));
    }
    if matches!(node.kind, Kind::Quoted(_)) && Decimal::read(text).is_ok() {
        found.unfit(node, field, "a number", "write the number without quotes, or with a unit as in `10/s`");
        return None;
    }
    match Decimal::read(text) {
        Ok(number) => ratio(number, SECOND).map(typed).or_else(|| too_fine(node, field, found)),
        Err(NotDecimal::Negative) => {
            found.add(
                node.place,
                format!("`{field}` is {}, which is below 0", cut(text)),
                "write a number above 0",
            );
            None
        }
        Err(NotDecimal::TooLong) => too_fine(node, field, found),
        Err(NotDecimal::Other) => {
            found.unfit(node, field, "a rate", cure(text));
            None
        }
    }
}

/// Whether a text is a rate above 0, with a unit or without: `10`, `600/m`, `100/15m`.
pub fn is_rate(text: &str) -> bool {
    rate_of(text).is_some()
}

/// The rate that a text is, if it is one above 0: with a unit or without, as in `10`, `600/m`, `100/15m`.
pub fn rate_of(text: &str) -> Option<Rate> {
    let (number, per) = text.split_once('/').unwrap_or((text, "s"));
    let number = Decimal::read(number.trim()).ok().filter(|number| number.digits > 0)?;
    ratio(number, per_nanos(per.trim())?)
}

fn too_fine(node: &Node<'_>, field: &str, found: &mut Found) -> Option<TypedRate> {
    let what = format!("`{field}` is {}, with more digits than can be kept exactly", node.described());
    found.add(node.place, what, "round it, or say it per minute, hour or day, as in `rate: 5/h`");
    None
}

/// `digits / 10^scale` tokens in so many nanoseconds; `None` where no whole terms fit.
fn ratio(number: Decimal, period: u64) -> Option<Rate> {
    let nanos = 10_u128.checked_pow(number.scale)?.checked_mul(u128::from(period))?;
    let terms = |tokens: u128, nanos: u128| {
        let (tokens, nanos) = (u64::try_from(tokens).ok()?, u64::try_from(nanos).ok()?);
        Some(Rate::new(tokens, Span::from_nanos(nanos)))
    };
    let shared = greatest_divisor(number.digits, nanos);
    terms(number.digits, nanos).or_else(|| terms(number.digits / shared, nanos / shared))
}

fn greatest_divisor(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// Nanoseconds of what stands behind the slash: a unit, or a length of time.
fn per_nanos(per: &str) -> Option<u64> {
    let nanos = span::unit_nanos(per).or_else(|| span::parse(per).ok().map(Span::as_nanos));
    nanos.filter(|nanos| *nanos > 0)
}

/// What to write instead of a rate in other words.
fn cure(text: &str) -> String {
    let flat = text.to_ascii_lowercase().replace(" per ", "/").replace([' ', '_'], "");
    let (number, unit) = flat.split_once('/').unwrap_or((&flat, "s"));
    let number = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match unit {
        _ if unit.starts_with("sec") || unit == "s" => Some("s"),
        _ if unit.starts_with("min") || unit == "m" => Some("m"),
        _ if unit.starts_with('h') => Some("h"),
        _ if unit.starts_with('d') => Some("d"),
        _ => None,
    };
    match (Decimal::read(number), unit) {
        (Ok(_), Some(unit)) => format!("write `{number}/{unit}`"),
        _ => "write tokens per second, as in `rate: 10`, or with a unit, as in `10/s`, `600/m`, `5/h`, `1/d` or `100/15m`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_rate(text: &str) -> Option<Rate> {
        let place = Place { start: 0, end: 0, line: 1 };
        let node = Node { place, kind: Kind::Plain(text.into()) };
        read(&node, "rate", &mut Found::default()).map(|typed| typed.rate)
    }

    #[test]
    fn a_rate_is_the_ratio_that_was_typed() {
        assert_eq!(read_rate("0.003"), Some(Rate::new(3, Span::from_secs(1_000))));
        assert_eq!(read_rate("0.003/s"), Some(Rate::new(3, Span::from_secs(1_000))));
        assert_eq!(read_rate("10/s"), Some(Rate::per_second(10)));
        assert_eq!(read_rate("600/m"), Some(Rate::per_minute(600)));
        assert_eq!(read_rate("5/h"), Some(Rate::per_hour(5)));
        assert_eq!(read_rate("1/d"), Some(Rate::per_day(1)));
        assert_eq!(read_rate("100 / 15m"), Some(Rate::new(100, Span::from_secs(900))));
        assert_eq!(read_rate("1/365d"), Some(Rate::per_year(1)));
    }

    #[test]
    fn a_text_alone_is_the_same_rate_or_none() {
        for text in ["0.003", "10/s", "600/m", "100 / 15m"] {
            assert_eq!(rate_of(text), read_rate(text), "{text}");
        }
        for text in ["", "0", "0/s", "-1/s", "10/", "/s", "10/0s", "10/second", "NaN", "inf", "1e999/s"] {
            assert_eq!(rate_of(text), None, "{text}");
        }
    }

    #[test]
    fn other_spellings_are_answered_with_ours() {
        for (typed, cured) in [
            ("10/second", "write `10/s`"),
            ("10 per minute", "write `10/m`"),
            ("5r/s", "write `5/s`"),
            ("10rps", "write `10/s`"),
        ] {
            assert_eq!(cure(typed), cured);
            assert_eq!(read_rate(typed), None);
        }
    }
}
