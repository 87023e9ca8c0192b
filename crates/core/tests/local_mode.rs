//! Local mode (F1, PROTOCOLS 8): what an outage of the shared store lets through at most, over all nodes, and how to get that wrong.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]
#![expect(clippy::cast_precision_loss, reason = "an excess is a few thousand tokens")]

use tollgate_core::{
    Burst, Correction, Cost, Limit, LocalBucket, LocalDecision, LocalShare, LocalStart, Moment, Rate, Span,
    StampedBalance, StampedLevel, Tokens,
};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Event;
use tollgate_sim::seeds::{Rng, for_each_seed};

/// Milliseconds of one tick.
const TICK: u64 = 10;

/// What the nodes do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// The store is not told what was spent without it.
    NothingCharged,
    /// The store is asked as soon as it has been told.
    NoSettling,
    /// Each node keeps the whole limit.
    NoShare,
}

/// One outage. All in milliseconds.
#[derive(Debug, Clone)]
struct Outage {
    limit: Limit,
    from: u64,
    until: u64,
    /// How much later each node notices that the store is back.
    noticed: Vec<u64>,
    /// Nobody asks before this.
    idle_until: u64,
    end: u64,
    start: LocalStart,
    /// Whether nodes remember what the store said.
    remembers: bool,
}

struct Node {
    share: LocalShare,
    seen: Option<Tokens>,
    local: Option<LocalBucket>,
}

fn at(millis: u64) -> Moment {
    Moment::from_nanos(1_000_000_000 + millis * 1_000_000)
}

/// Plays it with more demand than there is; `demand` says which node asks for how many tokens at a tick.
fn played(outage: &Outage, mistake: Mistake, mut demand: impl FnMut(usize) -> u64) -> Vec<Event> {
    let instances =
        if mistake == Mistake::NoShare { 1 } else { u32::try_from(outage.noticed.len()).unwrap() };
    let share = LocalShare::new(&outage.limit, instances).unwrap();
    let mut nodes: Vec<Node> =
        outage.noticed.iter().map(|_| Node { share, seen: None, local: None }).collect();
    let mut store = StampedBalance::full(at(0));
    let mut events = Vec::new();
    for now in (outage.idle_until..outage.end).step_by(usize::try_from(TICK).unwrap()) {
        for (index, node) in nodes.iter_mut().enumerate() {
            let is_back = now >= outage.until + outage.noticed[index];
            let is_away = now >= outage.from && !is_back;
            if is_away && node.local.is_none() {
                let seen = node.seen.filter(|_| outage.remembers);
                node.local = Some(LocalBucket::enter(&node.share, seen, outage.start, at(now)));
            }
            if is_back {
                hand_over(node, &mut store, &outage.limit, mistake, at(now));
            }
            for _ in 0..demand(index) {
                if check(node, &mut store, &outage.limit, at(now)) {
                    let now = at(now);
                    events.push(Event {
                        key: 0,
                        called: now,
                        answered: now,
                        cost: 1_000_000,
                        admitted: true,
                    });
                }
            }
        }
    }
    events
}

fn hand_over(node: &mut Node, store: &mut StampedBalance, limit: &Limit, mistake: Mistake, now: Moment) {
    let Some(local) = &mut node.local else { return };
    let level = |store: &StampedBalance| StampedLevel::new(limit, *store, now);
    if let Some(charge) = local.store_is_back(&node.share, now) {
        if mistake != Mistake::NothingCharged {
            *store = level(store).charged(charge.as_micros()).stored();
        }
        local.is_charged(&node.share, now);
    }
    match local.settled(now) {
        Some(_) if mistake == Mistake::NothingCharged => node.local = None,
        Some(Correction::Charge(charge)) => {
            *store = level(store).charged(charge.as_micros()).stored();
            node.local = None;
        }
        Some(Correction::GiveBack(given)) => {
            *store = level(store).given(given.as_micros()).stored();
            node.local = None;
        }
        // What it holds is lost with it, but what others hold is not known yet.
        None if mistake == Mistake::NoSettling => node.local = None,
        None => {}
    }
}

fn check(node: &mut Node, store: &mut StampedBalance, limit: &Limit, now: Moment) -> bool {
    if let Some(local) = &mut node.local {
        return matches!(local.check(&node.share, Cost::ONE, now), LocalDecision::Admit { .. });
    }
    let level = StampedLevel::new(limit, *store, now);
    let is_admitted = level.held().whole() >= 1;
    if is_admitted {
        *store = level.charged(1_000_000).stored();
    }
    node.seen = Some(StampedLevel::new(limit, *store, now).held());
    is_admitted
}

/// Tokens above `burst + rate · d` in the worst interval; below 0 if there was room.
fn excess(limit: Limit, events: Vec<Event>) -> f64 {
    let judgement = judge(events, &Promise::of(limit));
    let micros = judgement.worst().map_or(0, |worst| worst.excess);
    micros as f64 / 1e6
}

/// Four nodes, burst 100, 10 per second, away from 10 to 40 s, noticed back within 0.45 s.
fn model(start: LocalStart, remembers: bool) -> Outage {
    Outage {
        limit: Limit::new(Rate::per_second(10), Burst::tokens(100)).unwrap(),
        from: 10_000,
        until: 40_000,
        noticed: vec![0, 100, 250, 450],
        idle_until: 9_990,
        end: 60_000,
        start,
        remembers,
    }
}

#[test]
fn an_outage_lets_through_a_burst_going_in_and_a_second_of_the_rate_coming_out_at_most() {
    let worst = |start, remembers| {
        let outage = model(start, remembers);
        excess(outage.limit, played(&outage, Mistake::None, |_| 25))
    };
    for (start, remembers, most) in
        [(LocalStart::Full, false, 110.0), (LocalStart::Full, true, 60.0), (LocalStart::Empty, false, 10.0)]
    {
        let worst = worst(start, remembers);
        assert!(worst <= most, "{start:?}, {remembers}: {worst}");
    }
}

#[test]
fn every_known_way_to_get_the_hand_over_wrong_is_caught() {
    for mistake in [Mistake::NothingCharged, Mistake::NoSettling, Mistake::NoShare] {
        let outage = model(LocalStart::Full, false);
        let worst = excess(outage.limit, played(&outage, mistake, |_| 25));
        assert!(worst > 110.0, "{mistake:?}: {worst}");
    }
}

/// Pushing all that a share lacks of its burst, as if the store had been full, would shut everybody out for ten seconds here.
#[test]
fn after_a_short_outage_a_busy_bucket_goes_on_at_its_rate() {
    let outage = Outage { idle_until: 0, from: 30_000, until: 31_000, ..model(LocalStart::Full, true) };
    let events = played(&outage, Mistake::None, |_| 25);
    let within = |from, until| {
        events.iter().filter(|event| event.called >= at(from) && event.called < at(until)).count()
    };
    assert_eq!(within(20_000, 30_000), 100, "before");
    assert!(within(30_000, 31_000) >= 6, "local: {}", within(30_000, 31_000));
    for second in 31..40 {
        let admitted = within(second * 1_000, second * 1_000 + 1_000);
        assert!((6..=24).contains(&admitted), "{admitted} in second {second}");
    }
    assert!((95..=110).contains(&within(31_000, 41_000)), "after: {}", within(31_000, 41_000));
}

#[test]
fn the_bound_holds_for_any_outage_and_any_demand() {
    for_each_seed(0..600, |rng| {
        let outage = any_outage(rng);
        let events = played(&outage, Mistake::None, any_demand(rng, outage.noticed.len()));
        let (burst, minted) = (outage.limit.burst(), outage.limit.minted_in(Span::from_secs(1)));
        let bound = (burst.as_micros() + minted.as_micros()) as f64 / 1e6;
        let way_out = events.iter().copied().filter(|event| event.called >= at(outage.from)).collect();
        let whole = excess(outage.limit, events);
        assert!(whole <= bound, "{whole} above {bound}: {outage:?}");
        let (way_out, bound) = (excess(outage.limit, way_out), minted.as_micros() as f64 / 1e6);
        assert!(way_out <= bound, "{way_out} above {bound} on the way out: {outage:?}");
    });
}

fn any_outage(rng: &mut Rng) -> Outage {
    let nodes = rng.usize(1..6);
    let limit = Limit::new(Rate::per_second(rng.u64(1..100)), Burst::tokens(rng.u64(10..200))).unwrap();
    let idle_until = TICK * rng.u64(0..1_000);
    let from = idle_until + TICK * rng.u64(0..500);
    let until = from + TICK * rng.u64(1..3_000);
    Outage {
        limit,
        from,
        until,
        noticed: (0..nodes).map(|_| rng.u64(0..50) * TICK).collect(),
        idle_until,
        end: until + 8_000,
        start: if rng.bool() { LocalStart::Full } else { LocalStart::Empty },
        remembers: rng.bool(),
    }
}

/// Now and then a node asks for much, and pauses in between.
fn any_demand(rng: &mut Rng, nodes: usize) -> impl FnMut(usize) -> u64 {
    let mut rng = rng.fork();
    let mut busy = vec![true; nodes];
    move |node| {
        if rng.u8(0..100) == 0 {
            busy[node] = rng.bool();
        }
        if busy[node] { rng.u64(0..8) } else { 0 }
    }
}
