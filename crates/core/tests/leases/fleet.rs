//! Nodes with leases, a ledger, and wires between them that lose, double, delay and reorder. In virtual time.
//!
//! True time is the ledger's, in microseconds, unless its clock is set back; each node has a monotonic clock of its own, up to one part in a thousand off.

use std::collections::HashMap;
use std::rc::Rc;

use tollgate_core::{
    Answer, Ask, Cost, Lease, LeaseTerms, LedgerBucket, LedgerSpend, Limit, Moment, NodeRecord, Span,
    Spending, Taken, Tokens, ask_ledger,
};
use tollgate_sim::checker::{Judgement, Promise, judge};
use tollgate_sim::history::Event;
use tollgate_sim::seeds::Rng;

use super::mistake::Mistake;

/// When the history begins, µs of the ledger's clock.
pub(crate) const BEGIN: u64 = 1_760_000_000_000_000;

/// A monotonic clock that is not the ledger's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SkewedClock {
    /// Nanoseconds.
    offset: u64,
    /// Parts in a million that it runs fast.
    fast: i64,
}

impl SkewedClock {
    pub(crate) fn any(rng: &mut Rng) -> SkewedClock {
        let fast = if rng.bool() { rng.i64(-1_000..=1_000) } else { [-1_000, 0, 1_000][rng.usize(0..3)] };
        SkewedClock { offset: rng.u64(..) >> 8, fast }
    }

    pub(crate) fn now(&self, micros: u64) -> Moment {
        let passed = u128::from(micros - BEGIN) * u128::from((1_000_000 + self.fast).unsigned_abs()) / 1_000;
        Moment::from_nanos(self.offset + u64::try_from(passed).unwrap())
    }
}

/// One process of the fleet, under a name that no other has or had.
pub(crate) struct Node {
    pub(crate) lease: Lease,
    pub(crate) name: u64,
    pub(crate) clock: SkewedClock,
    /// What checks over several buckets have taken that are not decided yet, with their costs and since when.
    open: Vec<(Taken, u64, u64)>,
}

/// What is on a wire.
#[derive(Debug, Clone)]
enum Message {
    /// With the terms of whoever asks.
    Ask(Ask, Rc<LeaseTerms>),
    Answer(u64, Answer),
}

#[derive(Debug, Clone)]
struct Wire {
    arrives: u64,
    node: usize,
    name: u64,
    message: Message,
}

/// How the wires behave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// Of 100 messages.
    pub(crate) lost: u32,
    pub(crate) doubled: u32,
    /// The longest delay, µs; most are short.
    pub(crate) delay_max: u64,
}

/// All of it.
pub(crate) struct Fleet {
    pub(crate) terms: Rc<LeaseTerms>,
    pub(crate) nodes: Vec<Node>,
    /// True time, µs.
    pub(crate) now: u64,
    /// How far the ledger's clock is behind it by now, µs.
    behind: u64,
    bucket: Option<LedgerBucket>,
    records: HashMap<u64, NodeRecord>,
    wires: Vec<Wire>,
    weather: Weather,
    mistake: Mistake,
    names: u64,
    events: Vec<Event>,
    /// Limits that were in force before, and until when.
    past: Vec<(Limit, u64)>,
}

impl Fleet {
    pub(crate) fn new(
        terms: &LeaseTerms,
        nodes: usize,
        weather: Weather,
        mistake: Mistake,
        rng: &mut Rng,
    ) -> Fleet {
        let mut fleet = Fleet {
            terms: Rc::new(*terms),
            nodes: Vec::new(),
            now: BEGIN,
            behind: 0,
            bucket: None,
            records: HashMap::new(),
            wires: Vec::new(),
            weather,
            mistake,
            names: 0,
            events: Vec::new(),
            past: Vec::new(),
        };
        for _ in 0..nodes {
            let node = fleet.newcomer(rng);
            fleet.nodes.push(node);
        }
        fleet
    }

    fn newcomer(&mut self, rng: &mut Rng) -> Node {
        self.names += 1;
        Node { lease: Lease::default(), name: self.names, clock: SkewedClock::any(rng), open: Vec::new() }
    }

    /// The process dies with all it holds, and another takes its place.
    pub(crate) fn crash(&mut self, node: usize, rng: &mut Rng) {
        self.nodes[node] = self.newcomer(rng);
    }

    /// The ledger's clock is set back, and stays so.
    pub(crate) fn set_back(&mut self, micros: u64) {
        self.behind += micros;
    }

    /// Another limit is in force at all nodes; what is on its way was asked under the old one.
    pub(crate) fn change(&mut self, limit: &Limit) {
        // One that is too fine for a ledger is refused, and the old one stays.
        let Ok(terms) = self.terms.changed(limit, self.ledger_now()) else { return };
        self.past.push((*self.terms.limit(), self.now));
        self.terms = Rc::new(terms);
    }

    /// What the ledger's clock says.
    fn ledger_now(&self) -> u64 {
        self.now - self.behind
    }

    /// Lets time pass; what arrives meanwhile is delivered when it does.
    pub(crate) fn pass(&mut self, micros: u64, rng: &mut Rng) {
        let until = self.now + micros;
        while let Some(next) = self.next_wire(until) {
            let wire = self.wires.swap_remove(next);
            self.now = wire.arrives;
            match &wire.message {
                Message::Ask(ask, terms) => self.process(&wire, *ask, terms, rng),
                Message::Answer(seq, answer) => self.receive(&wire, *seq, answer),
            }
        }
        self.now = until;
    }

    fn next_wire(&self, until: u64) -> Option<usize> {
        let due = (0..self.wires.len()).filter(|wire| self.wires[*wire].arrives <= until);
        due.min_by_key(|wire| self.wires[*wire].arrives)
    }

    fn process(&mut self, wire: &Wire, ask: Ask, terms: &LeaseTerms, rng: &mut Rng) {
        let record = self.records.get(&wire.name).copied();
        let ask_heard = self.mistake.heard(ask, record.as_ref());
        let bucket = self.bucket.map(|bucket| self.mistake.read(bucket, terms, self.ledger_now()));
        let asked = ask_ledger(terms, bucket, record, &ask_heard, self.ledger_now());
        if let Some((bucket, record)) = asked.write {
            let held = (bucket.held_new + bucket.held_old).cast_signed();
            let most = (terms.ledger().burst().cast_signed() - held).max(0);
            assert!(bucket.balance <= most, "{bucket:?}");
            self.bucket = Some(bucket);
            self.records.insert(wire.name, record);
        }
        if let Some(answer) = asked.answer {
            self.put(wire.node, wire.name, &Message::Answer(ask.seq, answer), rng);
        }
    }

    fn receive(&mut self, wire: &Wire, seq: u64, answer: &Answer) {
        let node = &mut self.nodes[wire.node];
        if node.name != wire.name {
            return;
        }
        let now = node.clock.now(self.now);
        let terms = match (self.mistake, node.lease.on_its_way()) {
            (Mistake::LifeFromReceipt, Some((_, sent))) => {
                let life = self.terms.life() + now.since(sent);
                LeaseTerms::new(self.terms.limit(), 1, life.min(Span::from_secs(60))).unwrap()
            }
            _ => *self.terms,
        };
        node.lease.answered(&terms, seq, &self.mistake.received(*answer), now);
    }

    /// Sends an ask of a node, as far as the weather allows.
    pub(crate) fn send(&mut self, node: usize, ask: Ask, rng: &mut Rng) {
        self.put(node, self.nodes[node].name, &Message::Ask(ask, Rc::clone(&self.terms)), rng);
    }

    fn put(&mut self, node: usize, name: u64, message: &Message, rng: &mut Rng) {
        let Weather { lost, doubled, delay_max } = self.weather;
        let copies = u32::from(rng.u32(0..100) >= lost) + u32::from(rng.u32(0..100) < doubled);
        for _ in 0..copies {
            let delay = match rng.u8(0..8) {
                0..=2 => 0,
                3..=5 => rng.u64(0..500).min(delay_max),
                _ => rng.u64(0..=delay_max),
            };
            self.wires.push(Wire { arrives: self.now + delay, node, name, message: message.clone() });
        }
    }

    /// A check on a node; what it asks for is sent, as `altered` says. Whether it was admitted.
    pub(crate) fn check(
        &mut self,
        node: usize,
        cost: Cost,
        altered: impl Fn(Ask) -> Ask,
        rng: &mut Rng,
    ) -> bool {
        let Node { lease, clock, .. } = &mut self.nodes[node];
        let (ask, is_admitted) = match lease.spend(&self.terms, cost, clock.now(self.now)) {
            Spending::Spent { ask, .. } => (ask, true),
            Spending::Asks(ask) => (Some(ask), false),
            Spending::Denied { ask, .. } => (ask, false),
            Spending::OnItsWay | Spending::Never => (None, false),
        };
        if is_admitted {
            self.record(cost.as_micros());
        }
        if let Some(ask) = ask {
            self.send(node, altered(ask), rng);
        }
        is_admitted
    }

    /// Spends all that is ready on a node.
    pub(crate) fn spend_all(&mut self, node: usize, altered: impl Fn(Ask) -> Ask, rng: &mut Rng) {
        let Node { lease, clock, .. } = &mut self.nodes[node];
        let ready = lease.ready(clock.now(self.now)).as_micros();
        // More than a burst that was lowered takes several checks.
        let burst = self.terms.ledger().burst();
        for spent in (0..ready).step_by(usize::try_from(burst).unwrap()) {
            assert!(self.check(node, Cost::micros(burst.min(ready - spent)), &altered, rng));
        }
    }

    /// A check over several buckets takes what it needs here, and waits for the others.
    pub(crate) fn take(&mut self, node: usize, cost: Cost) {
        let Node { lease, clock, open, .. } = &mut self.nodes[node];
        if let Some(taken) = lease.take(&self.terms, cost, clock.now(self.now)) {
            open.push((taken, cost.as_micros(), self.now));
        }
    }

    /// The first of those is admitted, or puts back what it took.
    pub(crate) fn decide(&mut self, node: usize, is_admitted: bool, rng: &mut Rng) {
        let Node { lease, clock, open, .. } = &mut self.nodes[node];
        if open.is_empty() {
            return;
        }
        let ((taken, micros, since), now) = (open.remove(0), clock.now(self.now));
        if is_admitted {
            let ask = lease.top_up(&self.terms, Cost::micros(micros), now);
            self.record_since(micros, since);
            if let Some(ask) = ask {
                self.send(node, ask, rng);
            }
        } else if !lease.put_back(taken, now) && self.mistake == Mistake::PutBackLate {
            self.record(micros);
        }
    }

    /// A node gives back all that it holds.
    pub(crate) fn give_back(&mut self, node: usize, rng: &mut Rng) {
        let Node { lease, clock, .. } = &mut self.nodes[node];
        let now = clock.now(self.now);
        let ready = lease.ready(now);
        let Some(ask) = lease.give_back(&self.terms, now) else { return };
        if self.mistake == Mistake::NotDeducted && ready > Tokens::ZERO {
            self.record(ready.as_micros());
        }
        self.send(node, ask, rng);
    }

    /// A node no longer waits for its answer.
    pub(crate) fn give_up(&mut self, node: usize) {
        let Node { lease, clock, .. } = &mut self.nodes[node];
        let now = clock.now(self.now);
        let Some((ask, _)) = lease.on_its_way() else { return };
        if self.mistake == Mistake::RenewedByLoss {
            let renewed = Answer { granted: Tokens::ZERO, wait: Span::ZERO, held: ask.unspent, balance: 0 };
            lease.answered(&self.terms, ask.seq, &renewed, now);
        }
        lease.lost(&self.terms, ask.seq, now);
    }

    /// A check without a lease takes all that nobody holds.
    pub(crate) fn spend_at_the_ledger(&mut self) {
        let bucket = self.bucket.unwrap_or(LedgerBucket::full(&self.terms, self.ledger_now()));
        let bucket = self.mistake.read(bucket, &self.terms, self.ledger_now());
        let Ok(balance @ 1..) = u64::try_from(bucket.at(&self.terms, self.ledger_now()).balance) else {
            return;
        };
        let LedgerSpend::Spent(spent) =
            LedgerBucket::spend(Some(bucket), &self.terms, balance, self.ledger_now())
        else {
            panic!("{balance} of {bucket:?}");
        };
        self.bucket = Some(spent);
        self.record(balance);
    }

    fn record(&mut self, micros: u64) {
        self.record_since(micros, self.now);
    }

    fn record_since(&mut self, micros: u64, since: u64) {
        let at = |micros| Moment::from_nanos((micros - BEGIN) * 1_000);
        let cost = i64::try_from(micros).unwrap();
        self.events.push(Event { key: 0, called: at(since), answered: at(self.now), cost, admitted: true });
    }

    /// Was the promise kept over all nodes, in every interval? A limit that was replaced may still be made use of by whoever was given
    /// something under it, or has asked before: for a life, and as long as messages take.
    pub(crate) fn judge(self) -> Judgement {
        let grace = 2 * self.weather.delay_max + 4 * self.terms.life_micros();
        let ends = self.past.iter().map(|(_, until)| until + grace);
        let mut turns: Vec<u64> = self.past.iter().map(|(_, until)| *until).chain(ends).collect();
        turns.sort_unstable();
        let in_force = |at: u64| {
            let starts = [0].into_iter().chain(self.past.iter().map(|(_, until)| *until));
            let untils = self.past.iter().map(|(limit, until)| (*limit, until + grace));
            let all = starts.zip(untils.chain([(*self.terms.limit(), u64::MAX)]));
            let active =
                all.filter(|(from, (_, until))| *from <= at && at < *until).map(|(_, (limit, _))| limit);
            active.reduce(|a, b| more_generous(&a, &b)).unwrap()
        };
        let promise = turns.iter().fold(Promise::of(in_force(0)), |promise, turn| {
            promise.then(Moment::from_nanos((turn - BEGIN) * 1_000), in_force(*turn))
        });
        judge(self.events, &promise)
    }
}

/// The faster rate and the larger burst of the two.
fn more_generous(a: &Limit, b: &Limit) -> Limit {
    let ([micros, nanos, burst], [other_micros, other_nanos, other_burst]) = (a.terms(), b.terms());
    let is_slower =
        u128::from(micros) * u128::from(other_nanos) < u128::from(other_micros) * u128::from(nanos);
    let (micros, nanos) = if is_slower { (other_micros, other_nanos) } else { (micros, nanos) };
    Limit::from_terms([micros, nanos, burst.max(other_burst)]).unwrap()
}
