//! What the arithmetic refuses, said at the field that is to blame and in the words that were typed.

use tollgate_core::LimitError;

use super::found::Found;
use super::rate::TypedRate;
use super::tree::Place;

/// What a limit was made of, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Figures<'r> {
    pub(super) rate: Option<&'r TypedRate>,
    /// The burst, queue or quota.
    pub(super) amount: Option<(&'static str, Place)>,
    /// For what is neither.
    pub(super) head: Place,
}

/// The limit, or a mistake.
pub(super) fn sound<T>(limit: Result<T, LimitError>, figures: Figures<'_>, found: &mut Found) -> Option<T> {
    limit.map_err(|error| report(error, figures, found)).ok()
}

fn report(error: LimitError, figures: Figures<'_>, found: &mut Found) {
    let (rate_field, rate_text, rate_place) =
        figures.rate.map_or(("rate", "what the preset says", figures.head), |rate| {
            (rate.field, rate.text.as_str(), rate.place)
        });
    let (amount, amount_place) = figures.amount.unwrap_or(("burst", rate_place));
    let (place, what, cure) = match error {
        LimitError::ZeroRate => (
            rate_place,
            format!("`{rate_field}` is 0, so a bucket once spent never refills"),
            "write at least 1 per year; to refuse everything, use `action: block`",
        ),
        LimitError::RateTooFast(_) => (
            rate_place,
            format!("`{rate_field}` is {rate_text}, which is too fast to keep exactly"),
            "write at most 1000000000 (10^9) per second",
        ),
        LimitError::RateTooSlow(_) => (
            rate_place,
            format!("`{rate_field}` is {rate_text}, which is too slow to keep exactly"),
            "write at least 1 per year (`1/365d`)",
        ),
        LimitError::RateTooFine(_) => (
            rate_place,
            format!("`{rate_field}` is {rate_text}, a ratio too fine to keep exactly"),
            "round it, or say it per minute, hour or day, as in `rate: 5/h`",
        ),
        LimitError::TooLongToFull(_, burst) => (
            amount_place,
            format!("`{amount}` is {burst}, which takes more than 146 years to refill at {rate_text}"),
            "write a smaller one, or a higher rate",
        ),
        LimitError::QuotaTooLarge(quota) => (
            amount_place,
            format!(
                "`{amount}` is {quota}, and a sliding counter counts to {}",
                tollgate_core::COUNTER_TOKENS_MAX
            ),
            "count in larger units, or use `variant: log` or a token_bucket",
        ),
        // The rest can only be the fields' own values; the arithmetic's words fit them.
        other => {
            let told = other.to_string();
            let (what, cure) = told.split_once("; ").unwrap_or((&told, "write another value"));
            found.add(figures.head, what.replace("`burst`", &format!("`{amount}`")), cure);
            return;
        }
    };
    found.add(place, what, cure);
}
