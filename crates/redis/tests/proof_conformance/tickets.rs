//! What was reserved and what is held, under the suite's tickets.

use tollgate_core::{Cost, Tokens};
use tollgate_redis::{Changed, Correction, KeyName, Receipt, SharedLimit};
use tollgate_sim::conformance::{RuleId, SettleFault, Settled, Settlement};

/// One bucket of a charge that was made.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) rule: RuleId,
    pub(crate) key: KeyName,
    /// The limit that it was charged under.
    pub(crate) limit: SharedLimit,
    pub(crate) cost: Cost,
    pub(crate) receipt: Receipt,
    /// Which charges these were.
    pub(crate) members: Vec<usize>,
}

/// An open reservation.
#[derive(Debug, Clone)]
pub(crate) struct Reserved {
    pub(crate) record: KeyName,
    pub(crate) estimates: Vec<Cost>,
    pub(crate) made: Vec<Made>,
}

impl Reserved {
    /// What every charge has truly cost.
    pub(crate) fn costs(&self, settlement: &Settlement) -> Result<Vec<Cost>, SettleFault> {
        let estimates = &self.estimates;
        match settlement {
            Settlement::Cancel => Ok(vec![Cost::micros(0); estimates.len()]),
            Settlement::Commit(_) if estimates.iter().any(|cost| *cost != estimates[0]) => {
                Err(SettleFault::CostsDiffer)
            }
            Settlement::Commit(cost) => Ok(vec![*cost; estimates.len()]),
            Settlement::CommitEach(costs) if costs.len() != estimates.len() => Err(SettleFault::WrongCount),
            Settlement::CommitEach(costs) => Ok(costs.clone()),
        }
    }

    /// What is to be corrected, by the limits of now.
    pub(crate) fn corrections(
        &self,
        costs: &[Cost],
        limit_now: impl Fn(RuleId) -> SharedLimit,
    ) -> Vec<Correction> {
        let correction = |made: &Made| Correction {
            key: made.key.clone(),
            limit: limit_now(made.rule),
            estimate: made.cost,
            actual: made.actual(costs),
            debt_max: limit_now(made.rule).full(),
        };
        self.made.iter().map(correction).collect()
    }

    /// What became of it, from what became of each bucket.
    pub(crate) fn settled(&self, costs: &[Cost], changed: &[Changed]) -> Settled {
        let over = |made: &Made| {
            let over = made.actual(costs).as_micros().saturating_sub(made.cost.as_micros());
            if made.limit.takes_places() { 0 } else { over }
        };
        let each = || {
            self.made.iter().zip(changed).map(|(made, changed)| {
                let over = over(made);
                // A counter takes whole steps; what is charged is no more than what was owed.
                let taken = changed.taken().min(Tokens::from_micros(over));
                (changed.given(), taken, Tokens::from_micros(over - taken.as_micros()))
            })
        };
        Settled {
            returned: each().map(|(returned, ..)| returned).min().unwrap_or(Tokens::ZERO),
            charged: each().map(|(_, charged, _)| charged).max().unwrap_or(Tokens::ZERO),
            forgiven: each().map(|(.., forgiven)| forgiven).max().unwrap_or(Tokens::ZERO),
        }
    }
}

impl Made {
    fn actual(&self, costs: &[Cost]) -> Cost {
        self.members.iter().fold(Cost::micros(0), |sum, member| sum.plus(costs[*member]))
    }
}
