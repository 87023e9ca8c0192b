//! What a shared store said of a bucket when it denied: enough to deny others for a while without asking.
//!
//! Not a flag but a balance and a time, so that every later check is judged by its own cost. It promises to deny only what the
//! store would deny too: minting counts from before the ask was sent, and is rounded up. It does not know tables or keys, and
//! cannot know of a refund elsewhere: so it lasts a second at most.

use crate::{Cost, Limit, Moment, Span, Tokens};

/// What a denied bucket held, in a node's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial {
    /// Micro-tokens, when the store denied; negative is debt.
    micros: i64,
    /// Before the check was sent to the store, on this node's clock.
    sent: Moment,
}

impl Denial {
    /// How long it may be relied upon, from when the check was sent.
    pub const LIFE: Span = Span::from_secs(1);

    /// The store denied a check that was sent at `sent`, and said that the bucket held so many micro-tokens.
    pub const fn new(micros: i64, sent: Moment) -> Denial {
        Denial { micros, sent }
    }

    /// Whether the store would still deny a check of this cost at `now`: then how long until it admits if nobody else spends, by the
    /// time of the ask. `None`: ask the store.
    pub fn wait(&self, limit: &Limit, cost: Cost, now: Moment) -> Option<Span> {
        if self.is_over(now) {
            return None;
        }
        let missing = i128::from(cost.as_micros()) - i128::from(self.micros);
        let missing = u64::try_from(missing).ok().filter(|missing| *missing > 0)?;
        let [micros, nanos, _] = limit.terms();
        // The store counts in a phase of its own: it may have minted `missing` as soon as more than one less was minted since.
        let possible = u128::from(missing - 1) * u128::from(nanos) / u128::from(micros) + 1;
        if u128::from(now.since(self.sent).as_nanos()) >= possible {
            return None;
        }
        let certain = self.sent + limit.time_to_mint(Tokens::from_micros(missing));
        Some(certain.since(now))
    }

    /// Whether it is too old to be relied upon, or of a time to come.
    pub fn is_over(&self, now: Moment) -> bool {
        now.since(self.sent) >= Denial::LIFE || self.sent > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Rate};

    const SENT: Moment = Moment::from_nanos(7_000_000_000);

    fn limit() -> Limit {
        Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap()
    }

    #[test]
    fn each_check_is_judged_by_its_own_cost() {
        let denial = Denial::new(1_500_000, SENT);
        assert_eq!(denial.wait(&limit(), Cost::ONE, SENT), None, "there was enough for a small one");
        assert_eq!(denial.wait(&limit(), Cost::tokens(2), SENT), Some(Span::from_millis(50)));
        assert_eq!(
            denial.wait(&limit(), Cost::tokens(2), SENT + Span::from_millis(30)),
            Some(Span::from_millis(20))
        );
        assert_eq!(denial.wait(&limit(), Cost::tokens(2), SENT + Span::from_millis(50)), None);
    }

    #[test]
    fn it_denies_as_long_as_the_store_must_and_no_longer_than_a_micro_token_short() {
        // Ten micro-tokens a microsecond: the last one takes 100 ns.
        let denial = Denial::new(0, SENT);
        let ask_from = SENT + Span::from_nanos(100_000_000 - 100 + 1);
        assert_eq!(denial.wait(&limit(), Cost::ONE, ask_from), None);
        assert_eq!(
            denial.wait(&limit(), Cost::ONE, ask_from - Span::from_nanos(1)),
            Some(Span::from_nanos(100))
        );
    }

    #[test]
    fn it_lasts_a_second_at_most_however_long_the_wait() {
        let denial = Denial::new(0, SENT);
        let last = SENT + Denial::LIFE - Span::from_nanos(1);
        assert!(denial.wait(&limit(), Cost::tokens(50), last).is_some());
        assert_eq!(denial.wait(&limit(), Cost::tokens(50), SENT + Denial::LIFE), None);
        assert_eq!(
            denial.wait(&limit(), Cost::tokens(50), SENT - Span::from_nanos(1)),
            None,
            "a clock set back"
        );
    }

    #[test]
    fn debt_is_repaid_first() {
        assert_eq!(
            Denial::new(-1_000_000, SENT).wait(&limit(), Cost::ONE, SENT),
            Some(Span::from_millis(200))
        );
    }
}
