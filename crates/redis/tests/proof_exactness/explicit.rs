//! Limits that come with the call, beside `decide_stamped`: over one bucket or several, and every call may bring other limits.

use fastrand::Rng;
use tollgate_core::{Cost, Limit, Moment, Stamped, StampedDecision, decide_stamped};
use tollgate_redis::{Batch, Charge, KeySpace, Outcome, SharedLimit, Told};

use crate::support::Engine;
use crate::timeline::{GROUP, Pace, TICKS, cost, histories_on, in_micros, ready};

/// What core says of one bucket: what it holds after the check, the wait in microseconds, and what is to be stored if all are admitted, or
/// if any denies.
struct Said {
    index: usize,
    cost: Cost,
    outcome: Outcome,
    remaining: u64,
    wait: u64,
    charged: Option<Stamped>,
    restamped: Option<Stamped>,
}

fn decide(index: usize, bucket: Option<Stamped>, limit: &Limit, cost: Cost, now: u64) -> Said {
    // A bucket that could pay follows a clock that was set back, too, where another one denies.
    let set_back = bucket.filter(|bucket| bucket.stamp > Moment::from_nanos((now + 1_000_000) * 1_000));
    let restamped = set_back.map(|bucket| Stamped { stamp: Moment::from_nanos(now * 1_000), ..bucket });
    let said = |outcome, remaining, wait, charged| Said {
        index,
        cost,
        outcome,
        remaining,
        wait,
        charged,
        restamped,
    };
    match decide_stamped(limit, bucket, cost, Moment::from_nanos(now * 1_000)) {
        StampedDecision::Admit { bucket } => {
            said(Outcome::Admitted, bucket.balance.as_micros(), 0, Some(bucket))
        }
        StampedDecision::Deny { wait, remaining, restamped: by_core } => {
            assert_eq!(by_core, restamped);
            said(Outcome::Denied, remaining.as_micros(), in_micros(wait), None)
        }
        StampedDecision::Never => said(Outcome::Never, 0, 0, None),
    }
}

#[test]
fn limits_that_come_with_the_call_are_decided_as_core_decides_them() {
    for engine in Engine::all() {
        let (_server, mut connection) = ready(engine);
        let (mut rng, keys) = (Rng::with_seed(41), KeySpace::default());
        let (mut histories, mut steps, mut denials) = (0, 0, 0);
        while histories < histories_on(engine, 50_000) {
            let (pace, mut now) = (Pace::any(&mut rng), Pace::begin(&mut rng));
            let mut buckets: [Option<Stamped>; GROUP] = [None; GROUP];
            let mut limits: Vec<Limit> = (0..GROUP).map(|_| pace.limit(&mut rng)).collect();
            let mut sent = Vec::new();
            for _ in 0..TICKS {
                now = pace.tick(&mut rng, now, 0);
                let (mut batch, mut expected) = (Batch::new(), Vec::new());
                for first in 0..GROUP {
                    let count = [1, 1, 1, 2, 4][rng.usize(..5)];
                    let (mut charges, mut said) = (Vec::new(), Vec::new());
                    for step in 0..count {
                        let index = (first + 7 * step) % GROUP;
                        if rng.u32(..8) == 0 {
                            limits[index] = pace.limit(&mut rng);
                        }
                        let (limit, name) = (&limits[index], keys.explicit(index as u64).unwrap());
                        let cost = cost(&mut rng, limit);
                        charges.push(Charge::new(name, &SharedLimit::explicit(limit).unwrap(), cost));
                        said.push(decide(index, buckets[index], limit, cost, now));
                    }
                    let is_peek = rng.u32(..6) == 0;
                    if is_peek {
                        batch.peek(&charges).unwrap();
                    } else {
                        batch.check(&charges).unwrap();
                    }
                    let is = |outcome| said.iter().any(|said| said.outcome == outcome);
                    let outcome = match (is(Outcome::Never), is(Outcome::Denied)) {
                        (true, _) => Outcome::Never,
                        (false, true) => Outcome::Denied,
                        (false, false) => Outcome::Admitted,
                    };
                    for said in said.iter().filter(|_| !is_peek) {
                        match outcome {
                            Outcome::Admitted => buckets[said.index] = said.charged,
                            Outcome::Denied => buckets[said.index] = said.restamped.or(buckets[said.index]),
                            Outcome::Never => {}
                        }
                    }
                    expected.push((outcome, said));
                }
                connection.send(&batch.call().at_micros(now).evalsha());
                sent.push((batch, expected, now));
            }
            for (batch, expected, now) in sent {
                let told = batch.read(&connection.read()).unwrap();
                for (told, (outcome, said)) in told.iter().zip(expected) {
                    let Told::Checked(checked) = told else { panic!("{told:?}") };
                    assert_eq!(checked.outcome, outcome, "{engine:?} at {now}");
                    for (bucket, said) in checked.buckets.iter().zip(said) {
                        let asked =
                            || format!("{engine:?}, client {} asks {} at {now}", said.index, said.cost);
                        if said.outcome == Outcome::Never {
                            assert_eq!(bucket.wait, None, "{}", asked());
                            continue;
                        }
                        // Where another bucket denied, nothing was charged to this one.
                        let uncharged = outcome != Outcome::Admitted && said.outcome == Outcome::Admitted;
                        let held = said.remaining + if uncharged { said.cost.as_micros() } else { 0 };
                        assert_eq!(bucket.balance, held.cast_signed(), "{}", asked());
                        assert_eq!(bucket.wait.map(in_micros), Some(said.wait), "{}", asked());
                        steps += 1;
                        denials += u64::from(said.outcome == Outcome::Denied);
                    }
                }
            }
            connection.typed("FLUSHALL");
            histories += GROUP;
        }
        println!("{engine:?}: {histories} histories, {steps} steps, {denials} denials, no difference");
    }
}
