//! Quotas per window of the calendar: `window: month`, `3 months`, `15m`; `utc_offset: +01:00`.

use tollgate_core::{Algorithm, Span, Window};

use super::did_you_mean;
use super::fields::Fields;
use super::found::Found;
use super::tree::Node;
use super::{limit, span};

const WORDS: [(&str, Window); 6] = [
    ("minute", Window::MINUTE),
    ("hour", Window::HOUR),
    ("day", Window::DAY),
    ("week", Window::WEEK),
    ("month", Window::MONTH),
    ("year", Window::YEAR),
];

/// Reads `quota`, `window` and `utc_offset`.
pub(super) fn read(fields: &mut Fields<'_, '_>, found: &mut Found) -> Option<Algorithm> {
    let quota = limit::quota(fields, "this fixed_window", found);
    let cure = "add how long a window is, as in `window: month` or `window: 15m`";
    let window = fields.need("window", "this fixed_window", cure, found).and_then(|node| window(node, found));
    let offset = fields.take("utc_offset").map(|node| offset(node, found));
    let (quota, mut window) = (quota?, window?);
    if let Some(offset) = offset {
        let (is_ahead, by) = offset?;
        window = if is_ahead { window.ahead_of_utc(by) } else { window.behind_utc(by) };
    }
    limit::fixed(quota, window, found)
}

fn window(node: &Node<'_>, found: &mut Found) -> Option<Window> {
    let text = node.scalar().unwrap_or_default();
    if let Some((_, window)) = WORDS.iter().find(|(word, _)| *word == text) {
        return Some(*window);
    }
    let months = text.strip_suffix(" months").and_then(|months| months.parse::<u32>().ok());
    let window = match (months, span::parse(text)) {
        (Some(months), _) => Window::months(months),
        (None, Ok(length)) => Window::every(length),
        (None, Err(_)) => {
            let words = WORDS.map(|(word, _)| word);
            let cure = match did_you_mean::nearest(text, words) {
                Some(word) => format!("did you mean `{word}`?"),
                None => format!(
                    "write {}, `3 months`, or a length of time such as `15m`",
                    did_you_mean::listed(&words)
                ),
            };
            found.unfit(node, "window", "a window of the calendar", cure);
            return None;
        }
    };
    if window.is_err() {
        let what = format!("`window` is {}", node.described());
        found.add(node.place, what, "write more than 0, and at most a century");
    }
    window.ok()
}

/// `+01:00`: whether clocks are ahead of UTC, and by how much.
fn offset(node: &Node<'_>, found: &mut Found) -> Option<(bool, Span)> {
    let text = node.scalar().unwrap_or_default();
    let parsed = parse_offset(text);
    if parsed.is_none() {
        found.unfit(
            node,
            "utc_offset",
            "an offset from UTC",
            "write hours and minutes with a sign, as in `utc_offset: \"+01:00\"`, at most 14 hours",
        );
    }
    parsed
}

fn parse_offset(text: &str) -> Option<(bool, Span)> {
    let (sign, rest) = text.split_at_checked(1)?;
    let is_ahead = match sign {
        "+" => true,
        "-" => false,
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let two = |text: &str| {
        (text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse::<u64>().ok())?
    };
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    let seconds = hours * 3_600 + minutes * 60;
    (minutes < 60 && seconds <= 14 * 3_600).then(|| (is_ahead, Span::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_hours_and_minutes() {
        assert_eq!(parse_offset("+01:00"), Some((true, Span::from_secs(3_600))));
        assert_eq!(parse_offset("-03:30"), Some((false, Span::from_secs(12_600))));
        for text in ["", "+", "01:00", "+1:00", "+01:60", "+15:00", "+01", "é1:00", "+é:00"] {
            assert_eq!(parse_offset(text), None, "{text}");
        }
    }
}
