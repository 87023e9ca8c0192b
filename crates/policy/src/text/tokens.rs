//! Amounts of tokens: exact to six decimals, more are a mistake.

use super::decimal;
use super::found::Found;
use super::tree::Node;

/// Micro-tokens in a token.
pub(super) const MICROS_PER_TOKEN: u64 = 1_000_000;

/// Micro-tokens, above 0, or a mistake.
pub(super) fn micros(node: &Node<'_>, field: &str, example: &str, found: &mut Found) -> Option<u64> {
    let number = decimal::number(node, field, example, found)?;
    let Some(micros) = number.times(MICROS_PER_TOKEN) else {
        let what = format!("`{field}` is {}, finer than a millionth of a token", node.described());
        found.add(node.place, what, "write at most six decimal places");
        return None;
    };
    if micros == 0 {
        let cure = match field {
            "burst" | "queue" | "quota" => "write 1 or more; to refuse everything, use `action: block`",
            "burst_capacity" => "write 1 or more; to switch the row off, set `is_active` to false",
            _ => "write a number above 0; for requests that cost nothing, use `action: allow`",
        };
        found.add(node.place, format!("`{field}` is 0"), cure);
        return None;
    }
    let fits = u64::try_from(micros).ok().filter(|micros| *micros <= 1_000_000_000_000 * MICROS_PER_TOKEN);
    if fits.is_none() {
        found.add(
            node.place,
            format!("`{field}` is {}, too many to count", node.described()),
            "write at most 1000000000000 (10^12)",
        );
    }
    fits
}
