//! The other algorithms beside core's rulers: leaky bucket, windows, counter, log and places.
//!
//! Whole batches share a clock that does not run far back: what each algorithm makes of that is its own affair.

use fastrand::Rng;
use tollgate_core::{
    Algorithm, Burst, Concurrency, Cost, Demand, FixedWindow, LeakyBucket, Log, Mark, Moment, Rate, Ruler,
    SlidingCounter, SlidingLog, Span, Spend, Start, Tokens, Window,
};
use tollgate_redis::{
    Batch, Charge, Declared, KeySpace, LimitHistory, Outcome, PAST_LIMITS_MAX, RuleIdentity, SharedLimit,
    Told,
};

use crate::support::Engine;
use crate::timeline::{GROUP, TICKS, histories_on, in_micros, ready};

fn moment(micros: u64) -> Moment {
    Moment::from_nanos(micros * 1_000)
}

/// A rule, as core has it and as the server is told.
struct Rule {
    ruler: Ruler,
    history: LimitHistory,
    shared: SharedLimit,
    identity: RuleIdentity,
    changes: usize,
}

/// A bucket, as core has it.
#[derive(Clone, Default)]
struct Bucket {
    mark: Option<Mark>,
    log: Log,
    stamp: u64,
}

/// What one bucket says: outcome, what it has to spend, wait and delay in microseconds.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    outcome: Outcome,
    remaining: u64,
    wait: u64,
    delay: u64,
    /// After the check; not of a peek that was admitted, which charged nothing.
    full: Option<u64>,
}

fn algorithm(rng: &mut Rng, pace: u64) -> Algorithm {
    let quota = [Burst::tokens(rng.u64(1..50)), Burst::micros(rng.u64(1..9_000_000)), Burst::tokens(30_000)];
    let quota = quota[rng.usize(..3)];
    let window = Span::from_micros(pace * rng.u64(1..40));
    match rng.u32(..7) {
        0 => {
            let leaky =
                LeakyBucket::new(Rate::new(rng.u64(1..5), Span::from_micros(pace * 3)), Burst::tokens(9));
            let leaky = leaky.unwrap();
            if rng.bool() {
                leaky.max_wait(Span::from_micros(pace * rng.u64(1..20))).into()
            } else {
                leaky.into()
            }
        }
        1 => FixedWindow::new(quota, Window::every(window).unwrap()).unwrap().into(),
        2 => {
            let window = [Window::DAY, Window::WEEK, Window::MONTH, Window::YEAR, Window::months(3).unwrap()];
            let window = window[rng.usize(..5)].behind_utc(Span::from_secs(rng.u64(..20) * 3_600));
            FixedWindow::new(quota, window).unwrap().into()
        }
        3 | 4 => SlidingCounter::new(quota, window).unwrap().into(),
        5 => SlidingLog::new(quota, window).unwrap().into(),
        _ => Concurrency::new(rng.u32(1..20), Span::from_micros(pace * 2 * rng.u64(1..40))).unwrap().into(),
    }
}

/// Keys are kept for the slowest rate that a leaky bucket is given here.
fn declared(algorithm: Algorithm) -> Declared {
    let slowest = matches!(algorithm, Algorithm::LeakyBucket(_)).then(|| Rate::per_day(1));
    Declared { algorithm, slowest }
}

impl Rule {
    fn new(algorithm: Algorithm, number: usize, now: u64) -> Rule {
        let history = LimitHistory::new(&declared(algorithm), now).unwrap();
        let ruler = Ruler::new(algorithm, Start { now: moment(now), offset: 7, origin: 0 });
        let identity = RuleIdentity::new("algorithms", &number.to_string());
        Rule { ruler, shared: history.limit().unwrap(), history, identity, changes: 0 }
    }

    /// Another limit of the same kind, where there is one that continues this one.
    fn change(&mut self, rng: &mut Rng, pace: u64, now: u64) -> bool {
        let algorithm = match (self.ruler.algorithm(), algorithm(rng, pace)) {
            (Algorithm::SlidingCounter(old), Algorithm::SlidingCounter(new)) => {
                SlidingCounter::new(Burst::micros(new.quota().as_micros()), old.window()).unwrap().into()
            }
            (Algorithm::SlidingLog(old), Algorithm::SlidingLog(new)) => {
                SlidingLog::new(Burst::micros(new.quota().as_micros()), old.window()).unwrap().into()
            }
            (Algorithm::Concurrency(old), Algorithm::Concurrency(new)) => {
                Concurrency::new(new.places(), old.timeout()).unwrap().into()
            }
            (_, new) => new,
        };
        let Some(ruler) = self.ruler.change(algorithm, moment(now)) else { return false };
        if self.changes == PAST_LIMITS_MAX || now <= self.history.since_micros() {
            return false;
        }
        let Some(history) = self.history.change(&declared(algorithm), now).unwrap() else { return false };
        (self.ruler, self.shared, self.history) = (ruler, history.limit().unwrap(), history);
        self.changes += 1;
        true
    }

    /// How long until the bucket is full: until it could pay for all that it can hold.
    fn time_to_full(&self, bucket: &Bucket, now: u64) -> u64 {
        let all = Demand::of(Cost::micros(self.ruler.full().as_micros()));
        if let Some(limit) = self.ruler.log() {
            return in_micros(bucket.log.wait(&limit, all, moment(now)));
        }
        let at = if self.ruler.meter().is_some() { now.max(bucket.stamp) } else { now };
        let mark = bucket.mark.unwrap_or_else(|| self.ruler.reading(moment(at)).full_mark());
        in_micros(self.ruler.wait(mark, all, moment(at)) + Span::from_micros(at - now))
    }

    /// What core says of one check, which changes the bucket if it is admitted and not only looked at.
    fn decide(&self, bucket: &mut Bucket, demand: Demand, now: u64, is_peek: bool) -> Said {
        // The ledger's stamp: a clock that is a little behind it does not move it back.
        let is_metered = self.ruler.meter().is_some();
        let at = if is_metered { now.max(bucket.stamp) } else { now };
        let ahead = Span::from_micros(at - now);
        let said = |outcome, remaining: Tokens, wait: Span, delay: Span| Said {
            outcome,
            remaining: remaining.as_micros(),
            wait: in_micros(wait),
            delay: in_micros(delay),
            full: None,
        };
        if self.ruler.never_admits(demand) {
            return said(Outcome::Never, Tokens::ZERO, Span::ZERO, Span::ZERO);
        }
        if let Some(limit) = self.ruler.log() {
            return match bucket.log.peek(&limit, demand, moment(now)) {
                Ok(remaining) => {
                    if !is_peek {
                        // Only a charge writes, and so forgets: by a clock that is set back, what was not forgotten counts.
                        bucket.log.forget(&limit, moment(now));
                        bucket.log.charge(demand.cost.as_micros(), moment(now));
                    }
                    said(Outcome::Admitted, remaining, Span::ZERO, Span::ZERO)
                }
                Err(Spend::Short { held, .. }) => {
                    said(Outcome::Denied, held, bucket.log.wait(&limit, demand, moment(now)), Span::ZERO)
                }
                Err(paid) => panic!("{paid:?}"),
            };
        }
        let reading = self.ruler.reading(moment(at));
        let mark = bucket.mark.unwrap_or_else(|| reading.full_mark());
        match reading.spend(mark, demand) {
            Spend::Paid { mark: paid, remaining } => {
                let queued = self.ruler.delay(mark, moment(at));
                if !is_peek {
                    (bucket.mark, bucket.stamp) = (Some(paid), at);
                }
                let delay = if self.ruler.is_queue() { queued + ahead } else { Span::ZERO };
                said(Outcome::Admitted, remaining, Span::ZERO, delay)
            }
            Spend::Short { held, .. } => {
                said(Outcome::Denied, held, self.ruler.wait(mark, demand, moment(at)) + ahead, Span::ZERO)
            }
        }
    }
}

#[test]
fn every_other_algorithm_is_decided_as_core_decides_it() {
    for engine in Engine::all() {
        let (_server, mut connection) = ready(engine);
        let (mut rng, keys) = (Rng::with_seed(43), KeySpace::default());
        let (mut histories, mut steps, mut denials, mut changes) = (0, 0, 0, 0);
        while histories < histories_on(engine, 12_500) {
            let pace = [1, 100, 10_000, 1_000_000, 3_600_000_000][rng.usize(..5)];
            let mut now = 1_700_000_000_000_000 + rng.u64(..1_000_000_000_000_000);
            let mut rules: Vec<Rule> =
                (0..GROUP).map(|number| Rule::new(algorithm(&mut rng, pace), number, now)).collect();
            let mut buckets = vec![Bucket::default(); GROUP];
            let (mut latest, mut last_change, mut sent) = (now, now, Vec::new());
            for _ in 0..TICKS {
                let next = match rng.u32(..10) {
                    0 | 1 => now,
                    2 => now - rng.u64(..pace.min(400_000)),
                    3..=6 => now + rng.u64(..3 * pace),
                    7 | 8 => now + rng.u64(..30 * pace),
                    _ => now + rng.u64(..200 * pace),
                };
                now = next.max(last_change);
                if now > latest {
                    latest = now;
                    for rule in &mut rules {
                        if rng.u32(..10) == 0 && rule.change(&mut rng, pace, now) {
                            last_change = now;
                            changes += 1;
                        }
                    }
                }
                let (mut batch, mut expected) = (Batch::new(), Vec::new());
                for (index, rule) in rules.iter().enumerate() {
                    for _ in 0..rng.u32(1..4) {
                        let full = rule.shared.full().as_micros();
                        let cost = [1_000_000, 1, full, full / 2 + 1, rng.u64(1..=full)][rng.usize(..5)]
                            .min(full + 1);
                        let keep = if rng.u32(..6) == 0 { rng.u64(..=full / 2) } else { 0 };
                        let demand = Demand { cost: Cost::micros(cost), keep: Tokens::from_micros(keep) };
                        let name = keys.bucket(&rule.identity, "ann").unwrap();
                        let charge = Charge::new(name, &rule.shared, demand.cost).keeping(demand.keep);
                        let is_peek = rng.u32(..5) == 0;
                        if is_peek {
                            batch.peek(&[charge]).unwrap();
                        } else {
                            batch.enter(&[charge]).unwrap();
                        }
                        let mut said = rule.decide(&mut buckets[index], demand, now, is_peek);
                        if !is_peek && said.outcome != Outcome::Never {
                            said.full = Some(rule.time_to_full(&buckets[index], now));
                        }
                        expected.push((said, demand, index));
                    }
                }
                connection.send(&batch.call().at_micros(now).evalsha());
                sent.push((batch, expected, now));
            }
            for (batch, expected, now) in sent {
                let told = batch.read(&connection.read()).unwrap();
                for (told, (said, demand, ruler)) in told.iter().zip(expected) {
                    let Told::Checked(checked) = told else { panic!("{told:?}") };
                    let bucket = &checked.buckets[0];
                    let never = checked.outcome == Outcome::Never;
                    let heard = Said {
                        outcome: checked.outcome,
                        remaining: if never { 0 } else { bucket.remaining.as_micros() },
                        wait: bucket.wait.map_or(0, in_micros),
                        delay: in_micros(bucket.delay),
                        full: said.full.map(|_| in_micros(bucket.time_to_full)),
                    };
                    assert_eq!(heard, said, "{engine:?}: {demand:?} at {now} of {ruler:?}");
                    denials += u64::from(said.outcome == Outcome::Denied);
                    steps += 1;
                }
            }
            connection.typed("FLUSHALL");
            histories += GROUP;
        }
        println!(
            "{engine:?}: {histories} histories, {steps} steps, {denials} denials, {changes} changes, no difference"
        );
    }
}
