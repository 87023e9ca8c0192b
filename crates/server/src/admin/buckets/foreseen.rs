//! What the trail says of an operation on a bucket: what it held when it was asked, and what it is to hold.
//!
//! The line is written before the operation is done, so that what is after it is foreseen. Whoever spends meanwhile is not in it, nor are the
//! buckets of other instances.

use tollgate::ledger::BucketLook;
use tollgate::{Algorithm, BucketError, Cost, NamedBuckets, Tokens};

/// Both, in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Foreseen {
    pub(super) before: String,
    pub(super) after: String,
}

impl Foreseen {
    /// Of the enforced bucket, or of the shadow where there is no other; `None` for tokens fills it. Refuses what the bucket would refuse:
    /// that is not to be written down as if it were done.
    pub(super) async fn of(buckets: &NamedBuckets, tokens: Option<Cost>) -> Result<Foreseen, BucketError> {
        let look = buckets.look(Cost::ONE).await?;
        if let Some(tokens) = tokens {
            buckets.can_grant(tokens)?;
        }
        Ok(Foreseen::from(&look, tokens))
    }

    fn from(look: &BucketLook, tokens: Option<Cost>) -> Foreseen {
        let (balance, full) = (look.balance, look.limit.full());
        let unit = if matches!(look.limit, Algorithm::Concurrency(_)) { "places" } else { "tokens" };
        let held = |balance: Tokens| format!("{balance} of {full} {unit}");
        let after = tokens.map(|tokens| {
            let sum = balance.as_micros().saturating_add(Tokens::from(tokens).as_micros());
            // One in debt is told to hold nothing, and repays first.
            let at_most = if balance == Tokens::ZERO { "at most " } else { "" };
            format!("+{tokens}: {at_most}{}", held(Tokens::from_micros(sum).min(full)))
        });
        Foreseen { before: held(balance), after: after.unwrap_or_else(|| held(full)) }
    }
}

#[cfg(test)]
mod tests {
    use tollgate::{Burst, Concurrency, Limit, Rate, Span, StoreMode};

    use super::*;

    fn look(limit: impl Into<Algorithm>, balance_micros: u64) -> BucketLook {
        let balance = Tokens::from_micros(balance_micros);
        let (next_admit, full_in) = (None, Span::ZERO);
        BucketLook { limit: limit.into(), balance, next_admit, full_in, mode: StoreMode::Exact }
    }

    #[track_caller]
    fn told(look: &BucketLook, tokens: Option<Cost>, before: &str, after: &str) {
        let expected = Foreseen { before: before.to_owned(), after: after.to_owned() };
        assert_eq!(Foreseen::from(look, tokens), expected);
    }

    #[test]
    fn a_line_has_what_a_bucket_held_and_what_it_is_to_hold() {
        let limit = Limit::new(Rate::per_second(1), Burst::tokens(10)).unwrap();
        let some = look(limit, 3_500_000);
        told(&some, None, "3.5 of 10 tokens", "10 of 10 tokens");
        told(&some, Some(Cost::tokens(2)), "3.5 of 10 tokens", "+2: 5.5 of 10 tokens");
        told(
            &some,
            Some(Cost::micros(u64::MAX)),
            "3.5 of 10 tokens",
            "+18446744073709.551615: 10 of 10 tokens",
        );
        told(&look(limit, 0), Some(Cost::tokens(2)), "0 of 10 tokens", "+2: at most 2 of 10 tokens");
        let places = look(Concurrency::new(4, Span::from_secs(1)).unwrap(), 1_000_000);
        told(&places, None, "1 of 4 places", "4 of 4 places");
    }
}
