//! Limits that come with the call, beside `decide_stamped`: every call may bring another limit.

use fastrand::Rng;
use tollgate_core::{Cost, Limit, Moment, Stamped, StampedDecision, Tokens, decide_stamped};
use tollgate_redis::{Batch, Charge, KeySpace, Outcome, SharedLimit, Told};

use crate::support::Engine;
use crate::timeline::{GROUP, Pace, TICKS, cost, histories_on, in_micros, ready};

/// What core says of one check: outcome, balance after it, wait in microseconds.
fn decide(bucket: &mut Option<Stamped>, limit: &Limit, cost: Cost, now: u64) -> (Outcome, Option<u64>, u64) {
    match decide_stamped(limit, *bucket, cost, Moment::from_nanos(now * 1_000)) {
        StampedDecision::Admit { bucket: charged } => {
            *bucket = Some(charged);
            (Outcome::Admitted, Some(charged.balance.as_micros()), 0)
        }
        StampedDecision::Deny { wait, remaining, restamped } => {
            *bucket = restamped.or(*bucket);
            (Outcome::Denied, Some(remaining.as_micros()), in_micros(wait))
        }
        StampedDecision::Never => (Outcome::Never, None, 0),
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
                for (index, bucket) in buckets.iter_mut().enumerate() {
                    if rng.u32(..8) == 0 {
                        limits[index] = pace.limit(&mut rng);
                    }
                    let (limit, name) = (&limits[index], keys.explicit(index as u64).unwrap());
                    let cost = cost(&mut rng, limit);
                    batch.check(&[Charge::new(name, &SharedLimit::explicit(limit).unwrap(), cost)]).unwrap();
                    expected.push((decide(bucket, limit, cost, now), *limit));
                }
                connection.send(&batch.call().at_micros(now).evalsha());
                sent.push((batch, expected, now));
            }
            for (batch, expected, now) in sent {
                let told = batch.read(&connection.read()).unwrap();
                for (told, ((outcome, remaining, wait), limit)) in told.iter().zip(expected) {
                    let Told::Checked(checked) = told else { panic!("{told:?}") };
                    let bucket = &checked.buckets[0];
                    let place = || format!("{engine:?}, {limit:?} at {now}");
                    assert_eq!(checked.outcome, outcome, "{}", place());
                    if let Some(remaining) = remaining {
                        assert_eq!(bucket.remaining, Tokens::from_micros(remaining), "{}", place());
                        assert_eq!(bucket.wait.map(in_micros), Some(wait), "{}", place());
                    }
                    denials += u64::from(outcome == Outcome::Denied);
                    steps += 1;
                }
            }
            assert_eq!(connection.typed("FLUSHALL"), tollgate_redis::Reply::Bytes(b"OK".to_vec()));
            histories += GROUP;
        }
        println!("{engine:?}: {histories} histories, {steps} steps, {denials} of them denied, no difference");
    }
}
