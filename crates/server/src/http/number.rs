//! Numbers of requests: exact, or refused with the field named.

use std::cell::RefCell;

use tollgate::{Burst, Cost, FloatError, Limit, Rate, Span, Tokens};

use super::problem::Problem;

/// Limits, by the bits of rate and burst.
type Lately = [Option<([u64; 2], Limit)>; REMEMBERED];

/// Limits that a thread remembers.
const REMEMBERED: usize = 16;

thread_local! {
    /// Limits that were worked out lately: reducing a rate to its lowest terms is dearer than a
    /// check, and callers repeat their limits.
    static LATELY: RefCell<Lately> = const { RefCell::new([None; REMEMBERED]) };
}

/// A limit.
pub(super) fn limit(rate: Option<f64>, burst: Option<f64>) -> Result<Limit, Problem> {
    let rate = rate.ok_or_else(|| missing("rate", "tokens per second, as in 10 or 0.5"))?;
    let burst = burst.ok_or_else(|| missing("burst", "how many tokens may be spent at once"))?;
    let bits = [rate.to_bits(), burst.to_bits()];
    // Any spreading will do: the place is only a guess of where to look. The high bits of small numbers differ.
    let mix = (bits[0] ^ bits[1].rotate_left(7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    let place = usize::try_from(mix).unwrap_or(0) % REMEMBERED;
    LATELY.with_borrow_mut(|lately| match lately.get_mut(place) {
        Some(Some((known, limit))) if *known == bits => Ok(*limit),
        slot => {
            let limit = worked_out(rate, burst)?;
            if let Some(slot) = slot {
                *slot = Some((bits, limit));
            }
            Ok(limit)
        }
    })
}

fn worked_out(rate: f64, burst: f64) -> Result<Limit, Problem> {
    let rate = Rate::try_from(rate).map_err(|error| Problem::field("rate", error.to_string()))?;
    let burst = Burst::try_from(burst).map_err(|error| Problem::field("burst", error.to_string()))?;
    Limit::new(rate, burst).map_err(|error| {
        let said = error.to_string();
        let field = if said.starts_with("`burst`") { "burst" } else { "rate" };
        Problem::field(field, said)
    })
}

/// A cost, 1 unless it is given.
pub(super) fn cost(cost: Option<f64>) -> Result<Cost, Problem> {
    match cost {
        None => Ok(Cost::ONE),
        Some(cost) => Cost::try_from(cost).map_err(|error| Problem::field("cost", error.to_string())),
    }
}

/// A true cost, which may be 0.
pub(crate) fn true_cost(field: &'static str, cost: f64) -> Result<Cost, Problem> {
    if cost == 0.0 {
        return Ok(Cost::micros(0));
    }
    Cost::try_from(cost).map_err(|error| Problem::field(field, FloatError { field, ..error }.to_string()))
}

/// A field that must be given.
pub(super) fn missing(field: &str, what: &str) -> Problem {
    Problem::field(field, format!("`{field}` is missing; give {what}"))
}

/// Longest time that a reservation may be open.
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// How long it may be unless it says so.
const TIMEOUT_MS_USUAL: u64 = 60_000;

/// How long a reservation may be open.
pub(super) fn timeout(ms: Option<u64>) -> Result<Span, Problem> {
    match ms.unwrap_or(TIMEOUT_MS_USUAL) {
        ms @ 1..=TIMEOUT_MS_MAX => Ok(Span::from_millis(ms)),
        ms => Err(Problem::field(
            "timeout_ms",
            format!("`timeout_ms` is {ms}; use a whole number from 1 to {TIMEOUT_MS_MAX} (24 h)"),
        )),
    }
}

/// Tokens as JSON has them: whole ones without a point.
pub(crate) fn tokens(tokens: Tokens) -> String {
    let (whole, micros) = (tokens.as_micros() / 1_000_000, tokens.as_micros() % 1_000_000);
    if micros == 0 {
        return whole.to_string();
    }
    format!("{whole}.{micros:06}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_was_asked_for() {
        for _ in 0..2 {
            for step in 1..200_u32 {
                let (rate, burst) = (f64::from(step) / 8.0, f64::from(step % 7 + 1));
                let found = limit(Some(rate), Some(burst)).map_err(|problem| problem.json());
                assert_eq!(
                    found,
                    worked_out(rate, burst).map_err(|problem| problem.json()),
                    "{rate} {burst}"
                );
            }
        }
        assert!(limit(Some(0.0), Some(1.0)).is_err() && limit(Some(0.0), Some(1.0)).is_err());
    }

    #[test]
    fn tokens_are_written_exactly() {
        for (micros, text) in [(0, "0"), (5_000_000, "5"), (1, "0.000001"), (2_500_000, "2.5")] {
            assert_eq!(tokens(Tokens::from_micros(micros)), text);
        }
    }
}
