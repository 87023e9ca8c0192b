//! Numbers of requests: exact, or refused with the field named.

use tollgate::{Burst, Cost, Limit, Rate, Span, Tokens};

use super::problem::Problem;

/// A limit.
pub(super) fn limit(rate: Option<f64>, burst: Option<f64>) -> Result<Limit, Problem> {
    let rate = rate.ok_or_else(|| missing("rate", "tokens per second, as in 10 or 0.5"))?;
    let burst = burst.ok_or_else(|| missing("burst", "how many tokens may be spent at once"))?;
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
pub(super) fn true_cost(field: &str, cost: f64) -> Result<Cost, Problem> {
    if cost == 0.0 {
        return Ok(Cost::micros(0));
    }
    Cost::try_from(cost).map_err(|error| Problem::field(field, error.to_string()))
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
pub(super) fn tokens(tokens: Tokens) -> String {
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
    fn tokens_are_written_exactly() {
        for (micros, text) in [(0, "0"), (5_000_000, "5"), (1, "0.000001"), (2_500_000, "2.5")] {
            assert_eq!(tokens(Tokens::from_micros(micros)), text);
        }
    }
}
