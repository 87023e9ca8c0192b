//! Leased buckets beside the specification of core: asks of several nodes, mixed with checks, gifts and resets of nodes that do not lease.

use fastrand::Rng;
use tollgate_core::{
    Ask, Burst, Cost, LeaseTerms, LedgerBucket, LedgerSpend, Limit, NodeRecord, Rate, Span, Tokens,
    ask_ledger,
};
use tollgate_redis::{
    Batch, Changed, Charge, Declared, KeyName, KeySpace, LimitHistory, Outcome, PAST_LIMITS_MAX,
    RuleIdentity, SharedLimit, Told,
};

use crate::support::Engine;
use crate::timeline::{GROUP, cost, histories_on, ready};

/// Nodes that ask for slices of one bucket.
const NODES: usize = 3;
/// Ticks of a group.
const TICKS: usize = 40;
/// A clock this far behind the stamp, in microseconds, was set back for good.
const SET_BACK: u64 = 1_000_000;

/// A rule, as core has it and as the server is told.
struct Rule {
    terms: LeaseTerms,
    history: LimitHistory,
    shared: SharedLimit,
    limits: Vec<Limit>,
    changes: usize,
}

/// What is stored of a bucket.
#[derive(Debug, Clone, Copy, Default)]
enum Stored {
    #[default]
    Absent,
    /// Balance and stamp: nobody holds a slice.
    Plain(i64, u64),
    Leased(LedgerBucket),
}

/// One bucket, and what is stored of the nodes that lease it.
struct Client {
    key: KeyName,
    stored: Stored,
    records: [Option<NodeRecord>; NODES],
    asked: u64,
}

/// What the server must say.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Leased(Option<tollgate_core::Answer>),
    Checked(Outcome, i64, u64),
    Changed(Changed),
}

impl Rule {
    fn new(rng: &mut Rng, now: u64) -> Rule {
        let life = Span::from_micros([400_000, 400_000, 100_000, 10_000_000][rng.usize(..4)]);
        let (nodes, changes) = (rng.u32(1..9), rng.bool());
        loop {
            let limits: Vec<Limit> = (0..=PAST_LIMITS_MAX).map(|_| any_limit(rng, changes)).collect();
            let Ok(history) = LimitHistory::new(&declared(&limits, 0), now) else { continue };
            let Ok(terms) = LeaseTerms::new(&limits[0], nodes, life) else { continue };
            let is_kept = |at| LimitHistory::new(&declared(&limits, at), now).is_ok();
            if (1..limits.len()).all(is_kept) {
                let (terms, shared) = (terms.since(now, 0), history.limit().unwrap());
                return Rule { terms, history, shared, limits, changes: 0 };
            }
        }
    }

    /// Fractions do not carry over between rates of whole micro-tokens per microsecond: others do not change here.
    fn change(&mut self, now: u64) -> bool {
        if self.changes == PAST_LIMITS_MAX
            || now <= self.history.since_micros()
            || !self.limits.iter().all(is_whole)
        {
            return false;
        }
        self.changes += 1;
        let limit = self.limits[self.changes];
        if let Some(history) = self.history.change(&declared(&self.limits, self.changes), now).unwrap() {
            if history.since_micros() > self.history.since_micros() {
                self.terms = self.terms.changed(&limit, now).unwrap();
            }
            self.history = history;
        }
        self.shared = self.history.limit().unwrap();
        true
    }
}

/// Whether it mints whole micro-tokens in a microsecond.
fn is_whole(limit: &Limit) -> bool {
    limit.terms()[1] <= 1_000
}

fn declared(limits: &[Limit], at: usize) -> Declared {
    let rate = |limit: &Limit| {
        let [num, den, _] = limit.terms();
        (u128::from(num), u128::from(den))
    };
    let slower = |a: &&Limit, b: &&Limit| (rate(a).0 * rate(b).1).cmp(&(rate(b).0 * rate(a).1));
    let [num, den, _] = limits.iter().min_by(slower).unwrap().terms();
    let slowest = den.checked_mul(1_000_000).map(|nanos| Rate::new(num, Span::from_nanos(nanos)));
    Declared { algorithm: limits[at].into(), slowest }
}

fn any_limit(rng: &mut Rng, whole: bool) -> Limit {
    let rate = match rng.u32(..4) {
        0 if !whole => Rate::new(rng.u64(1..1_000), Span::from_nanos(rng.u64(1_000..1_000_000_000))),
        _ => Rate::per_second([1, 10, 333, 1_000, 20_000, 1_000_000][rng.usize(..6)]),
    };
    let burst = [
        Burst::micros(rng.u64(1..2_000_000)),
        Burst::tokens(rng.u64(1..100)),
        Burst::tokens(1_000),
        Burst::tokens(1_000),
        Burst::tokens(40_000),
        Burst::tokens(4_000_000_000),
    ];
    Limit::new(rate, burst[rng.usize(..6)]).unwrap()
}

impl Stored {
    /// As the specification has it; not yet brought up to `now`.
    fn bucket(self, terms: &LeaseTerms, now: u64) -> Option<LedgerBucket> {
        match self {
            Stored::Absent => None,
            Stored::Plain(balance, stamp) => Some(LedgerBucket::unleased(terms, balance, stamp, now)),
            Stored::Leased(bucket) => Some(bucket),
        }
    }

    /// What a check, a gift or the like leaves behind: where nobody holds a slice any more, a bucket like any other.
    fn written(bucket: LedgerBucket) -> Stored {
        if bucket.held_new + bucket.held_old == 0 {
            Stored::Plain(bucket.balance, bucket.stamp)
        } else {
            Stored::Leased(bucket)
        }
    }
}

impl Client {
    fn ask(&mut self, rng: &mut Rng, rule: &Rule, batch: &mut Batch, now: u64) -> Said {
        let (terms, node) = (&rule.terms, rng.usize(..NODES));
        let known = self.records[node];
        let held = known.map_or(0, |record| record.answer.held.as_micros());
        let seq = match rng.u32(..12) {
            // Again, or late.
            0 => known.map_or(1, |record| record.seq),
            1 => known.map_or(1, |record| record.seq.saturating_sub(1)).max(1),
            _ => {
                self.asked += 1;
                self.asked
            }
        };
        let amount = |rng: &mut Rng| {
            Tokens::from_micros(match rng.u32(..6) {
                0 => 0,
                1 => held,
                2 => rng.u64(..=held),
                3 => rng.u64(..=terms.ahead_max()),
                4 => terms.limit().burst().as_micros() / (1 + rng.u64(..20)),
                _ => rng.u64(..=terms.limit().burst().as_micros()),
            })
        };
        let [unspent, back, want, least] = std::array::from_fn(|_| amount(rng));
        let ask = Ask { seq, unspent, back, want, least };
        let record = self.key.lease_record(&format!("node{node}")).unwrap();
        batch.ask(self.key.clone(), &rule.shared, record, &ask, terms).unwrap();
        let asked = ask_ledger(terms, self.stored.bucket(terms, now), known, &ask, now);
        if let Some((bucket, record)) = asked.write {
            (self.stored, self.records[node]) = (Stored::Leased(bucket), Some(record));
        }
        Said::Leased(asked.answer)
    }

    fn check(&mut self, rng: &mut Rng, rule: &Rule, batch: &mut Batch, now: u64) -> Said {
        let (terms, cost) = (&rule.terms, cost(rng, rule.terms.limit()));
        let charge = Charge::new(self.key.clone(), &rule.shared, cost);
        let is_peek = rng.u32(..4) == 0;
        if is_peek { batch.peek(&[charge]) } else { batch.check(&[charge]) }.unwrap();
        let bucket = self.stored.bucket(terms, now);
        match LedgerBucket::spend(bucket, terms, cost.as_micros(), now) {
            LedgerSpend::Spent(spent) => {
                if !is_peek {
                    self.stored = Stored::written(spent);
                }
                Said::Checked(Outcome::Admitted, spent.balance, 0)
            }
            LedgerSpend::Denied { wait, balance } => {
                // The one write of a denial: the clock was set back for good.
                if let Some(bucket) = bucket.filter(|bucket| !is_peek && bucket.stamp > now + SET_BACK) {
                    self.stored = Stored::written(bucket.at(terms, now));
                }
                Said::Checked(Outcome::Denied, balance, wait)
            }
            LedgerSpend::Never => Said::Checked(Outcome::Never, 0, 0),
        }
    }

    fn change(&mut self, rng: &mut Rng, rule: &Rule, batch: &mut Batch, now: u64) -> Said {
        let (terms, key) = (&rule.terms, self.key.clone());
        let stored = self.stored.bucket(terms, now).unwrap_or(LedgerBucket::full(terms, now));
        let before = stored.at(terms, now);
        let amount = Cost::micros(rng.u64(1..=terms.limit().burst().as_micros()));
        let after = match rng.u32(..5) {
            0 | 1 => {
                batch.give(key, &rule.shared, amount).unwrap();
                let after = stored.given(terms, amount.as_micros(), now);
                // One that is not there was never charged.
                let is_there = !matches!(self.stored, Stored::Absent);
                if after.balance > before.balance && is_there {
                    self.stored = Stored::written(after);
                }
                if is_there { after } else { before }
            }
            2 | 3 => {
                let debt = rng.u64(..=terms.limit().burst().as_micros());
                batch.take(key, &rule.shared, amount, Tokens::from_micros(debt)).unwrap();
                let debt = debt.min(9_000_000_000_000_000 - terms.limit().burst().as_micros());
                let after = stored.taken(terms, amount.as_micros(), debt, now);
                if after.balance < before.balance {
                    self.stored = Stored::written(after);
                }
                after
            }
            _ => {
                batch.reset(key, &rule.shared).unwrap();
                let after = stored.filled(terms, now);
                self.stored = Stored::written(after);
                after
            }
        };
        Said::Changed(Changed { before: before.balance, after: after.balance })
    }
}

fn as_said(told: &Told) -> Said {
    match told {
        Told::Leased { answer, .. } => Said::Leased(*answer),
        Told::Changed { changed, .. } => Said::Changed(*changed),
        Told::Checked(checked) => match checked.outcome {
            Outcome::Never => Said::Checked(Outcome::Never, 0, 0),
            outcome => {
                let bucket = &checked.buckets[0];
                let wait = bucket.wait.map_or(0, |wait| wait.as_nanos() / 1_000);
                Said::Checked(outcome, bucket.balance, wait)
            }
        },
        other => panic!("{other:?}"),
    }
}

fn tick(rng: &mut Rng, life: u64, now: u64, not_before: u64) -> u64 {
    let next = match rng.u32(..16) {
        0 | 1 => now,
        2 | 3 => now + rng.u64(..1_000),
        4..=8 => now + rng.u64(..life / 4),
        9..=11 => now + rng.u64(..life),
        12 => now + rng.u64(..3 * life),
        13 => now - rng.u64(..1_500_000),
        14 => now - rng.u64(..5_000_000_000),
        _ => now + rng.u64(..5_000_000_000),
    };
    next.max(not_before)
}

/// Asks, and whatever else is done to a bucket of which slices are out; `balance + held` is never above the burst.
#[test]
fn slices_are_granted_and_everything_else_decided_beside_them_as_core_says() {
    for engine in Engine::all() {
        let (_server, mut connection) = ready(engine);
        let (mut rng, keys) = (Rng::with_seed(2_026), KeySpace::default());
        let identity = RuleIdentity::new("exactness", "leased");
        let (mut histories, mut steps, mut grants, mut changes) = (0, 0, 0, 0);
        while histories < histories_on(engine, 5_000) {
            let mut now = 1_700_000_000_000_000 + rng.u64(..1_000_000_000_000_000);
            let (begun, mut latest) = (now, now);
            let mut rule = Rule::new(&mut rng, now);
            let client = |index: usize| Client {
                key: keys.bucket(&identity, index as u64).unwrap(),
                stored: Stored::Absent,
                records: [None; NODES],
                asked: 0,
            };
            let mut clients: Vec<Client> = (0..GROUP).map(client).collect();
            let mut sent = Vec::new();
            for _ in 0..TICKS {
                // A clock that is set back to before a change is the affair of `rules`.
                let not_before =
                    if rule.changes > 0 { rule.history.since_micros().max(latest - SET_BACK) } else { begun };
                now = tick(&mut rng, rule.terms.life_micros(), now, not_before);
                if now >= latest {
                    latest = now;
                    if rng.u32(..3) == 0 {
                        changes += usize::from(rule.change(now));
                    }
                }
                let (mut batch, mut said) = (Batch::new(), Vec::new());
                for client in &mut clients {
                    let rng = &mut rng;
                    said.push(match rng.u32(..10) {
                        0..=5 => client.ask(rng, &rule, &mut batch, now),
                        6 | 7 => client.check(rng, &rule, &mut batch, now),
                        _ => client.change(rng, &rule, &mut batch, now),
                    });
                    let burst = rule.terms.limit().burst().as_micros();
                    if let (Stored::Leased(bucket), 0) = (client.stored, rule.changes) {
                        let held = bucket.held_new + bucket.held_old;
                        assert!(bucket.balance + held.cast_signed() <= burst.cast_signed());
                    }
                }
                connection.send(&batch.call().at_micros(now).evalsha());
                sent.push((batch, said, now));
            }
            for (batch, said, now) in sent {
                let told = batch.read(&connection.read()).unwrap();
                for (at, (told, said)) in told.iter().zip(said).enumerate() {
                    assert_eq!(as_said(told), said, "{engine:?}, client {at} at {now}: {told:?}");
                    steps += 1;
                    grants += usize::from(
                        matches!(said, Said::Leased(Some(answer)) if answer.granted > Tokens::ZERO),
                    );
                }
            }
            connection.typed("FLUSHALL");
            histories += GROUP;
        }
        println!(
            "{engine:?}: {histories} histories, {steps} steps, {grants} grants, {changes} changes, no difference"
        );
    }
}
