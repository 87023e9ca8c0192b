//! Late replies of a shared store, played at random: each instance decides by [`ProvenBalance`] what has no reply by the deadline, and the store
//! is corrected when the reply comes. One instance never admits beyond the limit; several repay what they admitted too much.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]
#![expect(clippy::cast_precision_loss, reason = "a few thousand tokens")]

use std::collections::VecDeque;

use tollgate_core::{
    Burst, Cost, Limit, LocalShare, Moment, ProvenBalance, Rate, Span, StampedBalance, StampedLevel,
};
use tollgate_sim::checker::{Promise, judge, worst_ratio};
use tollgate_sim::history::Event;
use tollgate_sim::seeds::{Rng, for_each_seed};

/// Milliseconds that a caller waits.
const DEADLINE: u64 = 15;
/// Milliseconds from a call to its reply, if nothing is held back.
const ROUND_TRIP: u64 = 1;

/// A defect that instances are given, to see that the test finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    None,
    /// Calls without a reply are not taken off.
    InFlightForgotten,
    /// An admission that the store denied is not charged to it.
    NotChargedAfterwards,
    /// A charge of the store for a check that was denied here stays.
    NotGivenBack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// Admit and charge, or deny.
    Check(usize),
    /// Charge, into debt if need be.
    Charge,
}

/// A reply on its way to an instance.
struct Reply {
    call: Call,
    cost: Cost,
    is_admitted: bool,
    micros: i64,
    store_micros: u64,
    due: u64,
}

/// One check of an instance.
struct Check {
    called: u64,
    cost: Cost,
    /// When it was decided and whether it was admitted.
    decided: Option<(u64, bool)>,
}

#[derive(Default)]
struct Instance {
    proven: ProvenBalance,
    checks: Vec<Check>,
    replies: VecDeque<Reply>,
    /// All checks before this one are decided.
    undecided: usize,
    /// Replies are held back until then.
    held_until: u64,
}

struct World {
    limit: Limit,
    /// Micro-tokens of debt that the store takes at the most: a burst for each instance.
    debt_max: i64,
    share: LocalShare,
    store: StampedBalance,
    instances: Vec<Instance>,
    defect: Defect,
    /// Milliseconds from a call to its reply, if nothing is held back.
    latency: u64,
}

fn at(millis: u64) -> Moment {
    Moment::from_nanos(1_000_000_000 + millis * 1_000_000)
}

impl World {
    fn new(limit: Limit, instances: u32, defect: Defect) -> World {
        World {
            limit,
            debt_max: i64::from(instances) * limit.burst().as_micros().cast_signed(),
            share: LocalShare::new(&limit, instances).unwrap(),
            store: StampedBalance::full(at(0)),
            instances: (0..instances).map(|_| Instance::default()).collect(),
            defect,
            latency: ROUND_TRIP,
        }
    }

    /// Sends a call: the store does it at once, and its reply is on its way.
    fn call(&mut self, of: usize, call: Call, cost: Cost, now: u64) {
        let level = StampedLevel::new(&self.limit, self.store, at(now));
        let is_admitted = call == Call::Charge || level.micros() >= cost.as_micros().cast_signed();
        let taken = match call {
            Call::Charge => cost.as_micros().min((level.micros() + self.debt_max).max(0).unsigned_abs()),
            Call::Check(_) => cost.as_micros(),
        };
        let after = if is_admitted { level.charged(taken) } else { level };
        if is_admitted {
            self.store = after.stored();
        }
        let instance = &mut self.instances[of];
        instance.proven.sent(cost);
        let due = (now + self.latency).max(instance.held_until);
        let (micros, store_micros) = (after.micros(), now * 1_000);
        instance.replies.push_back(Reply { call, cost, is_admitted, micros, store_micros, due });
    }

    fn check(&mut self, of: usize, cost: Cost, now: u64) {
        let instance = &mut self.instances[of];
        instance.checks.push(Check { called: now, cost, decided: None });
        let number = instance.checks.len() - 1;
        self.call(of, Call::Check(number), cost, now);
    }

    /// Hears what has arrived, in any order, and decides what is overdue.
    fn step(&mut self, of: usize, now: u64, rng: &mut Rng) {
        let mut arrived = Vec::new();
        while let Some(reply) = self.instances[of].replies.pop_front_if(|reply| reply.due <= now) {
            arrived.push(reply);
        }
        rng.shuffle(&mut arrived);
        for reply in arrived {
            self.hear(of, &reply, now);
        }
        let Instance { proven, checks, undecided, .. } = &mut self.instances[of];
        while let Some(check) = checks.get_mut(*undecided).filter(|check| now >= check.called + DEADLINE) {
            *undecided += 1;
            if check.decided.is_some() {
                continue;
            }
            let full = self.limit.burst();
            let held = if self.defect == Defect::InFlightForgotten {
                let mut forgetful = proven.clone();
                forgetful.not_done(Cost::micros(u64::MAX));
                forgetful
                    .micros(Some(&self.share), full, at(now))
                    .map(|held| held - check.cost.as_micros().cast_signed())
            } else {
                // The check itself is without a reply, too.
                proven.micros(Some(&self.share), full, at(now))
            };
            let is_admitted = held.is_some_and(|held| held >= 0);
            check.decided = Some((now, is_admitted));
            // The store's charge for it will be given back.
            if !is_admitted {
                proven.not_done(check.cost);
            }
        }
    }

    fn hear(&mut self, of: usize, reply: &Reply, now: u64) {
        let Instance { proven, checks, .. } = &mut self.instances[of];
        let decided = if let Call::Check(number) = reply.call { checks[number].decided } else { None };
        if let Some((_, false)) = decided {
            proven.heard(reply.micros, reply.store_micros, at(now));
        } else {
            proven.replied(reply.cost, reply.micros, reply.store_micros, at(now));
        }
        let Call::Check(number) = reply.call else { return };
        let check = &mut checks[number];
        match (check.decided, reply.is_admitted) {
            (None, is_admitted) => check.decided = Some((now, is_admitted)),
            (Some((_, true)), false) if self.defect != Defect::NotChargedAfterwards => {
                self.call(of, Call::Charge, reply.cost, now);
            }
            (Some((_, false)), true) if self.defect != Defect::NotGivenBack => {
                // Tokens minted since the charge may have been lost to a full bucket, so they are kept back.
                let since = Span::from_micros(now * 1_000 - reply.store_micros);
                let kept_back = self.limit.minted_in(since).as_micros() + 1;
                let level = StampedLevel::new(&self.limit, self.store, at(now));
                self.store = level.given(reply.cost.as_micros().saturating_sub(kept_back)).stored();
            }
            _ => {}
        }
    }

    /// Replies are held back 5 % of the time, for 20 to 100 ms; each instance asks by its own `demand`, per second.
    fn play(&mut self, millis: u64, demand: &[u64], rng: &mut Rng) {
        for now in 0..millis + 300 {
            for (of, demand) in demand.iter().enumerate() {
                if now < millis && rng.u64(0..1_140) == 0 && self.instances[of].held_until <= now {
                    self.instances[of].held_until = now + rng.u64(20..101);
                    let until = self.instances[of].held_until;
                    self.instances[of].replies.iter_mut().for_each(|reply| reply.due = reply.due.max(until));
                }
                self.step(of, now, rng);
                for _ in 0..demand / 1_000 + u64::from(rng.u64(0..1_000) < demand % 1_000) {
                    if now < millis {
                        self.check(of, Cost::ONE, now);
                    }
                }
            }
        }
    }

    fn admitted(&self) -> Vec<Event> {
        let checks = self.instances.iter().flat_map(|instance| &instance.checks);
        let event = |check: &Check| {
            let (answered, admitted) = check.decided?;
            let (called, answered) = (at(check.called), at(answered));
            let cost = check.cost.as_micros().cast_signed();
            Some(Event { key: 0, called, answered, cost, admitted }).filter(|_| admitted)
        };
        checks.filter_map(event).collect()
    }
}

fn limit(rate: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(rate), Burst::tokens(burst)).unwrap()
}

#[test]
fn one_instance_never_exceeds_the_limit() {
    for_each_seed(0..100, |rng| {
        let limit = limit(rng.u64(1..300), rng.u64(1..200));
        let mut world = World::new(limit, 1, Defect::None);
        world.play(3_000, &[rng.u64(1..2_000)], rng);
        judge(world.admitted(), &Promise::of(limit)).assert_kept();
    });
}

#[test]
fn saturated_instances_stay_within_two_percent() {
    for_each_seed(0..20, |rng| {
        let limit = limit(100, 100);
        let mut world = World::new(limit, 2, Defect::None);
        world.play(20_000, &[500, 500], rng);
        let admitted = world.admitted();
        let worst = worst_ratio(admitted.clone(), limit, Span::from_secs(1));
        assert!(worst <= 1.02, "{worst}");
        assert!(admitted.len() as f64 >= 0.95 * 2_100.0, "{} used", admitted.len());
    });
}

/// A store that is always later than the deadline still serves a client that asks for twice its limit; less than the limit, since what is given
/// back after 50 ms is hardly anything.
#[test]
fn a_store_that_is_always_late_still_serves() {
    let limit = limit(100, 100);
    let mut world = World::new(limit, 1, Defect::None);
    world.instances[0].held_until = 0;
    world.latency = 50;
    world.play(10_000, &[200], &mut Rng::with_seed(3));
    let admitted = world.admitted();
    judge(admitted.clone(), &Promise::of(limit)).assert_kept();
    assert!(admitted.len() > 200, "{} of 1100", admitted.len());
}

/// Tokens that other instances spent meanwhile are admitted once more at the most, and then repaid.
#[test]
fn any_demand_exceeds_by_less_than_a_burst_of_each_other() {
    for_each_seed(0..60, |rng| {
        let limit = limit(rng.u64(1..300), rng.u64(1..200));
        let count = rng.u32(2..5);
        let demand: Vec<u64> = (0..count).map(|_| rng.u64(1..600)).collect();
        let mut world = World::new(limit, count, Defect::None);
        world.play(5_000, &demand, rng);
        let judgement = judge(world.admitted(), &Promise::of(limit));
        let excess = judgement.worst().map_or(0, |worst| worst.excess);
        let others = i128::from(count - 1) * i128::from(limit.burst().as_micros());
        let refill = i128::from(limit.minted_in(Span::from_millis(120)).as_micros());
        assert!(excess <= others + refill, "{judgement}");
    });
}

/// Hardly any refill: then the store has been charged exactly what was admitted.
fn unaccounted(defect: Defect, rng: &mut Rng) -> i64 {
    let limit = Limit::new(Rate::per_day(1), Burst::tokens(1_000)).unwrap();
    let mut world = World::new(limit, 3, defect);
    // The first replies are late, so that nothing is proven of the bucket.
    world.instances[0].held_until = 60;
    world.play(2_000, &[300, 200, 400], rng);
    // To the nearest token: a few micro-tokens are minted, or kept back.
    let left = (StampedLevel::new(&limit, world.store, at(2_300)).micros() + 500_000).div_euclid(1_000_000);
    1_000 - left - i64::try_from(world.admitted().len()).unwrap()
}

#[test]
fn each_admission_is_charged_once() {
    for_each_seed(0..50, |rng| assert_eq!(unaccounted(Defect::None, rng), 0));
}

#[test]
fn each_defect_is_found() {
    let mut rng = Rng::with_seed(1);
    assert!((0..20).any(|_| unaccounted(Defect::NotChargedAfterwards, &mut rng) < 0), "free tokens");
    assert!((0..20).any(|_| unaccounted(Defect::NotGivenBack, &mut rng) > 0), "lost tokens");
    let exceeds = |rng: &mut Rng| {
        let limit = limit(50, 100);
        let mut world = World::new(limit, 1, Defect::InFlightForgotten);
        world.play(3_000, &[1_500], rng);
        !judge(world.admitted(), &Promise::of(limit)).is_kept()
    };
    assert!((0..20).any(|_| exceeds(&mut rng)), "calls in flight are spent twice");
}
