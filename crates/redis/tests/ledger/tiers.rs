//! Tiers: the same buckets under several limits, beside the library's own memory.

use fastrand::Rng;
use tollgate::{Clock, Limiter};
use tollgate_core::{Algorithm, Burst, Cost, LeakyBucket, Limit, Moment, Rate, Span};
use tollgate_redis::{Charge, Declared, KeySpace, LimitHistory, RuleIdentity, SharedLimit};

use crate::asking::{SECOND, START, check_at, on_every_server};

fn tiers(is_leaky: bool) -> [Algorithm; 3] {
    [(3, 20), (30, 8), (1, 60)].map(|(rate, burst)| {
        let (rate, burst) = (Rate::per_second(rate), Burst::tokens(burst));
        if is_leaky {
            LeakyBucket::new(rate, burst).unwrap().into()
        } else {
            Limit::new(rate, burst).unwrap().into()
        }
    })
}

/// As long as nobody is forgotten meanwhile, bit for bit.
#[test]
fn a_client_that_changes_its_tier_takes_its_balance_along() {
    on_every_server(|engine, _, connection| {
        for round in 0..20 {
            connection.typed("FLUSHALL");
            let (mut rng, mut now, names) = (Rng::with_seed(round), START, ["", "fast", "slow"]);
            let algorithms = tiers(round % 2 == 1);
            let clock = Clock::manual(Moment::from_nanos(now * 1_000));
            let limiter = Limiter::builder().clock(clock.clone()).build(algorithms[0]).unwrap();
            let own = limiter.default_rule().clone();
            let rules = [
                own.clone(),
                own.tier("fast", algorithms[1]).unwrap(),
                own.tier("slow", algorithms[2]).unwrap(),
            ];
            let rule = RuleIdentity::new("default", "rule");
            let identities = names.map(|name| rule.tier(name));
            let histories = algorithms
                .map(|algorithm| LimitHistory::new(&Declared { algorithm, slowest: None }, START).unwrap());
            let shared = SharedLimit::of_tiers(identities.iter().zip(&histories)).unwrap();
            let key = KeySpace::default().bucket(&rule, "ann").unwrap();
            for step in 0..150 {
                let (tier, cost) = (rng.usize(..3), Cost::micros(rng.u64(1..9_000_000)));
                let told =
                    check_at(connection, &[Charge::new(key.clone(), &shared[tier], cost)], now).verdict();
                let mut here = rules[tier].check_n("ann", cost);
                if let tollgate::Verdict::Deny { wait, .. } = &mut here {
                    *wait = Span::from_micros(wait.as_nanos().div_ceil(1_000));
                }
                assert_eq!(told, here, "{engine:?}, round {round}, step {step}, tier {tier}, {cost}");
                // Never so long that the bucket is full, and may be forgotten in memory.
                now += [0, 1, rng.u64(..SECOND / 4)][rng.usize(..3)];
                clock.set(Moment::from_nanos(now * 1_000));
            }
        }
    });
}
