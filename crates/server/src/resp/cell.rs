//! `CL.THROTTLE key max_burst count period [quantity]`: from arguments to an ask, and from an answer to redis-cell's five integers.
//!
//! Times are told as redis-cell tells them: cut to the millisecond, then rounded up to the second. It decides nothing.

use tollgate_core::{Cost, Span, Tokens};

use super::Limits;
use super::args::Args;
use super::cell_error::CellError;
use super::number::{self, parse};
use super::reply::integer;
use super::terms::{Numbers, RememberedTerms, unsigned};
use super::throttle::{Answer, Ask, Fallback};

/// The command, as it is looked for in a request.
pub(super) const NAME: &str = "CL.THROTTLE";
/// The longest five integers, in bytes: the head of an array, and each with its kind and line end.
pub(super) const ANSWER_BYTES_MAX: usize = 4 + 5 * (number::BYTES_MAX + 3);

const MICROS_PER_TOKEN: u64 = 1_000_000;
/// Micro-tokens times nanoseconds per token, in a millisecond.
const UNITS_PER_MILLI: u64 = MICROS_PER_TOKEN * 1_000_000;

/// What must be known of an ask to tell its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    /// Nanoseconds from one token to the next, rounded down.
    interval_nanos: u64,
}

/// Reads the arguments.
#[inline]
pub(super) fn read<'b>(
    args: &Args<'b, '_>,
    remembered: &mut RememberedTerms,
    limits: &Limits,
) -> Result<(Ask<'b>, Pending), CellError<'b>> {
    let (Some(key), Some(max_burst), Some(count), Some(period), 5 | 6) =
        (args.get(1), args.get(2), args.get(3), args.get(4), args.count())
    else {
        return Err(CellError::Usage);
    };
    let quantity = args.get(5);
    let parsed = (parse(max_burst), parse(count), parse(period), quantity.map_or(Some(1), parse));
    let (Some(max_burst), Some(count), Some(period), Some(quantity)) = parsed else {
        let mut texts = [Some(max_burst), Some(count), Some(period), quantity].into_iter().flatten();
        return Err(CellError::NotAnInteger(texts.find(|text| parse(text).is_none()).unwrap_or_default()));
    };
    let numbers = Numbers { max_burst, count, period };
    let terms = remembered.of(numbers)?;
    let quantity = unsigned("quantity", quantity)?;
    if key.is_empty() {
        return Err(CellError::EmptyKey);
    }
    if key.len() > limits.key_bytes_max {
        return Err(CellError::KeyTooLong { bytes: key.len(), bytes_max: limits.key_bytes_max });
    }
    let wanted = Cost::tokens(quantity);
    let is_never = terms.limit.never_admits(wanted);
    let cost = if is_never { Cost::micros(0) } else { wanted };
    let ask = Ask { key, limit: terms.limit, cost, is_peek: cost == Cost::micros(0), is_never };
    Ok((ask, Pending { interval_nanos: terms.interval_nanos }))
}

/// Appends the five integers: limited or not, limit, remaining, seconds to wait or −1, seconds until the bucket is full.
#[inline]
pub(super) fn write(ask: &Ask<'_>, pending: Pending, answer: Answer, output: &mut Vec<u8>) {
    let whole = ask.limit.burst();
    let burst = match answer.fallback {
        Some(Fallback { instances, .. }) => {
            Tokens::from_micros(whole.as_micros() / u64::from(instances.get()))
        }
        None => whole,
    };
    let remaining = answer.remaining.min(burst);
    let is_limited = ask.is_never || !answer.is_admitted;
    let retry_after = match answer.fallback {
        _ if !is_limited || ask.is_never => -1,
        Some(Fallback { wait, .. }) => wait.map_or(-1, whole_seconds),
        None => pending.seconds_to_mint(ask.cost.into(), remaining),
    };
    let reset_after = match answer.fallback {
        Some(Fallback { time_to_full, .. }) => whole_seconds(time_to_full),
        None => pending.seconds_to_mint(burst, remaining),
    };
    output.reserve(ANSWER_BYTES_MAX);
    output.extend_from_slice(if is_limited { b"*5\r\n:1\r\n" } else { b"*5\r\n:0\r\n" });
    integer(output, signed(burst.whole()));
    integer(output, signed(remaining.whole()));
    integer(output, retry_after);
    integer(output, reset_after);
}

/// Whole seconds as redis-cell tells them.
fn whole_seconds(span: Span) -> i64 {
    signed((span.as_nanos() / 1_000_000).div_ceil(1_000))
}

impl Pending {
    /// Seconds until a bucket that holds `remaining` holds `wanted`: 0 if that is within a millisecond.
    #[inline]
    fn seconds_to_mint(self, wanted: Tokens, remaining: Tokens) -> i64 {
        let missing = wanted.as_micros().saturating_sub(remaining.as_micros());
        // Balances are kept to the micro-token, so what is missing is known to one of them either way, and the larger is told.
        // But whole tokens are missing just after a charge, and then they are exact.
        let missing = if missing.is_multiple_of(MICROS_PER_TOKEN) { missing } else { missing + 1 };
        let millis = match missing.checked_mul(self.interval_nanos) {
            Some(units) => units / UNITS_PER_MILLI,
            None => {
                narrow(u128::from(missing) * u128::from(self.interval_nanos) / u128::from(UNITS_PER_MILLI))
            }
        };
        signed(millis.div_ceil(1_000))
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(interval_nanos: u64, missing_micros: u64) -> i64 {
        let pending = Pending { interval_nanos };
        pending.seconds_to_mint(Tokens::from_micros(missing_micros), Tokens::ZERO)
    }

    #[test]
    fn seconds_round_up_when_there_is_a_millisecond_part() {
        assert_eq!(seconds(2_000_000_000, 1_000_000), 2);
        assert_eq!(seconds(2_001_000_000, 1_000_000), 3);
        assert_eq!(seconds(2_000_999_999, 1_000_000), 2, "less than a millisecond is cut off");
        assert_eq!(seconds(1_000_000, 1_000_000), 1);
        assert_eq!(seconds(999_999, 1_000_000), 0);
        assert_eq!(seconds(333_333_333, 3_000_000), 1);
        assert_eq!(seconds(1_000_000_000, 0), 0);
    }

    #[test]
    fn the_slowest_rate_and_the_largest_burst_have_their_time_too() {
        assert_eq!(seconds(31_536_000_000_000_000, 146_000_000), 146 * 31_536_000);
        assert_eq!(seconds(1_000, 1_000_000_000_000_000_000), 1_000_000);
    }
}
