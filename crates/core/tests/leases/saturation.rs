//! Leases under load: how much of the rate is used, and how many round trips that takes. One-way delays of 0.2 to 1 ms.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use tollgate_core::{
    Answer, Ask, Burst, Cost, LEASE_LIFE, Lease, LeaseTerms, LedgerBucket, Limit, Moment, NodeRecord, Rate,
    Spending, ask_ledger,
};
use tollgate_sim::checker::{Judgement, Promise, judge};
use tollgate_sim::history::Event;
use tollgate_sim::seeds::{Rng, for_each_seed};

use super::fleet::{BEGIN, SkewedClock};

/// Checks per second at every node, against one bucket; each costs a token.
pub(crate) struct Load<'a> {
    pub(crate) per_second: u64,
    pub(crate) burst: u64,
    pub(crate) demands: &'a [u64],
    pub(crate) seconds: u64,
}

/// What came of it.
pub(crate) struct Outcome {
    /// Tokens that a single bucket would have admitted, or nearly so, and leases did not.
    pub(crate) unused: f64,
    /// Admitted, of what a single bucket would have admitted.
    pub(crate) utilisation: f64,
    pub(crate) round_trips_per_check: f64,
    pub(crate) judgement: Judgement,
}

/// Rules that just suit, or well, for one node up to twelve, with even and uneven demand, from less than the rate to three times as much.
pub(crate) fn of_any_suited_rule(seeds: Range<u64>, mut judge: impl FnMut(&Load<'_>, f64, Outcome)) {
    for_each_seed(seeds, |rng| {
        let nodes = rng.u64(1..=12);
        let per_second = 250 * nodes * [1, 1, 2, 5][rng.usize(0..4)];
        let burst = 50 * nodes * [1, 1, 2, 10, 40][rng.usize(0..5)];
        let factor = [0.7, 0.9, 1.0, 1.1, 1.5, 3.0][rng.usize(0..6)];
        let is_even = rng.bool();
        let parts: Vec<f64> = (0..nodes).map(|_| if is_even { 1.0 } else { rng.f64() + 0.05 }).collect();
        let of_part = per_second as f64 * factor / parts.iter().sum::<f64>();
        let demands: Vec<u64> = parts.iter().map(|part| (part * of_part) as u64).collect();
        let load = Load { per_second, burst, demands: &demands, seconds: 3 };
        judge(&load, factor, under(&load, rng.u64(..)));
    });
}

/// What happens next, and to which node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Check(usize),
    Idle(usize),
    /// The number of the message.
    Arrives(usize),
}

#[derive(Debug, Clone, Copy)]
enum Message {
    Ask(usize, Ask),
    Answer(usize, u64, Answer),
}

struct Run<'a> {
    load: &'a Load<'a>,
    terms: LeaseTerms,
    rng: Rng,
    queue: BinaryHeap<Reverse<(u64, Next)>>,
    messages: Vec<Message>,
    nodes: Vec<(Lease, SkewedClock)>,
    bucket: Option<LedgerBucket>,
    records: HashMap<usize, NodeRecord>,
    events: Vec<Event>,
    checks: u64,
    round_trips: u64,
}

/// Plays the load.
pub(crate) fn under(load: &Load<'_>, seed: u64) -> Outcome {
    let limit = Limit::new(Rate::per_second(load.per_second), Burst::tokens(load.burst)).unwrap();
    let nodes = u32::try_from(load.demands.len()).unwrap();
    let terms = LeaseTerms::new(&limit, nodes, LEASE_LIFE).unwrap();
    assert_eq!(terms.suits(Cost::ONE), Ok(()));
    let mut rng = Rng::with_seed(seed);
    let mut run = Run {
        load,
        terms,
        queue: BinaryHeap::new(),
        messages: Vec::new(),
        nodes: load.demands.iter().map(|_| (Lease::default(), SkewedClock::any(&mut rng))).collect(),
        rng,
        bucket: None,
        records: HashMap::new(),
        events: Vec::new(),
        checks: 0,
        round_trips: 0,
    };
    run.play();
    let most = run.checks.min(load.per_second * load.seconds + load.burst);
    Outcome {
        unused: most as f64 - run.events.len() as f64,
        utilisation: run.events.len() as f64 / most as f64,
        round_trips_per_check: run.round_trips as f64 / run.checks as f64,
        judgement: judge(run.events, &Promise::of(limit)),
    }
}

impl Run<'_> {
    fn play(&mut self) {
        for node in 0..self.nodes.len() {
            self.at(BEGIN + node as u64, Next::Check(node));
            self.at(BEGIN, Next::Idle(node));
        }
        while let Some(Reverse((now, next))) = self.queue.pop() {
            if now > BEGIN + self.load.seconds * 1_000_000 {
                break;
            }
            match next {
                Next::Check(node) => self.check(node, now),
                Next::Idle(node) => {
                    let (lease, clock) = &mut self.nodes[node];
                    let ask = lease.idle(&self.terms, clock.now(now));
                    self.send(node, ask, now);
                    self.at(now + self.terms.life_micros() / 4, Next::Idle(node));
                }
                Next::Arrives(message) => self.deliver(self.messages[message], now),
            }
        }
    }

    fn at(&mut self, when: u64, next: Next) {
        self.queue.push(Reverse((when, next)));
    }

    fn check(&mut self, node: usize, now: u64) {
        self.checks += 1;
        let (lease, clock) = &mut self.nodes[node];
        let ask = match lease.spend(&self.terms, Cost::ONE, clock.now(now)) {
            Spending::Spent { ask, .. } => {
                let now = Moment::from_nanos((now - BEGIN) * 1_000);
                self.events.push(Event {
                    key: 0,
                    called: now,
                    answered: now,
                    cost: 1_000_000,
                    admitted: true,
                });
                ask
            }
            Spending::Asks(ask) => Some(ask),
            Spending::Denied { ask, .. } => ask,
            Spending::OnItsWay | Spending::Never => None,
        };
        self.send(node, ask, now);
        let mean = 1_000_000.0 / self.load.demands[node] as f64;
        let pause = -mean * (1.0 - self.rng.f64()).ln();
        self.at(now + (pause as u64).max(1), Next::Check(node));
    }

    fn send(&mut self, node: usize, ask: Option<Ask>, now: u64) {
        if let Some(ask) = ask {
            self.round_trips += 1;
            self.put(Message::Ask(node, ask), now);
        }
    }

    fn put(&mut self, message: Message, now: u64) {
        let delay = self.rng.u64(200..1_000);
        self.messages.push(message);
        self.at(now + delay, Next::Arrives(self.messages.len() - 1));
    }

    fn deliver(&mut self, message: Message, now: u64) {
        match message {
            Message::Ask(node, ask) => {
                let asked = ask_ledger(&self.terms, self.bucket, self.records.get(&node).copied(), &ask, now);
                if let Some((bucket, record)) = asked.write {
                    self.bucket = Some(bucket);
                    self.records.insert(node, record);
                }
                self.put(Message::Answer(node, ask.seq, asked.answer.unwrap()), now);
            }
            Message::Answer(node, seq, answer) => {
                let (lease, clock) = &mut self.nodes[node];
                assert!(lease.answered(&self.terms, seq, &answer, clock.now(now)));
            }
        }
    }
}
