//! Rules whose rate and burst change while clients come and go, beside a meter that lived through the changes.

use fastrand::Rng;
use tollgate_core::{Cost, Decision, Limit, Mark, Meter, Moment, Span, decide};
use tollgate_redis::{
    Batch, Charge, Declared, KeySpace, LimitHistory, Outcome, PAST_LIMITS_MAX, RuleIdentity, SharedLimit,
    Told,
};

use crate::support::Engine;
use crate::timeline::{GROUP, Pace, TICKS, cost, histories_on, in_micros, ready};

/// Rules of a group; its histories are clients of one of them each.
const RULES: usize = 5;

/// A rule, as core has it and as the server is told.
struct Rule {
    meter: Meter,
    history: LimitHistory,
    shared: SharedLimit,
    identity: RuleIdentity,
    changes: usize,
    limits: Vec<Limit>,
}

/// A bucket, as core has it: a mark, and when it was written.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    mark: Mark,
    stamp: u64,
}

/// What one bucket says: balance in micro-tokens before any charge, wait in microseconds, and the bucket if it is charged or follows
/// the clock.
struct Said {
    outcome: Outcome,
    remaining: u64,
    wait: u64,
    charged: Option<Bucket>,
    followed: Option<Bucket>,
}

fn moment(micros: u64) -> Moment {
    Moment::from_nanos(micros * 1_000)
}

impl Rule {
    /// A rule whose rate may take any of a few limits; keys are kept for the slowest.
    fn new(pace: Pace, rng: &mut Rng, number: usize, now: u64) -> Rule {
        loop {
            let limits: Vec<Limit> = (0..=PAST_LIMITS_MAX).map(|_| pace.limit(rng)).collect();
            let declared = declared(&limits, 0);
            let Ok(history) = LimitHistory::new(&declared, now) else { continue };
            if (0..limits.len()).any(|limit| LimitHistory::new(&self::declared(&limits, limit), now).is_err())
            {
                continue;
            }
            let shared = history.limit().unwrap();
            let identity = RuleIdentity::new("exactness", &number.to_string());
            let meter = Meter::new(limits[0], moment(now), rng.u64(..));
            return Rule { meter, history, shared, identity, changes: 0, limits };
        }
    }

    fn change(&mut self, now: u64) {
        if self.changes < PAST_LIMITS_MAX && now > self.history.since_micros() {
            self.changes += 1;
            self.meter = self.meter.change(self.limits[self.changes], moment(now));
            if let Some(history) = self.history.change(&declared(&self.limits, self.changes), now).unwrap() {
                self.history = history;
            }
            // As another node reads it.
            self.shared = self.history.limit().unwrap();
        }
    }

    /// What core says of one check.
    fn decide(&self, bucket: Option<Bucket>, cost: Cost, now: u64) -> Said {
        let followed = bucket.filter(|bucket| bucket.stamp > now + 1_000_000).map(|bucket| {
            let held = self.meter.level(moment(bucket.stamp)).balance(bucket.mark);
            Bucket { mark: self.meter.level(moment(now)).mark_of(held), stamp: now }
        });
        let bucket = followed.or(bucket);
        let at = bucket.map_or(now, |bucket| bucket.stamp.max(now));
        let mark = bucket.map_or_else(|| self.meter.level(moment(at)).full_mark(), |bucket| bucket.mark);
        let said = |outcome, remaining, wait: Span, charged| Said {
            outcome,
            remaining,
            wait: in_micros(wait + Span::from_micros(at - now)),
            charged,
            followed,
        };
        match decide(&self.meter, mark, cost, moment(at)) {
            Decision::Admit { mark, remaining } => {
                let charged = Some(Bucket { mark, stamp: at });
                Said { wait: 0, ..said(Outcome::Admitted, remaining.as_micros(), Span::ZERO, charged) }
            }
            Decision::Deny { wait, remaining } => said(Outcome::Denied, remaining.as_micros(), wait, None),
            Decision::Never => said(Outcome::Never, 0, Span::ZERO, None),
        }
    }
}

fn declared(limits: &[Limit], limit: usize) -> Declared {
    let rate = |limit: &Limit| {
        let [num, den, _] = limit.terms();
        (u128::from(num), u128::from(den))
    };
    let slower = |a: &&Limit, b: &&Limit| (rate(a).0 * rate(b).1).cmp(&(rate(b).0 * rate(a).1));
    let slowest = limits.iter().min_by(slower).unwrap();
    let [num, den, _] = slowest.terms();
    // Micro-tokens per nanoseconds, as tokens per a million times as long.
    let slowest =
        den.checked_mul(1_000_000).map(|nanos| tollgate_core::Rate::new(num, Span::from_nanos(nanos)));
    Declared { algorithm: limits[limit].into(), slowest }
}

#[test]
fn rules_that_change_are_decided_as_core_decides_them() {
    for engine in Engine::all() {
        let (_server, mut connection) = ready(engine);
        let (mut rng, keys) = (Rng::with_seed(42), KeySpace::default());
        let (mut histories, mut steps, mut denials, mut changes, mut settled) = (0, 0, 0, 0, 0);
        while histories < histories_on(engine, 50_000) {
            let (pace, mut now) = (Pace::any(&mut rng), Pace::begin(&mut rng));
            let mut rules: Vec<Rule> =
                (0..RULES).map(|number| Rule::new(pace, &mut rng, number, now)).collect();
            let mut buckets: [Option<Bucket>; GROUP] = [None; GROUP];
            let (begun, mut latest, mut last_change, mut sent) = (now, now, now, Vec::new());
            for _ in 0..TICKS {
                // A clock that is set back for good keeps balances that a meter which was just changed would not: see `ledger`.
                let not_before = if rules.iter().any(|rule| rule.changes > 0) {
                    last_change.max(latest - 1_000_000)
                } else {
                    begun
                };
                now = pace.tick(&mut rng, now, not_before);
                if now >= latest {
                    latest = now;
                    for rule in rules.iter_mut().filter(|_| rng.u32(..6) == 0) {
                        rule.change(now);
                        last_change = now;
                        changes += 1;
                    }
                }
                for rule in &mut rules {
                    rule.shared = rule.history.limit_at(latest).unwrap();
                    settled += usize::from(rule.changes > 0 && rule.shared != rule.history.limit().unwrap());
                }
                let (mut batch, mut expected) = (Batch::new(), Vec::new());
                for _ in 0..GROUP {
                    // Over one bucket or several, all or nothing; each rule once.
                    let first = rng.usize(..RULES);
                    let count = [1, 1, 1, 2, 3][rng.usize(..5)];
                    let mut said = Vec::new();
                    let mut wanted = Vec::new();
                    for step in 0..count {
                        let rule = &rules[(first + step) % RULES];
                        let index = (first + step) % RULES + RULES * rng.usize(..GROUP / RULES);
                        let cost = cost(&mut rng, rule.meter.limit());
                        let name = keys.bucket(&rule.identity, index as u64).unwrap();
                        wanted.push(Charge::new(name, &rule.shared, cost));
                        said.push((index, cost, rule.decide(buckets[index], cost, now)));
                    }
                    let is_peek = rng.u32(..5) == 0;
                    if is_peek {
                        batch.peek(&wanted).unwrap();
                    } else {
                        batch.check(&wanted).unwrap();
                    }
                    let is = |outcome| said.iter().any(|(_, _, said)| said.outcome == outcome);
                    let outcome = match (is(Outcome::Never), is(Outcome::Denied)) {
                        (true, _) => Outcome::Never,
                        (false, true) => Outcome::Denied,
                        (false, false) => Outcome::Admitted,
                    };
                    for (index, _, said) in said.iter().filter(|_| !is_peek) {
                        match outcome {
                            Outcome::Admitted => buckets[*index] = said.charged,
                            Outcome::Denied => buckets[*index] = said.followed.or(buckets[*index]),
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
                    for (bucket, (index, cost, said)) in checked.buckets.iter().zip(said) {
                        let asked = || format!("{engine:?}, client {index} asks {cost} at {now}: {bucket:?}");
                        if said.outcome == Outcome::Never {
                            assert_eq!(bucket.wait, None, "{}", asked());
                            continue;
                        }
                        // Where another bucket denied, nothing was charged to this one.
                        let uncharged = outcome != Outcome::Admitted && said.outcome == Outcome::Admitted;
                        let remaining = said.remaining + if uncharged { cost.as_micros() } else { 0 };
                        assert_eq!(bucket.balance, remaining.cast_signed(), "{}", asked());
                        assert_eq!(bucket.wait.map(in_micros), Some(said.wait), "{}", asked());
                        steps += 1;
                        denials += u64::from(said.outcome == Outcome::Denied);
                    }
                }
            }
            connection.typed("FLUSHALL");
            histories += GROUP;
        }
        println!(
            "{engine:?}: {histories} histories, {steps} steps, {denials} denials, {changes} changes ({settled} long ago), no difference"
        );
    }
}
