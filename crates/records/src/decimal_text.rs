//! Decimal numbers as text: one spelling for what both databases make of them.

/// Longest exponent that is written out.
const EXPONENT_MAX: i32 = 64;

/// The number without exponent, superfluous zeros and plus: `1.50` is `1.5`, `1.0e-05` is `0.00001`. `None` if it is none, or is negative.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || exponent.abs() > EXPONENT_MAX {
        return None;
    }
    // Where the point stands among the digits.
    let point = i32::try_from(whole.len()).ok()? + exponent;
    let before = usize::try_from(-point).unwrap_or(0);
    let digits = format!("{}{digits}", "0".repeat(before));
    let point = usize::try_from(point).unwrap_or(0);
    let digits = format!("{digits:0<point$}");
    let (whole, fraction) = digits.split_at(point);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn a_number_has_one_spelling() {
        let spellings = [
            ("10", "10"),
            ("10.0", "10"),
            ("+1.50", "1.5"),
            ("0.003", "0.003"),
            (".5", "0.5"),
            ("007", "7"),
            ("0", "0"),
            ("1.0e-05", "0.00001"),
            ("1.25e+3", "1250"),
            ("1e2", "100"),
            ("12.5E0", "12.5"),
            ("0.10", "0.1"),
        ];
        for (typed, spelt) in spellings {
            assert_eq!(canonical(typed).as_deref(), Some(spelt), "{typed}");
        }
    }

    #[test]
    fn what_is_no_number_has_none() {
        for typed in ["", ".", "-1", "1,5", "ten", "1e", "1e999", "NaN", "Infinity", "1 0", "0x10"] {
            assert_eq!(canonical(typed), None, "{typed}");
        }
    }
}
