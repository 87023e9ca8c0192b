//! One check against one bucket.

use crate::{Cost, Mark, Meter, Moment, Span, Spend, Tokens};

/// What becomes of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Go ahead; the bucket is now at `mark`.
    Admit {
        /// What the caller must store.
        mark: Mark,
        /// What is left after the charge.
        remaining: Tokens,
    },
    /// Not now. The bucket is unchanged and nothing must be stored.
    Deny {
        /// At `now + wait` the same check is admitted if nobody else spends; a nanosecond earlier it is not.
        wait: Span,
        /// What the bucket holds, too little for the cost.
        remaining: Tokens,
    },
    /// Not ever: the cost is above the burst. The bucket is unchanged.
    Never,
}

/// Decides one check. Reads no clock, takes no lock, writes nothing.
///
/// Whatever the clock did between two admits of one bucket, the admits from the i-th to the j-th sum to at most
/// `burst + minted(j) − minted(i)`: a mark never exceeds the meter when it is written, never lies below
/// `meter − burst` before its cost is added, and never falls on an admit.
pub fn decide(meter: &Meter, mark: Mark, cost: Cost, now: Moment) -> Decision {
    if meter.limit().never_admits(cost) {
        return Decision::Never;
    }
    match meter.level(now).spend(mark, cost) {
        Spend::Paid { mark, remaining } => Decision::Admit { mark, remaining },
        Spend::Short { missing, held } => {
            Decision::Deny { wait: meter.wait_for(missing, now), remaining: held }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Limit, Rate};

    fn at(nanos: u64) -> Moment {
        Moment::from_nanos(nanos)
    }

    /// A client of one rule, checked again and again.
    struct Client {
        meter: Meter,
        mark: Mark,
    }

    impl Client {
        fn new(rate: Rate, burst: Burst) -> Client {
            let meter = Meter::new(Limit::new(rate, burst).unwrap(), at(0), u64::MAX - 7);
            Client { meter, mark: meter.level(at(0)).full_mark() }
        }

        fn check(&mut self, cost: Cost, now: Moment) -> Decision {
            let decision = decide(&self.meter, self.mark, cost, now);
            if let Decision::Admit { mark, .. } = decision {
                self.mark = mark;
            }
            decision
        }

        fn admits(&mut self, cost: Cost, now: Moment) -> bool {
            matches!(self.check(cost, now), Decision::Admit { .. })
        }
    }

    /// A13: 10/s, burst 50, one request every 1/60 s.
    #[test]
    fn the_worked_example() {
        let mut client = Client::new(Rate::per_second(10), Burst::tokens(50));
        let admitted: [bool; 600] =
            core::array::from_fn(|i| client.admits(Cost::ONE, at((i as u64 * 1_000_000_000).div_ceil(60))));
        assert_eq!(admitted[..60].iter().filter(|a| **a).count(), 59, "in the first second");
        assert_eq!(admitted.iter().position(|a| !a), Some(59), "the first denial is the 60th request");
        for six in admitted[300..].chunks_exact(6) {
            assert_eq!(six.iter().filter(|a| **a).count(), 1, "the steady state admits 1 in 6");
        }
    }

    /// A2: "1000 per minute" is never 1998 in two seconds.
    #[test]
    fn a_burst_on_both_sides_of_a_minute_gains_nothing() {
        let mut client = Client::new(Rate::per_minute(1_000), Burst::tokens(1_000));
        let minute = 60_000_000_000;
        let mut admitted = 0;
        for now in [minute - 1_000_000_000, minute + 1_000_000_000] {
            for _ in 0..1_000 {
                admitted += u32::from(client.admits(Cost::ONE, at(now)));
            }
        }
        assert_eq!(admitted, 1_000 + 33);
    }

    /// A6, also across fractions of a nanosecond.
    #[test]
    fn the_wait_is_exact_to_the_nanosecond() {
        for rate in
            [Rate::per_second(3), Rate::per_year(7), Rate::per_second(300_000_001), Rate::per_minute(17)]
        {
            let mut client = Client::new(rate, Burst::tokens(4));
            let mut now = at(12_345);
            for _ in 0..20 {
                match client.check(Cost::micros(1_700_003), now) {
                    Decision::Deny { wait, .. } => {
                        assert!(!client.admits(Cost::micros(1_700_003), now + wait - Span::from_nanos(1)));
                        now = now + wait;
                        assert!(client.admits(Cost::micros(1_700_003), now));
                    }
                    Decision::Admit { .. } => {}
                    Decision::Never => panic!("below the burst"),
                }
            }
        }
    }

    /// A7.
    #[test]
    fn a_cost_above_the_burst_is_never() {
        let mut client = Client::new(Rate::per_second(10), Burst::tokens(50));
        assert_eq!(client.check(Cost::micros(50_000_001), at(0)), Decision::Never);
        assert_eq!(client.check(Cost::tokens(u64::MAX), at(0)), Decision::Never);
        assert!(client.admits(Cost::tokens(50), at(0)));
    }

    /// A4, A8.
    #[test]
    fn a_clock_that_steps_back_neither_gives_nor_takes() {
        let mut client = Client::new(Rate::per_second(10), Burst::tokens(50));
        let now = at(60_000_000_000);
        assert!(client.admits(Cost::tokens(50), now));
        for back in [1, 1_000, 2_000_000_000, 59_000_000_000] {
            assert!(!client.admits(Cost::ONE, now - Span::from_nanos(back)));
        }
        assert!(!client.admits(Cost::ONE, now + Span::from_nanos(99_999_999)));
        assert!(client.admits(Cost::ONE, now + Span::from_millis(100)));
    }

    /// A9, with the figures of the contract.
    #[test]
    fn a_raised_burst_is_room_and_not_tokens() {
        let mut client = Client::new(Rate::per_second(10), Burst::tokens(50));
        let hour = at(3_600_000_000_000);
        let raised = Limit::new(Rate::per_second(10), Burst::tokens(5_000)).unwrap();
        client.meter = client.meter.change(raised, hour);
        assert!(!client.admits(Cost::tokens(51), hour));
        assert!(client.admits(Cost::tokens(51), hour + Span::from_millis(100)));
    }

    /// A9.
    #[test]
    fn a_new_rate_refills_at_the_old_one_until_the_change() {
        let mut client = Client::new(Rate::per_second(10), Burst::tokens(50));
        assert!(client.admits(Cost::tokens(50), at(0)));
        let second = at(1_000_000_000);
        let faster = Limit::new(Rate::per_second(20), Burst::tokens(50)).unwrap();
        client.meter = client.meter.change(faster, second);
        let Decision::Deny { remaining, wait } = client.check(Cost::tokens(30), second) else { panic!() };
        assert_eq!((remaining, wait), (Tokens::from_micros(10_000_000), Span::from_secs(1)));
    }

    /// A3: a rule re-based every second for a day at 1 per year still mints its 1/365 of a token.
    #[test]
    fn re_basing_loses_nothing() {
        let slow = |burst| Limit::new(Rate::per_year(1), Burst::tokens(burst)).unwrap();
        let mut meter = Meter::new(slow(10), at(0), 0);
        for second in 1..=86_400 {
            meter = meter.change(slow(10 + second % 2), at(second * 1_000_000_000));
        }
        assert_eq!(meter.level(at(86_400_000_000_000)).minted, 1_000_000 / 365);
    }
}
