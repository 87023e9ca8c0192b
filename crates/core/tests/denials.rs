//! The denial cache (S5, PROTOCOLS 7): what is remembered of a denial never denies what the store would admit.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate_core::{Burst, Cost, Denial, Limit, Moment, Rate, Span, StampedBalance, StampedLevel, Tokens};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

/// A store that has denied a check which was sent a while before it was decided.
struct Denied {
    limit: Limit,
    stored: StampedBalance,
    denial: Denial,
    sent: Moment,
    flight: Span,
}

fn any_denied(rng: &mut Rng) -> Denied {
    let rate = Rate::new(any_magnitude(rng, 1_000_000), Span::from_secs(any_magnitude(rng, 86_400)));
    let limit = Limit::new(rate, Burst::micros(any_magnitude(rng, 1_000_000_000))).unwrap();
    let sent = Moment::from_nanos(1_000_000_000_000 + rng.u64(..) % 1_000_000_000_000_000);
    let flight = Span::from_nanos(any_magnitude(rng, 50_000_000));
    let micros = rng.u64(0..=limit.burst().as_micros()).cast_signed();
    let micros = if rng.u8(0..4) == 0 { -micros } else { micros };
    let stored = StampedBalance { micros, stamp: sent - Span::from_nanos(any_magnitude(rng, 1_000_000_000)) };
    let level = StampedLevel::new(&limit, stored, sent + flight);
    Denied { limit, stored, denial: Denial::new(level.micros(), sent), sent, flight }
}

impl Denied {
    fn admits(&self, cost: Cost, now: Moment) -> bool {
        StampedLevel::new(&self.limit, self.stored, now).held() >= Tokens::from(cost)
    }
}

#[test]
fn no_check_is_denied_that_the_store_would_admit_and_none_waits_longer_than_there() {
    let (mut denials, mut asked) = (0, 0);
    for_each_seed(0..200_000, |rng| {
        let denied = any_denied(rng);
        let cost = Cost::micros(rng.u64(1..=denied.limit.burst().as_micros()));
        let now = denied.sent + denied.flight + Span::from_nanos(any_magnitude(rng, 1_200_000_000));
        if let Some(wait) = denied.denial.wait(&denied.limit, cost, now) {
            denials += 1;
            assert!(!denied.admits(cost, now), "denied here, admitted there");
            assert!(
                denied.admits(cost, now + wait + denied.flight),
                "early by more than the way to the store"
            );
            assert!(now.since(denied.sent) < Denial::LIFE);
        } else if now.since(denied.sent) < Denial::LIFE {
            asked += 1;
            // All but the micro-token whose phase only the store knows, and what it minted on the way.
            let phase = denied.limit.time_to_mint(Tokens::from_micros(1));
            assert!(denied.admits(cost, now + denied.flight + phase), "asked for nothing");
        }
    });
    assert!(denials > 20_000 && asked > 20_000, "{denials} denied, {asked} asked");
}
