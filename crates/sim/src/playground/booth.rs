//! One client before one limit: a limiter on which nothing has happened, in virtual time.

use tollgate::{Algorithm, BuildError, Clock, Cost, Limiter, Moment, Tokens, Verdict};

/// The client that sends the requests.
pub const CLIENT: &str = "user:42";

/// A fresh limiter for one client. It begins at 1970-01-01T00:00Z, to which windows of the calendar align.
#[derive(Debug)]
pub struct Booth {
    limiter: Limiter,
    /// What is asked for to see what is held: a token, or all that there ever is. No algorithm rounds it.
    glance: Cost,
}

impl Booth {
    /// Full, at [`Moment::default`].
    pub fn new(limit: impl Into<Algorithm>) -> Result<Booth, BuildError> {
        let limit = limit.into();
        let clock = Clock::manual(Moment::default());
        let limiter = Limiter::builder().keys_max(1).explicit_keys_max(1).clock(clock).build(limit)?;
        let glance = Cost::ONE.min(Cost::micros(limit.full().as_micros()));
        Ok(Booth { limiter, glance })
    }

    /// Sends a request. Moments ascend.
    pub fn check_at(&self, cost: Cost, now: Moment) -> Verdict {
        self.limiter.check_at(CLIENT, cost, now)
    }

    /// What the bucket holds, or what is left of the quota or free in the queue. Spends nothing.
    pub fn balance_at(&self, now: Moment) -> Tokens {
        match self.limiter.default_rule().peek_at(CLIENT, self.glance, now) {
            // A peek tells what would be left once that was spent.
            Verdict::Admit { remaining, .. } => {
                Tokens::from_micros(remaining.as_micros() + self.glance.as_micros())
            }
            verdict => verdict.remaining().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate::{Burst, FixedWindow, LeakyBucket, Limit, Rate, SlidingCounter, SlidingLog, Span, Window};

    use super::*;

    #[test]
    fn the_balance_is_exact_for_every_algorithm_however_small_the_limit() {
        let (rate, window) = (Rate::per_second(1), Span::from_secs(60));
        for full in [3, 200_000, 1_000_000, 2_500_000, 50_000_000] {
            let burst = Burst::micros(full);
            let limits: [Algorithm; 5] = [
                Limit::new(rate, burst).unwrap().into(),
                LeakyBucket::new(rate, burst).unwrap().into(),
                SlidingCounter::new(burst, window).unwrap().into(),
                SlidingLog::new(burst, window).unwrap().into(),
                FixedWindow::new(burst, Window::every(window).unwrap()).unwrap().into(),
            ];
            for limit in limits {
                let (booth, now) = (Booth::new(limit).unwrap(), Moment::from_nanos(500));
                assert_eq!(booth.balance_at(now), Tokens::from_micros(full), "{limit:?}");
                let spent = (full / 5).max(1);
                assert!(booth.check_at(Cost::micros(spent), now).is_admitted(), "{limit:?}");
                assert_eq!(booth.balance_at(now), Tokens::from_micros(full - spent), "{limit:?}");
                assert_eq!(booth.balance_at(now), Tokens::from_micros(full - spent), "a look spends nothing");
            }
        }
    }
}
