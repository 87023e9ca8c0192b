//! A lower bound of what a shared bucket holds, by the store's last reply: decides checks whose reply is late.
//!
//! ```text
//!   proven = balance of the last reply + this instance's share of the refill since it was heard − every call without a reply
//! ```
//! With one instance the store would admit whatever is proven, so nothing is admitted beyond the limit. With several, others may have
//! spent the balance meanwhile: what the store then denies is charged to it afterwards, into debt. The bucket stays the store's. It knows one
//! bucket of one instance, reads no clock, and sends nothing.

use crate::{Cost, LocalShare, Moment, Tokens};

/// The balance of one bucket that the last reply proves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProvenBalance {
    last: Option<LastReply>,
    /// Micro-tokens of calls that were sent and have no reply.
    unanswered: u64,
    /// Calls that were sent and have no reply.
    calls: u32,
    /// Tokens that this instance holds as slices. The store refills the bucket up to its burst minus these tokens.
    slices: Tokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LastReply {
    /// Micro-tokens after the call; negative is debt.
    micros: i64,
    /// By the store's clock, in microseconds since 1970.
    store_micros: u64,
    /// By this instance's clock.
    heard: Moment,
}

/// A reply counts as older than the last one only if the store's clock differs by less than this: a larger step back is another clock.
const STORE_CLOCK_BACK_MAX_MICROS: u64 = 1_000_000;

impl LastReply {
    /// Whether a reply of `store_micros` is not newer than this one.
    fn is_as_late_as(&self, store_micros: u64) -> bool {
        self.store_micros.checked_sub(store_micros).is_some_and(|back| back < STORE_CLOCK_BACK_MAX_MICROS)
    }
}

impl ProvenBalance {
    /// A call that charges `cost` was sent.
    pub fn sent(&mut self, cost: Cost) {
        self.unanswered = self.unanswered.saturating_add(cost.as_micros());
        self.calls = self.calls.saturating_add(1);
    }

    /// The store replied to a call at `store_micros` by its clock, and the bucket held `micros` after it. Replies may be heard in any order:
    /// the latest by the store's clock counts, and an older one, or another one of the same moment, lowers the balance and never raises it.
    pub fn replied(&mut self, cost: Cost, micros: i64, store_micros: u64, now: Moment) {
        self.not_done(cost);
        self.heard(micros, store_micros, now);
    }

    /// The store said what the bucket held at `store_micros` by its clock.
    pub fn heard(&mut self, micros: i64, store_micros: u64, now: Moment) {
        match &mut self.last {
            Some(last) if last.is_as_late_as(store_micros) => {
                if micros <= last.micros {
                    (last.micros, last.heard) = (micros, now);
                }
            }
            last => *last = Some(LastReply { micros, store_micros, heard: now }),
        }
    }

    /// The store said what this instance holds of the bucket as slices.
    pub fn holds(&mut self, slices: Tokens) {
        self.slices = slices;
    }

    /// A call was not done, and never will be.
    pub fn not_done(&mut self, cost: Cost) {
        self.unanswered = self.unanswered.saturating_sub(cost.as_micros());
        self.calls = self.calls.saturating_sub(1);
    }

    /// A call may have been done, and there will be no reply that says so: counts as charged until the next reply.
    pub fn lost(&mut self, cost: Cost) {
        self.not_done(cost);
        self.spent(cost);
    }

    /// The store was charged without a reply that says what is left.
    pub fn spent(&mut self, cost: Cost) {
        if let Some(last) = &mut self.last {
            let micros = i64::try_from(cost.as_micros()).unwrap_or(i64::MAX);
            last.micros = last.micros.saturating_sub(micros);
        }
    }

    /// Forgets the last reply, as when the bucket was filled or emptied by other means.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// Micro-tokens that the last reply proves, less every call without a reply; negative if those may cost more. `share` is this instance's part
    /// of a limit that refills, `full` what the bucket holds at the most. `None` without a reply: nothing is proven.
    pub fn micros(&self, share: Option<&LocalShare>, full: Tokens, now: Moment) -> Option<i64> {
        let last = self.last?;
        let refill = share.map_or(Tokens::ZERO, |share| share.limit().minted_in(now.since(last.heard)));
        let held = i128::from(last.micros) + i128::from(refill.as_micros());
        let full = full.as_micros().saturating_sub(self.slices.as_micros());
        let proven = held.min(i128::from(full)) - i128::from(self.unanswered);
        Some(i64::try_from(proven).unwrap_or(if proven < 0 { i64::MIN } else { i64::MAX }))
    }

    /// Whether no call is without a reply: then nothing but the last reply is lost with it.
    pub fn is_idle(&self) -> bool {
        self.calls == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Limit, Rate, Span};

    const NOW: Moment = Moment::from_nanos(5_000_000_000);
    const FULL: Tokens = Tokens::from_micros(100_000_000);

    /// Half of 40 per second and 100.
    fn share() -> LocalShare {
        LocalShare::new(&Limit::new(Rate::per_second(40), Burst::tokens(100)).unwrap(), 2).unwrap()
    }

    fn proven(balance: &ProvenBalance, after: Span) -> Option<i64> {
        balance.micros(Some(&share()), FULL, NOW + after)
    }

    #[test]
    fn without_a_reply_nothing_is_proven() {
        let mut balance = ProvenBalance::default();
        balance.sent(Cost::ONE);
        assert_eq!(proven(&balance, Span::from_secs(9)), None);
        assert!(!balance.is_idle());
    }

    #[test]
    fn a_reply_proves_its_balance_and_a_share_of_the_refill() {
        let mut balance = ProvenBalance::default();
        balance.sent(Cost::ONE);
        balance.replied(Cost::ONE, 7_000_000, 1, NOW);
        assert_eq!(proven(&balance, Span::ZERO), Some(7_000_000));
        assert_eq!(proven(&balance, Span::from_millis(100)), Some(9_000_000));
        assert_eq!(proven(&balance, Span::from_secs(60)), Some(100_000_000), "no fuller than full");
        assert_eq!(balance.micros(None, FULL, NOW + Span::from_secs(60)), Some(7_000_000));
        assert!(balance.is_idle());
    }

    #[test]
    fn every_call_without_a_reply_is_taken_off() {
        let mut balance = ProvenBalance::default();
        balance.heard(7_000_000, 1, NOW);
        (0..3).for_each(|_| balance.sent(Cost::tokens(3)));
        assert_eq!(proven(&balance, Span::ZERO), Some(-2_000_000));
        balance.not_done(Cost::tokens(3));
        balance.lost(Cost::tokens(3));
        assert_eq!(proven(&balance, Span::ZERO), Some(1_000_000));
        balance.replied(Cost::tokens(3), 4_000_000, 2, NOW);
        assert_eq!(proven(&balance, Span::ZERO), Some(4_000_000));
    }

    /// The store did the check before the charge, and the replies are noted in the other order.
    #[test]
    fn a_charge_stays_known_when_an_older_reply_is_noted() {
        let mut balance = ProvenBalance::default();
        balance.heard(9_000_000, 10, NOW);
        balance.sent(Cost::tokens(2));
        balance.sent(Cost::tokens(3));
        balance.replied(Cost::tokens(3), 4_000_000, 20, NOW);
        balance.replied(Cost::tokens(2), 7_000_000, 20, NOW);
        assert_eq!(proven(&balance, Span::ZERO), Some(4_000_000));
    }

    /// Replies of a store whose clock was set back count as older, and still say that the bucket was spent.
    #[test]
    fn an_older_reply_lowers_the_balance_and_never_raises_it() {
        let mut balance = ProvenBalance::default();
        balance.heard(9_000_000, 10_000_000, NOW);
        balance.heard(2_000_000, 9_100_000, NOW);
        assert_eq!(proven(&balance, Span::ZERO), Some(2_000_000));
        balance.heard(3_000_000, 9_200_000, NOW);
        assert_eq!(proven(&balance, Span::ZERO), Some(2_000_000));
        let later = NOW + Span::from_millis(900);
        balance.heard(0, 9_990_000, later);
        let held = balance.micros(Some(&share()), FULL, later);
        assert_eq!(held, Some(0), "nothing is minted until the clock has caught up");
    }

    #[test]
    fn the_store_refills_only_beside_slices() {
        let mut balance = ProvenBalance::default();
        balance.replied(Cost::ONE, 60_000_000, 1, NOW);
        balance.holds(Tokens::from_micros(40_000_000));
        assert_eq!(proven(&balance, Span::from_secs(60)), Some(60_000_000));
        balance.heard(60_000_000, 2, NOW);
        assert_eq!(
            proven(&balance, Span::from_secs(60)),
            Some(60_000_000),
            "a check tells nothing of slices"
        );
        balance.holds(Tokens::ZERO);
        assert_eq!(proven(&balance, Span::from_secs(60)), Some(100_000_000));
    }

    #[test]
    fn replies_count_by_the_clock_of_the_store() {
        let mut balance = ProvenBalance::default();
        let mut hear = |micros, store_micros| {
            balance.heard(micros, store_micros, NOW);
            proven(&balance, Span::ZERO)
        };
        assert_eq!(hear(5, 10_000_000), Some(5));
        assert_eq!(hear(9, 9_999_999), Some(5), "an older one");
        assert_eq!(hear(6, 10_000_000), Some(5), "an earlier one of the same batch");
        assert_eq!(hear(4, 10_000_000), Some(4));
        assert_eq!(hear(8, 8_000_000), Some(8), "another server, or a clock that was set back");
    }
}
