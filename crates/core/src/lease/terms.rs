//! What the nodes and the ledger of a leased bucket agree on: the limit, how long a slice lives, and among how many.
//!
//! Any terms keep the promise. Whether a lease is worth it for a rule is another question: [`LeaseTerms::suits`].

use core::fmt;

use super::ledger_limit::micros_in;
use super::{LEDGER_BURST_MICROS_MAX, LedgerLimit, LedgerLimitError};
use crate::{Cost, Limit, Span, Tokens};

/// How long a slice lives unless somebody says otherwise: 400 ms. Half a round trip per life and node is what a cold bucket costs; what is
/// stranded by a crash comes back within two lives.
pub const LEASE_LIFE: Span = Span::from_millis(400);
/// The shortest life: below it a round trip is a good part of it.
pub const LEASE_LIFE_MIN: Span = Span::from_millis(40);
/// The longest life, one minute.
pub const LEASE_LIFE_MAX: Span = Span::from_secs(60);
/// The most nodes that share one bucket.
pub const LEASE_NODES_MAX: u32 = 10_000;

/// A slice lives so many parts in [`CLOCK_PARTS`] shorter on its node, whose clock may run that much slower than the store's.
const CLOCK_PARTS: u64 = 1_000;
/// Slices of a rule that suits are at least 25 checks: a burst holds two for each node, and a life mints four.
const SLICES_IN_BURST: u64 = 2;
const SLICES_IN_LIFE: u64 = 4;
const CHECKS_IN_SLICE: u64 = 25;

/// How many limits before the one in force are known.
pub const LEASE_PAST_MAX: usize = 4;

/// The terms of one leased rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTerms {
    limit: Limit,
    ledger: LedgerLimit,
    /// What was in force before it, newest first.
    past: [Option<LedgerLimit>; LEASE_PAST_MAX],
    /// µs.
    life: u64,
    nodes: u32,
    /// Micro-tokens that a slice may be given ahead of time: what is minted in a quarter of a life, within the deepest debt.
    ahead_max: u64,
    /// The largest slice while much is left, in micro-tokens.
    slice_max: u64,
    /// And while little is.
    scarce_slice_max: u64,
}

impl LeaseTerms {
    /// Terms for `nodes` nodes at most, and slices that live for `life`, rounded up to the microsecond.
    pub fn new(limit: &Limit, nodes: u32, life: Span) -> Result<LeaseTerms, LeaseTermsError> {
        if nodes == 0 || nodes > LEASE_NODES_MAX {
            return Err(LeaseTermsError::Nodes(nodes));
        }
        if life < LEASE_LIFE_MIN || life > LEASE_LIFE_MAX {
            return Err(LeaseTermsError::Life(life));
        }
        let (ledger, life) = (LedgerLimit::new(limit).map_err(LeaseTermsError::Ledger)?, micros_in(life));
        let of_burst = ledger.burst() / (SLICES_IN_BURST * u64::from(nodes));
        let ahead_max = ledger.minted(0, life / SLICES_IN_LIFE, ledger.debt_max());
        let of_life = ledger.minted(0, life, LEDGER_BURST_MICROS_MAX) / (SLICES_IN_LIFE * u64::from(nodes));
        let (slice_max, scarce_slice_max) = (of_burst, of_life.min(of_burst));
        let past = [None; LEASE_PAST_MAX];
        Ok(LeaseTerms { limit: *limit, ledger, past, life, nodes, ahead_max, slice_max, scarce_slice_max })
    }

    /// The terms after the limit was changed at `from` (µs of the store's clock): what was not minted until then is minted at the rates of that
    /// time. Of more than [`LEASE_PAST_MAX`] changes the oldest is forgotten: before it nothing was minted.
    ///
    /// A slice that is out when the limit is lowered may be spent until it ends, so a change is in force everywhere within a life. The life
    /// itself never changes: a ledger that counts in shorter ones would take slices back that nodes still spend.
    pub fn changed(&self, limit: &Limit, from: u64) -> Result<LeaseTerms, LeaseTermsError> {
        let next = LeaseTerms::new(limit, self.nodes, self.life())?;
        let from = from.max(self.ledger.from() + 1);
        let [newest, newer, older, _] = self.past;
        let past = [Some(self.ledger), newest, newer, older];
        Ok(LeaseTerms { ledger: next.ledger.after(&self.ledger, from), past, ..next })
    }

    /// The same terms, in force from `from` (µs of the store's clock) on; `fraction` is what had been minted by then beyond whole
    /// micro-tokens, in parts of the denominator.
    #[must_use]
    pub fn since(self, from: u64, fraction: u64) -> LeaseTerms {
        LeaseTerms { ledger: self.ledger.since(from, fraction), ..self }
    }

    /// Whether leasing serves checks of this cost well: at most one round trip in 20 checks, at least 97 % of the rate used. A rule that
    /// does not suit stays exact.
    pub fn suits(&self, cost: Cost) -> Result<(), Unsuited> {
        let slices = u128::from(cost.as_micros()) * u128::from(CHECKS_IN_SLICE) * u128::from(self.nodes);
        let (least_burst, least_minted) =
            (slices * u128::from(SLICES_IN_BURST), slices * u128::from(SLICES_IN_LIFE));
        let minted = self.limit.minted_in(self.life());
        if u128::from(self.ledger.burst()) < least_burst {
            return Err(Unsuited::BurstTooSmall { burst: self.limit.burst(), least: saturated(least_burst) });
        }
        if u128::from(minted.as_micros()) < least_minted {
            return Err(Unsuited::RateTooSlow { minted, life: self.life(), least: saturated(least_minted) });
        }
        Ok(())
    }

    /// The limit that all nodes keep together.
    pub const fn limit(&self) -> &Limit {
        &self.limit
    }

    /// The same as the ledger counts.
    pub const fn ledger(&self) -> &LedgerLimit {
        &self.ledger
    }

    /// What was in force before it, newest first.
    pub fn past(&self) -> impl DoubleEndedIterator<Item = &LedgerLimit> {
        self.past.iter().flatten()
    }

    /// How long the ledger counts a slice as held, at least.
    pub const fn life(&self) -> Span {
        Span::from_micros(self.life)
    }

    /// The same in microseconds: what the script is given.
    pub const fn life_micros(&self) -> u64 {
        self.life
    }

    /// What a slice may be given ahead of time, in micro-tokens: what the script is given.
    pub const fn ahead_max(&self) -> u64 {
        self.ahead_max
    }

    /// How long a node may spend a slice, from before it sent the ask, on its own clock.
    pub fn life_on_node(&self) -> Span {
        self.life() - Span::from_nanos(self.life().as_nanos().div_ceil(CLOCK_PARTS))
    }

    /// How long a node's clock must run to be sure that so much has passed on the store's.
    pub(super) const fn stretched(span: Span) -> Span {
        // y · (1 − 1/1000) ≥ span; and one for the nanosecond that reading the clock rounds away.
        let nanos = span.as_nanos();
        Span::from_nanos(nanos.saturating_add(nanos.div_ceil(CLOCK_PARTS - 1) + 1))
    }

    /// The largest slice that a node takes when `balance` was left to others. While less than half of the burst is left, all nodes' slices
    /// together are what may be given ahead of time, so that nobody is denied for another's reserves.
    pub(super) const fn slice_max(&self, balance: i64) -> u64 {
        if balance >= (self.ledger.burst() / 2).cast_signed() {
            self.slice_max
        } else {
            self.scarce_slice_max
        }
    }
}

fn saturated(micros: u128) -> Tokens {
    Tokens::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// Why there are no such terms. Each message names the field, the value and the cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseTermsError {
    /// The limit cannot be kept by a shared ledger.
    Ledger(LedgerLimitError),
    /// No node, or too many.
    Nodes(u32),
    /// Too short or too long.
    Life(Span),
}

impl fmt::Display for LeaseTermsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ledger(error) => error.fmt(f),
            Self::Nodes(nodes) => {
                write!(f, "`instances_max` is {nodes}; use 1 to {LEASE_NODES_MAX} for a leased rule")
            }
            Self::Life(life) => {
                write!(f, "`lease_life` is {life}; use {LEASE_LIFE_MIN} to {LEASE_LIFE_MAX}")
            }
        }
    }
}

impl core::error::Error for LeaseTermsError {}

/// Why a rule stays exact though it asks to be leased: what the lint says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsuited {
    /// `burst < 50 · nodes · cost`.
    BurstTooSmall {
        /// What it is.
        burst: Tokens,
        /// What it would have to be.
        least: Tokens,
    },
    /// `rate · life < 100 · nodes · cost`.
    RateTooSlow {
        /// What is minted in a life.
        minted: Tokens,
        /// How long that is.
        life: Span,
        /// What would have to be minted in it.
        least: Tokens,
    },
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BurstTooSmall { burst, least } => write!(
                f,
                "`burst` is {burst} tokens, too few to lease among so many instances, so the rule stays exact; use {least} or more, or \
                 `consistency: exact`"
            ),
            Self::RateTooSlow { minted, life, least } => write!(
                f,
                "`rate` mints {minted} tokens in {life}, too few to lease among so many instances, so the rule stays exact; use a rate that \
                 mints {least} or more, or `consistency: exact`"
            ),
        }
    }
}

impl core::error::Error for Unsuited {}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{Burst, Rate};
    use std::string::ToString;

    fn terms(per_second: u64, burst: u64, nodes: u32) -> LeaseTerms {
        LeaseTerms::new(
            &Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap(),
            nodes,
            LEASE_LIFE,
        )
        .unwrap()
    }

    #[test]
    fn a_rule_suits_from_fifty_checks_of_burst_and_a_hundred_per_life_and_node() {
        assert_eq!(terms(1_000, 200, 4).suits(Cost::ONE), Ok(()));
        assert_eq!(
            terms(1_000, 199, 4).suits(Cost::ONE).unwrap_err().to_string(),
            "`burst` is 199 tokens, too few to lease among so many instances, so the rule stays exact; use 200 or more, or `consistency: \
             exact`"
        );
        assert_eq!(
            terms(999, 200, 4).suits(Cost::ONE).unwrap_err().to_string(),
            "`rate` mints 399.6 tokens in 400ms, too few to lease among so many instances, so the rule stays exact; use a rate that mints \
             400 or more, or `consistency: exact`"
        );
        assert!(terms(1_000, 200, 4).suits(Cost::micros(u64::MAX)).is_err());
    }

    #[test]
    fn terms_that_make_no_sense_are_refused_with_field_value_and_cure() {
        let limit = Limit::new(Rate::per_second(1), Burst::tokens(1)).unwrap();
        let refusal = |nodes, life| LeaseTerms::new(&limit, nodes, life).unwrap_err().to_string();
        assert_eq!(refusal(0, LEASE_LIFE), "`instances_max` is 0; use 1 to 10000 for a leased rule");
        assert_eq!(refusal(1, Span::from_millis(39)), "`lease_life` is 39ms; use 40ms to 60s");
    }

    #[test]
    fn a_slice_ends_on_a_clock_that_is_one_part_in_a_thousand_slow_when_its_life_ends() {
        let terms = terms(1_000, 1_000, 4);
        assert_eq!(terms.life_on_node(), Span::from_micros(399_600));
        for nanos in [0, 1, 998, 999, 1_000, 90_000_000] {
            let stretched = LeaseTerms::stretched(Span::from_nanos(nanos)).as_nanos();
            assert!((stretched - 1) * 999 >= nanos * 1_000, "{nanos}: {stretched}");
        }
    }
}
