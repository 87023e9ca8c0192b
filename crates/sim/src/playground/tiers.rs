//! One client before several limits at once: a request is charged to all of them, or to none.

use tollgate::{
    BuildError, Burst, Clock, Cost, ExplicitCharge, ExplicitVerdict, Limit, Limiter, Moment, Rate, Tokens,
};

/// Buckets that are told apart without ever being in each other's way.
const KEYS: usize = 64;

/// The limit of the limiter's own rule, which nobody asks.
const UNUSED: Limit = match Limit::new(Rate::per_second(1), Burst::tokens(1)) {
    Ok(limit) => limit,
    Err(_) => panic!("one token a second is a limit"),
};

/// A fresh limiter with a bucket for each tier, as of a user and of its organisation.
#[derive(Debug)]
pub struct TieredBooth {
    limiter: Limiter,
    /// Each bucket's name and limit.
    tiers: Vec<(String, Limit)>,
}

impl TieredBooth {
    /// All full, at [`Moment::default`]; at most [`tollgate::CHARGES_MAX`], or every check is invalid.
    pub fn new(limits: &[Limit]) -> Result<TieredBooth, BuildError> {
        let clock = Clock::manual(Moment::default());
        let builder = Limiter::builder().keys_max(1).explicit_keys_max(KEYS).clock(clock);
        let limiter = builder.build(UNUSED)?;
        let tiers = limits.iter().enumerate().map(|(at, limit)| (format!("tier:{at}"), *limit)).collect();
        Ok(TieredBooth { limiter, tiers })
    }

    /// Sends a request, which asks every bucket for its cost. Moments ascend.
    pub fn check_at(&self, cost: Cost, now: Moment) -> ExplicitVerdict {
        let explicit = self.limiter.explicit();
        let charge = |(key, limit): &(String, Limit)| explicit.charge(key.as_str(), limit, cost);
        let charges: Vec<ExplicitCharge> = self.tiers.iter().map(charge).collect();
        explicit.check_all_at(&charges, now)
    }

    /// What each bucket holds. Spends nothing.
    pub fn balances_at(&self, now: Moment) -> impl Iterator<Item = Tokens> {
        let explicit = self.limiter.explicit();
        let look = move |(key, limit): &(String, Limit)| {
            explicit.peek_at(key.as_str(), limit, Cost::micros(0), now).remaining
        };
        self.tiers.iter().map(look)
    }
}
