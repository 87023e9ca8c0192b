//! A limiter that many threads use in every way at once, and the promise of each of its buckets.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tollgate::{
    Breadth, Burst, Charge, Clock, Cost, Limit, Limiter, Moment, Rate, Rule, Span, TableFull, Verdict,
};
use tollgate_sim::checker::{Judgement, Promise, judge_each};
use tollgate_sim::history::{Lane, Recorder};
use tollgate_sim::seeds::Rng;

/// More than there are cores.
const THREADS: u64 = 8;
/// Between two changes of a limit.
const PAUSE: Span = Span::from_millis(3);
/// In a history, a bucket is its rule's number times this, plus its client's.
const CLIENTS_MAX: u64 = 1_000_000;

/// What is tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) keys_max: usize,
    pub(crate) table_full: TableFull,
    pub(crate) clients: u64,
    /// Rules from narrow to broad; the first is the one with tiers and changes.
    pub(crate) rules: usize,
    /// Whether clients move between two tiers.
    pub(crate) tiers: bool,
    pub(crate) operations: u64,
    /// How far the clock's readings in two threads may lie apart.
    pub(crate) clock_error: Span,
    pub(crate) seed: u64,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) judgement: Judgement,
    pub(crate) stats: tollgate::Stats,
    pub(crate) admitted: u64,
    pub(crate) denied: u64,
    pub(crate) changes: usize,
}

/// One rule under test.
struct Subject {
    /// The rule itself and, of the first, its tier.
    handles: Vec<Rule>,
    /// How many buckets it has.
    buckets: u64,
}

/// A change of the first rule's limit: called, answered, and the limit from then on.
type Change = (Moment, Moment, Limit);

struct World<'a> {
    setting: Setting,
    limiter: &'a Limiter,
    subjects: Vec<Subject>,
    recorder: &'a Recorder,
    is_over: AtomicBool,
    changes: Mutex<Vec<Change>>,
}

fn per_second(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(tokens), Burst::tokens(burst)).unwrap()
}

/// The limits that the first rule goes through; its tier always has the last.
const FIRST_LIMITS: [(u64, u64); 4] = [(1_000, 20), (200, 50), (3_000, 5), (1_500, 60)];
/// The limits of the broader rules.
const BROADER_LIMITS: [(u64, u64); 2] = [(20_000, 300), (100_000, 1_000)];

/// Runs a setting in real time.
pub(crate) fn run(setting: Setting) -> Outcome {
    let clock = if setting.clock_error == Span::ZERO { Clock::instant() } else { Clock::system() };
    let (rate, burst) = FIRST_LIMITS[0];
    let builder = Limiter::builder().keys_max(setting.keys_max).table_full(setting.table_full).clock(clock);
    let limiter = builder.build(per_second(rate, burst)).unwrap();
    let recorder = Recorder::new();
    let world = World::new(setting, &limiter, &recorder);
    let mut verdicts = [0; 2];
    thread::scope(|scope| {
        let changer = scope.spawn(|| world.change_limits());
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let world = &world;
                    move || world.work(thread)
                })
            })
            .collect();
        for thread in threads {
            let [admitted, denied] = thread.join().unwrap();
            verdicts = [verdicts[0] + admitted, verdicts[1] + denied];
        }
        world.is_over.store(true, Ordering::Relaxed);
        changer.join().unwrap();
    });
    let changes = world.changes.into_inner().unwrap();
    let promises = promises(&setting, &changes);
    let judgement = judge_each(recorder.into_events(), |key| {
        promises[usize::try_from(key / CLIENTS_MAX).unwrap()].clone()
    });
    let [admitted, denied] = verdicts;
    Outcome { judgement, stats: limiter.stats(), admitted, denied, changes: changes.len() }
}

impl<'a> World<'a> {
    fn new(setting: Setting, limiter: &'a Limiter, recorder: &'a Recorder) -> World<'a> {
        let mut handles = vec![limiter.default_rule().clone()];
        if setting.tiers {
            let (rate, burst) = FIRST_LIMITS[3];
            handles.push(handles[0].tier("pro", per_second(rate, burst)).unwrap());
        }
        let mut subjects = vec![Subject { handles, buckets: setting.clients }];
        let broader = [("group", Breadth::Group, 5), ("global", Breadth::Everyone, 1)];
        for ((name, breadth, buckets), (rate, burst)) in
            broader.into_iter().zip(BROADER_LIMITS).take(setting.rules - 1)
        {
            let rule = limiter.shared_rule(name, per_second(rate, burst), breadth).unwrap();
            subjects.push(Subject { handles: vec![rule], buckets });
        }
        let changes = Mutex::new(Vec::new());
        World { setting, limiter, subjects, recorder, is_over: AtomicBool::new(false), changes }
    }

    /// Changes the first rule's limit now and then, and notes when.
    #[expect(
        clippy::disallowed_methods,
        reason = "real threads in real time: the changes are to meet checks under way"
    )]
    fn change_limits(&self) {
        let mut rng = Rng::with_seed(self.setting.seed);
        while !self.is_over.load(Ordering::Relaxed) {
            thread::sleep(PAUSE.into());
            let (rate, burst) = FIRST_LIMITS[rng.usize(0..FIRST_LIMITS.len())];
            let limit = per_second(rate, burst);
            let called = self.limiter.now();
            self.limiter.default_rule().set_limit(limit).unwrap();
            self.changes.lock().unwrap().push((called, self.limiter.now(), limit));
        }
    }

    /// One thread's operations; how many checks were admitted and how many denied.
    fn work(&self, thread: u64) -> [u64; 2] {
        let mut worker = Worker {
            world: self,
            lane: self.recorder.lane(),
            rng: Rng::with_seed(self.setting.seed << 8 | thread),
            charges: Vec::new(),
            keys: Vec::new(),
            verdicts: Vec::new(),
            counts: [0; 2],
        };
        for _ in 0..self.setting.operations / THREADS {
            worker.operate();
        }
        worker.counts
    }
}

/// One thread.
struct Worker<'w> {
    world: &'w World<'w>,
    lane: Lane<'w>,
    rng: Rng,
    charges: Vec<Charge>,
    /// Of each charge, the bucket in the history and the cost.
    keys: Vec<(u64, Cost)>,
    verdicts: Vec<Verdict>,
    counts: [u64; 2],
}

impl Worker<'_> {
    fn operate(&mut self) {
        let limiter = self.world.limiter;
        self.charges.clear();
        self.keys.clear();
        self.verdicts.clear();
        let kind = self.rng.u8(0..10);
        let called = limiter.now();
        match kind {
            0..5 => {
                let (rule, client, cost) = self.draw();
                let verdict = self.world.subjects[rule].handles[self.tier(rule)].check_n(client, cost);
                self.keys.push((rule as u64 * CLIENTS_MAX + client, cost));
                self.verdicts.push(verdict);
            }
            5..8 => {
                self.draw_many(2, 4, true);
                let verdict = limiter.check_all(&self.charges);
                self.verdicts.resize(self.charges.len(), verdict);
            }
            8 => {
                self.draw_many(1, 20, false);
                limiter.check_each(&self.charges, &mut self.verdicts);
            }
            _ => {
                let (rule, client, _) = self.draw();
                let _ = self.world.subjects[rule].handles[self.tier(rule)].peek(client);
            }
        }
        let (answered, error) = (limiter.now(), self.world.setting.clock_error);
        for ((key, cost), verdict) in self.keys.iter().zip(&self.verdicts) {
            assert!(!matches!(verdict, Verdict::Invalid(_)), "{verdict:?}");
            self.counts[usize::from(!verdict.is_admitted())] += 1;
            if verdict.is_admitted() {
                self.lane.check(*key, *cost, called - error, answered + error, true);
            }
        }
    }

    /// A rule, one of its clients, and a cost that every limit can bear.
    fn draw(&mut self) -> (usize, u64, Cost) {
        let rule = self.rng.usize(0..self.world.subjects.len());
        let client = self.rng.u64(0..self.world.subjects[rule].buckets);
        // A few clients get most of the checks.
        let client = if self.rng.bool() { client } else { client % 4 };
        (rule, client % self.world.subjects[rule].buckets, Cost::micros(self.rng.u64(1..=4) * 500_000))
    }

    fn draw_many(&mut self, least: usize, most: usize, joint: bool) {
        let tier = self.tier(0);
        for _ in 0..self.rng.usize(least..=most) {
            let (rule, client, cost) = self.draw();
            // One check has each client under one tier.
            let handle = match rule {
                0 if joint => tier,
                _ => self.tier(rule),
            };
            self.charges.push(self.world.subjects[rule].handles[handle].charge_n(client, cost));
            self.keys.push((rule as u64 * CLIENTS_MAX + client, cost));
        }
    }

    /// Under which limit of the rule.
    fn tier(&mut self, rule: usize) -> usize {
        self.rng.usize(0..self.world.subjects[rule].handles.len())
    }
}

/// The promise of each rule's buckets.
fn promises(setting: &Setting, changes: &[Change]) -> Vec<Promise> {
    let limit = |(rate, burst): (u64, u64)| per_second(rate, burst);
    // A client that moves between tiers was promised no more than the higher rate and the larger burst.
    let with_tier = |limit: Limit| if setting.tiers { larger(limit, per_second(1_500, 60)) } else { limit };
    let mut last = with_tier(limit(FIRST_LIMITS[0]));
    let mut first = Promise::of(last);
    for (called, answered, limit) in changes {
        // While the change was under way either limit may have held.
        let next = with_tier(*limit);
        first = first.then(*called - setting.clock_error, larger(last, next));
        first = first.then(*answered + setting.clock_error, next);
        last = next;
    }
    let broader = BROADER_LIMITS.map(|terms| Promise::of(limit(terms)));
    [first].into_iter().chain(broader).take(setting.rules).collect()
}

/// The higher rate and the larger burst of two limits that both have whole tokens per second.
fn larger(one: Limit, other: Limit) -> Limit {
    let per_nano = |limit: Limit| {
        let [micros, nanos, _] = limit.terms();
        micros * (1_000_000_000 / nanos) / 1_000_000
    };
    let burst = one.burst().max(other.burst());
    Limit::new(Rate::per_second(per_nano(one).max(per_nano(other))), Burst::micros(burst.as_micros()))
        .unwrap()
}
