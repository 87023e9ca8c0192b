//! Refunds, grants, resets, reservations and retries: the ledger beside the library's own memory, on one clock.

use fastrand::Rng;
use tollgate::{Clock, Limiter, Reservation, ReserveError, Rule, SettleError};
use tollgate_core::{
    Algorithm, Burst, Concurrency, Cost, FixedWindow, LeakyBucket, Limit, Moment, Rate, SlidingCounter,
    SlidingLog, Span, Tokens, Window,
};
use tollgate_redis::{
    Batch, Changed, Charge, Correction, Declared, KeyName, KeySpace, LimitHistory, Note, NotedCharge,
    NotedLimit, Outcome, Reply, RuleIdentity, SharedLimit, Told,
};

use crate::asking::{SECOND, START, done_at, on_every_server};
use crate::support::Connection;

/// One rule in memory and in the ledger.
struct Pair<'c> {
    clock: Clock,
    rule: Rule,
    limiter: Limiter,
    connection: &'c mut Connection,
    keys: KeySpace,
    identity: RuleIdentity,
    shared: SharedLimit,
    now: u64,
    opened: Vec<Open>,
    serial: u128,
}

/// A reservation in memory and in the ledger.
struct Open {
    here: Reservation,
    record: KeyName,
    key: &'static str,
    estimate: Cost,
}

const CLIENTS: [&str; 3] = ["ann", "bob", "cid"];

impl Pair<'_> {
    fn new(algorithm: Algorithm, connection: &mut Connection) -> Pair<'_> {
        connection.typed("FLUSHALL");
        let clock = Clock::manual(Moment::from_nanos(START * 1_000));
        let limiter = Limiter::builder().clock(clock.clone()).build(algorithm).unwrap();
        let rule = limiter.default_rule().clone();
        let history = LimitHistory::new(&Declared { algorithm, slowest: None }, START).unwrap();
        let (keys, identity) = (KeySpace::default(), RuleIdentity::new("default", "rule"));
        let shared = history.limit().unwrap();
        Pair {
            clock,
            rule,
            limiter,
            connection,
            keys,
            identity,
            shared,
            now: START,
            opened: Vec::new(),
            serial: 0,
        }
    }

    fn pass(&mut self, micros: u64) {
        self.now += micros;
        self.clock.set(Moment::from_nanos(self.now * 1_000));
    }

    fn done(&mut self, put: impl FnOnce(&mut Batch)) -> Told {
        let mut batch = Batch::new();
        put(&mut batch);
        done_at(self.connection, &batch, self.now).remove(0)
    }

    fn name(&self, key: &str) -> KeyName {
        self.keys.bucket(&self.identity, key).unwrap()
    }

    fn check(&mut self, key: &'static str, cost: Cost) {
        let charge = Charge::new(self.name(key), &self.shared, cost);
        let told = self.done(|batch| batch.check(&[charge]).unwrap());
        let Told::Checked(checked) = told else { panic!("{told:?}") };
        let mut verdict = self.rule.check_n(key, cost);
        // The ledger's waits are whole microseconds, rounded up.
        if let tollgate::Verdict::Deny { wait, .. } = &mut verdict {
            *wait = Span::from_micros(wait.as_nanos().div_ceil(1_000));
        }
        assert_eq!(checked.verdict(), verdict, "{key} asks {cost} at {}", self.now);
    }

    fn refund(&mut self, key: &'static str, amount: Cost) {
        let (name, shared) = (self.name(key), self.shared.clone());
        let told = self.done(|batch| batch.give(name, &shared, amount).unwrap());
        let Told::Changed { changed, .. } = told else { panic!("{told:?}") };
        let given = self.rule.refund(key, amount).unwrap();
        assert_eq!(
            (changed.given(), changed.balance()),
            (given.given, given.balance),
            "refund of {amount} to {key}"
        );
    }

    fn reset(&mut self, key: &'static str) {
        let (name, shared) = (self.name(key), self.shared.clone());
        let told = self.done(|batch| batch.reset(name, &shared).unwrap());
        let Told::Changed { changed, .. } = told else { panic!("{told:?}") };
        let given = self.rule.reset(key).unwrap();
        assert_eq!((changed.given(), changed.balance()), (given.given, given.balance), "reset of {key}");
        // A microsecond is as near as the ledger tells a charge from a reset.
        self.pass(1);
    }

    fn reserve(&mut self, key: &'static str, estimate: Cost, timeout: Span) {
        self.serial += 1;
        let id = format!("{:032x}", self.serial).parse().unwrap();
        let (record, name) = (self.keys.reservation(id), self.name(key));
        let note = Note {
            charges: vec![NotedCharge {
                key: name.clone(),
                estimate,
                limit: NotedLimit::Rule(self.identity.clone()),
            }],
        };
        let charge = Charge::new(name, &self.shared, estimate);
        let told =
            self.done(|batch| batch.reserve(record.clone(), timeout, &note.to_bytes(), &[charge]).unwrap());
        let Told::Checked(checked) = told else { panic!("{told:?}") };
        match self.rule.reserve(key, estimate, timeout) {
            Ok(here) => {
                assert_eq!(checked.outcome, Outcome::Admitted, "{key} reserves {estimate}");
                assert_eq!(checked.verdict().remaining(), here.verdict().unwrap().remaining());
                self.opened.push(Open { here, record, key, estimate });
            }
            Err(ReserveError::Denied(_)) => {
                assert_ne!(checked.outcome, Outcome::Admitted, "{key} reserves {estimate}");
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Settles an open reservation at its true cost; `None` cancels it.
    fn settle(&mut self, index: usize, actual: Option<Cost>) {
        let Open { here, record, key, estimate } = self.opened.swap_remove(index);
        let Reply::Bytes(expected) = self.connection.ask(&[b"GET".as_slice(), record.as_bytes()]) else {
            panic!("it is open")
        };
        let note = Note::of_record(&expected).unwrap();
        assert_eq!((&note.charges[0].key, note.charges[0].estimate), (&self.name(key), estimate));
        let correction = Correction {
            key: note.charges[0].key.clone(),
            limit: self.shared.clone(),
            estimate,
            actual: actual.unwrap_or(Cost::micros(0)),
            debt_max: self.shared.full(),
        };
        let settled = match actual {
            Some(actual) => here.commit(actual).unwrap(),
            None => here.cancel().unwrap(),
        };
        let corrections = [correction];
        let told = self.done(|batch| batch.settle(record.clone(), &expected, &corrections).unwrap());
        let Told::Settled(changed) = &told else { panic!("{told:?}") };
        let [Changed { before, after }] = changed[..] else { panic!("{told:?}") };
        let place = || format!("{key} reserved {estimate}, in truth {actual:?}: {before} to {after}");
        assert_eq!(changed[0].given(), settled.returned, "{}", place());
        // A counter takes whole steps; what is charged is no more than what was owed.
        let under = actual.map_or(0, |actual| actual.as_micros().saturating_sub(estimate.as_micros()));
        assert_eq!(changed[0].taken().min(Tokens::from_micros(under)), settled.charged, "{}", place());
        assert_eq!(here.cancel(), Err(SettleError::Unknown));
        let again = self.done(|batch| batch.settle(record, &expected, &corrections).unwrap());
        assert_eq!(again, Told::Unknown, "it is settled once");
    }
}

fn algorithms() -> Vec<Algorithm> {
    let window = Span::from_secs(10);
    vec![
        Limit::new(Rate::per_second(3), Burst::tokens(20)).unwrap().into(),
        Limit::new(Rate::new(7, Span::from_micros(1_234_567)), Burst::micros(9_876_543)).unwrap().into(),
        FixedWindow::new(Burst::tokens(20), Window::every(window).unwrap()).unwrap().into(),
        SlidingCounter::new(Burst::tokens(20), window).unwrap().into(),
        SlidingLog::new(Burst::tokens(20), window).unwrap().into(),
        LeakyBucket::new(Rate::per_second(3), Burst::tokens(20)).unwrap().into(),
        Concurrency::new(20, window).unwrap().into(),
    ]
}

/// A11, bit for bit.
#[test]
fn operations_do_to_a_bucket_what_they_do_to_one_in_memory() {
    on_every_server(|engine, _, connection| {
        for (number, algorithm) in algorithms().into_iter().enumerate() {
            for round in 0..8 {
                let mut rng = Rng::with_seed(100 * number as u64 + round);
                let mut pair = Pair::new(algorithm, connection);
                let takes_places = pair.shared.takes_places();
                for _ in 0..80 {
                    let key = CLIENTS[rng.usize(..CLIENTS.len())];
                    let cost = Cost::micros([1_000_000, 3_000_000, rng.u64(1..9_000_000)][rng.usize(..3)]);
                    match rng.u32(..16) {
                        0..=3 if !takes_places => pair.check(key, cost),
                        4 if !takes_places => pair.refund(key, cost),
                        5 => pair.reset(key),
                        0..=9 => pair.reserve(key, cost, Span::from_secs(100_000)),
                        10..=12 if !pair.opened.is_empty() => {
                            let (index, actual) =
                                (rng.usize(..pair.opened.len()), Cost::micros(rng.u64(..12_000_000)));
                            let actual = if takes_places { Cost::micros(1) } else { actual };
                            pair.settle(index, Some(actual));
                        }
                        13 if !pair.opened.is_empty() => {
                            let index = rng.usize(..pair.opened.len());
                            pair.settle(index, None);
                        }
                        _ => pair.pass([1, 10_000, 300_000, rng.u64(..4 * SECOND)][rng.usize(..4)]),
                    }
                }
                let _ = (&pair.limiter, engine);
            }
        }
    });
}

/// The same where limits come with the call, and may be others each time.
#[test]
fn operations_do_to_an_explicit_bucket_what_they_do_to_one_in_memory() {
    on_every_server(|engine, _, connection| {
        for round in 0..30 {
            connection.typed("FLUSHALL");
            let (mut rng, mut now, keys) = (Rng::with_seed(round), START, KeySpace::default());
            let clock = Clock::manual(Moment::from_nanos(now * 1_000));
            let any = Limit::new(Rate::per_second(1), Burst::tokens(1)).unwrap();
            let limiter = Limiter::builder().clock(clock.clone()).build(any).unwrap();
            let explicit = limiter.explicit();
            let mut opened: Vec<(Reservation, KeyName, Limit, Cost)> = Vec::new();
            let limits = [(3, 20), (3, 20), (5, 10), (2, 30)]
                .map(|(rate, burst)| Limit::new(Rate::per_second(rate), Burst::tokens(burst)).unwrap());
            for step in 0..100_u128 {
                let (limit, name) = (limits[rng.usize(..4)], keys.explicit("ann").unwrap());
                let shared = SharedLimit::explicit(&limit).unwrap();
                let cost = Cost::micros([1_000_000, 3_000_000, rng.u64(1..9_000_000)][rng.usize(..3)]);
                let charge = Charge::new(name.clone(), &shared, cost);
                let mut batch = Batch::new();
                let place = || format!("{engine:?}, round {round}, step {step}: {cost} of {limit:?}");
                match rng.u32(..12) {
                    0..=2 => {
                        batch.check(&[charge]).unwrap();
                        let Told::Checked(checked) = done_at(connection, &batch, now).remove(0) else {
                            panic!()
                        };
                        let (told, mut here) =
                            (checked.explicit_verdict(), explicit.check("ann", &limit, cost));
                        if let tollgate::Verdict::Deny { wait, .. } = &mut here.verdict {
                            *wait = Span::from_micros(wait.as_nanos().div_ceil(1_000));
                        }
                        assert_eq!(told, here, "{}", place());
                    }
                    3 => {
                        batch.give(name, &shared, cost).unwrap();
                        let Told::Changed { changed, .. } = done_at(connection, &batch, now).remove(0) else {
                            panic!()
                        };
                        let given = explicit.refund("ann", &limit, cost).unwrap();
                        assert_eq!(changed.given(), given.given, "{}", place());
                        // Of a bucket that is full and absent, memory says what would be left after a charge.
                        if given.given > Tokens::ZERO {
                            assert_eq!(changed.balance(), given.balance, "{}", place());
                        }
                    }
                    4 if rng.bool() => {
                        batch.reset(name, &shared).unwrap();
                        let _ = done_at(connection, &batch, now);
                        explicit.reset("ann").unwrap();
                        now += 1;
                    }
                    4..=6 => {
                        let record = keys.reservation(format!("{step:032x}").parse().unwrap());
                        batch.reserve(record.clone(), Span::from_secs(100_000), b"", &[charge]).unwrap();
                        let Told::Checked(checked) = done_at(connection, &batch, now).remove(0) else {
                            panic!()
                        };
                        let here = explicit
                            .reserve(&[explicit.charge("ann", &limit, cost)], Span::from_secs(100_000));
                        assert_eq!(checked.is_admitted(), here.is_ok(), "{}", place());
                        opened.extend(here.ok().map(|here| (here, record, limit, cost)));
                    }
                    7 | 8 if !opened.is_empty() => {
                        let (here, record, limit, estimate) = opened.swap_remove(rng.usize(..opened.len()));
                        let (actual, reply) = (
                            Cost::micros(rng.u64(..12_000_000)),
                            connection.ask(&[b"GET".as_slice(), record.as_bytes()]),
                        );
                        let Reply::Bytes(expected) = reply else { panic!("it is open") };
                        let correction = Correction {
                            key: name,
                            limit: SharedLimit::explicit(&limit).unwrap(),
                            estimate,
                            actual,
                            debt_max: limit.burst(),
                        };
                        batch.settle(record, &expected, &[correction]).unwrap();
                        let Told::Settled(changed) = done_at(connection, &batch, now).remove(0) else {
                            panic!()
                        };
                        let settled = here.commit(actual).unwrap();
                        let heard = (changed[0].given(), changed[0].taken());
                        assert_eq!(
                            heard,
                            (settled.returned, settled.charged),
                            "{} {estimate} {actual}",
                            place()
                        );
                    }
                    _ => now += [1, 10_000, 300_000, rng.u64(..4 * SECOND)][rng.usize(..4)],
                }
                clock.set(Moment::from_nanos(now * 1_000));
            }
        }
    });
}

/// A12.
#[test]
fn a_retried_check_is_charged_once_and_told_the_same_within_its_lifetime() {
    on_every_server(|engine, _, connection| {
        let limit =
            SharedLimit::explicit(&Limit::new(Rate::per_second(1), Burst::tokens(3)).unwrap()).unwrap();
        let keys = KeySpace::default();
        let charges = [Charge::new(keys.explicit("ann").unwrap(), &limit, Cost::ONE)];
        let record = keys.once("order-7", &charges).unwrap();
        let once = |lifetime: Span| {
            let mut batch = Batch::new();
            batch.check_once(record.clone(), lifetime, &charges).unwrap();
            batch
        };
        let minute = once(Span::from_secs(60));
        let first = done_at(connection, &minute, START).remove(0);
        let Told::Checked(first) = first else { panic!() };
        for later in 1..5 {
            let Told::Checked(again) = done_at(connection, &minute, START + later * SECOND).remove(0) else {
                panic!()
            };
            assert!(again.is_retold, "{engine:?}");
            assert_eq!(
                (again.verdict(), again.explicit_verdict()),
                (first.verdict(), first.explicit_verdict())
            );
        }
        // Twice in one batch.
        let twice = keys.once("order-8", &charges).unwrap();
        let mut batch = Batch::new();
        batch.check_once(twice.clone(), Span::from_secs(60), &charges).unwrap();
        batch.check_once(twice, Span::from_secs(60), &charges).unwrap();
        let told = done_at(connection, &batch, START);
        let retold: Vec<bool> =
            told.iter().map(|told| matches!(told, Told::Checked(checked) if checked.is_retold)).collect();
        assert_eq!(retold, [false, true]);
        // Another check with the same key is another; so is one with another cost.
        let dearer = [Charge::new(keys.explicit("ann").unwrap(), &limit, Cost::tokens(2))];
        assert_ne!(keys.once("order-7", &dearer).unwrap(), record);
        // A denial is not remembered.
        let third = keys.once("order-9", &dearer).unwrap();
        let mut batch = Batch::new();
        batch.check_once(third, Span::from_secs(60), &dearer).unwrap();
        let verdicts =
            [START, START + 10 * SECOND].map(|now| match done_at(connection, &batch, now).remove(0) {
                Told::Checked(checked) => (checked.is_admitted(), checked.is_retold),
                other => panic!("{other:?}"),
            });
        assert_eq!(verdicts, [(false, false), (true, false)]);
        // For as long as was said.
        let kept = connection.ask(&[b"PTTL".as_slice(), record.as_bytes()]);
        assert!(matches!(kept, Reply::Integer(50_000..=60_000)), "{kept:?}");
    });
}

#[test]
fn a_retried_reservation_is_charged_once_and_one_that_times_out_stands_at_its_estimate() {
    on_every_server(|_, _, connection| {
        let limit = SharedLimit::explicit(&Limit::new(Rate::per_day(1), Burst::tokens(10)).unwrap()).unwrap();
        let keys = KeySpace::default();
        let record = keys.reservation("0123456789abcdef0123456789abcdef".parse().unwrap());
        let charges = [Charge::new(keys.explicit("ann").unwrap(), &limit, Cost::tokens(4))];
        let mut batch = Batch::new();
        batch.reserve(record.clone(), Span::from_millis(40), b"note", &charges).unwrap();
        let [first, again] = [0, 1].map(|_| done_at(connection, &batch, START).remove(0));
        let (Told::Checked(first), Told::Checked(again)) = (first, again) else { panic!() };
        assert!(!first.is_retold && again.is_retold);
        assert_eq!(first.verdict(), again.verdict());
        let Reply::Bytes(expected) = connection.ask(&[b"GET".as_slice(), record.as_bytes()]) else {
            panic!()
        };
        assert!(expected.ends_with(b"\nnote"));
        // The server's own time, which no test may sleep through: asked until it is over.
        while connection.ask(&[b"EXISTS".as_slice(), record.as_bytes()]) == Reply::Integer(1) {}
        let mut late = Batch::new();
        let correction = Correction {
            key: charges[0].key.clone(),
            limit: limit.clone(),
            estimate: Cost::tokens(4),
            actual: Cost::micros(0),
            debt_max: Tokens::ZERO,
        };
        late.settle(record, &expected, &[correction]).unwrap();
        late.peek(&[Charge::new(keys.explicit("ann").unwrap(), &limit, Cost::micros(0))]).unwrap();
        let told = done_at(connection, &late, START);
        assert_eq!(told[0], Told::Unknown);
        assert!(matches!(&told[1], Told::Checked(checked) if checked.buckets[0].balance == 6_000_000));
    });
}

#[test]
fn what_is_taken_goes_into_debt_as_deep_as_it_may_and_is_repaid_first() {
    on_every_server(|_, _, connection| {
        let limit =
            SharedLimit::explicit(&Limit::new(Rate::per_second(1), Burst::tokens(10)).unwrap()).unwrap();
        let name = KeySpace::default().explicit("ann").unwrap();
        let mut batch = Batch::new();
        batch.take(name.clone(), &limit, Cost::tokens(14), Tokens::from_micros(5_000_000)).unwrap();
        batch.take(name.clone(), &limit, Cost::tokens(14), Tokens::from_micros(5_000_000)).unwrap();
        batch.check(&[Charge::new(name, &limit, Cost::ONE)]).unwrap();
        let told = done_at(connection, &batch, START);
        let changed = |before, after| Told::Changed { changed: Changed { before, after }, now_micros: START };
        assert_eq!(told[0], changed(10_000_000, -4_000_000));
        assert_eq!(told[1], changed(-4_000_000, -5_000_000));
        let Told::Checked(checked) = &told[2] else { panic!() };
        assert_eq!(checked.verdict().retry_after(), Some(std::time::Duration::from_secs(6)));
        assert_eq!(checked.verdict().remaining(), Some(Tokens::ZERO));
    });
}
