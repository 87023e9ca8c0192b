//! Histories that try to break a leased bucket: spend all at once, everywhere, at the worst moments.

use std::ops::Range;

use tollgate_core::{Ask, Burst, Cost, LeaseTerms, Limit, Rate, Span, Tokens};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::fleet::{Fleet, Weather};
use super::mistake::Mistake;

/// Steps of one history.
pub(crate) const STEPS: u64 = 400;

/// In no history is any interval above `burst + rate · d`, over all nodes.
pub(crate) fn finds_no_interval_above_the_limit(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| attacked(Mistake::None, rng).judge().assert_kept());
}

/// Nor while the limit is changed, by the more generous of old and new until the old one is used up.
pub(crate) fn finds_no_interval_above_limits_that_change(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (mut fleet, pace) = (any_fleet(Mistake::None, rng), any_pace(rng));
        for _ in 0..4 {
            play(&mut fleet, pace, STEPS / 4, false, rng);
            let [micros, nanos, burst] = fleet.terms.limit().terms();
            let burst = (burst / rng.u64(1..=8) * rng.u64(1..=8)).clamp(1_000, 1_000_000_000_000);
            let rate = Rate::new(micros * rng.u64(1..=8), Span::from_millis(nanos * rng.u64(1..=8)));
            fleet.change(&Limit::new(rate, Burst::micros(burst)).unwrap_or(*fleet.terms.limit()));
        }
        play(&mut fleet, pace, STEPS / 4, false, rng);
        fleet.judge().assert_kept();
    });
}

/// Whether one of the histories shows the mistake.
pub(crate) fn finds(mistake: Mistake, seeds: Range<u64>) -> bool {
    let mut is_found = false;
    for_each_seed(seeds, |rng| is_found = is_found || !attacked(mistake, rng).judge().is_kept());
    is_found
}

fn attacked(mistake: Mistake, rng: &mut Rng) -> Fleet {
    let (mut fleet, pace) = (any_fleet(mistake, rng), any_pace(rng));
    play(&mut fleet, pace, STEPS, true, rng);
    fleet
}

fn any_fleet(mistake: Mistake, rng: &mut Rng) -> Fleet {
    let (terms, nodes) = any_terms(rng);
    let life = terms.life_micros();
    let delay_max = [500, life / 4, life, 3 * life][rng.usize(0..4)];
    let lost = if rng.u8(0..4) == 0 { 60 } else { rng.u32(0..20) };
    let weather = Weather { lost, doubled: rng.u32(0..30), delay_max };
    Fleet::new(&terms, nodes, weather, mistake, rng)
}

/// How an adversary goes about it.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Some have many steps in the life of a slice.
    hurry: u64,
    /// And some bide their time: how many of a hundred chances to spend are taken.
    eagerness: u8,
}

fn any_pace(rng: &mut Rng) -> Pace {
    Pace { hurry: [1, 3, 10][rng.usize(0..3)], eagerness: [100, 30, 5][rng.usize(0..3)] }
}

fn play(fleet: &mut Fleet, pace: Pace, steps: u64, sets_back: bool, rng: &mut Rng) {
    let life = fleet.terms.life_micros();
    let full = fleet.terms.limit().time_to_full().as_nanos() / 1_000 + 2;
    for _ in 0..steps {
        let pause = match rng.u8(0..8) {
            0 => 0,
            1 => 1,
            2 => rng.u64(1..1_000),
            3 => rng.u64(1..full.min(4 * life)),
            4 => full.min(life / 3),
            5 => life / 2,
            6 => life - 1,
            _ => rng.u64(1..2 * life),
        };
        fleet.pass(pause / pace.hurry, rng);
        if sets_back && rng.u16(0..400) == 0 {
            fleet.set_back(any_magnitude(rng, 3_600_000_000));
        }
        act(fleet, pace.eagerness, rng);
    }
}

/// One move.
fn act(fleet: &mut Fleet, eagerness: u8, rng: &mut Rng) {
    let node = rng.usize(0..fleet.nodes.len());
    let greed = any_magnitude(rng, fleet.terms.ledger().burst());
    // A node may want whatever it likes.
    let altered = |ask: Ask| if ask.want > Tokens::ZERO { greedy(ask, greed) } else { ask };
    match rng.u8(0..100) {
        0..35 => {
            let cost = Cost::micros(any_magnitude(rng, fleet.terms.ledger().burst()));
            fleet.check(node, cost, altered, rng);
        }
        35..50 if rng.u8(0..100) < eagerness => fleet.give_back(node, rng),
        50..80 if rng.u8(0..100) < eagerness => {
            if rng.u8(0..10) < 4 {
                // All at once: what nobody holds, and what everybody does.
                fleet.spend_at_the_ledger();
                (0..fleet.nodes.len()).for_each(|node| fleet.spend_all(node, altered, rng));
            } else {
                fleet.spend_all(node, altered, rng);
            }
        }
        80..98 => (0..fleet.nodes.len()).for_each(|node| fleet.give_up(node)),
        98 => fleet.crash(node, rng),
        _ => {}
    }
    match rng.u8(0..8) {
        0 => fleet.take(node, Cost::micros(any_magnitude(rng, fleet.terms.ledger().burst()))),
        1 | 2 => fleet.decide(node, rng.bool(), rng),
        _ => {}
    }
    if rng.u8(0..100) < eagerness / 3 {
        fleet.spend_at_the_ledger();
    }
}

fn greedy(ask: Ask, want: u64) -> Ask {
    let want = Tokens::from_micros(want);
    Ask { want, least: ask.least.min(want), ..ask }
}

/// Half of them burst 100 at 10 per second on four nodes, with lives from 0.2 to 20 s; the others are any that make sense.
fn any_terms(rng: &mut Rng) -> (LeaseTerms, usize) {
    let (limit, nodes) = if rng.bool() {
        (Limit::new(Rate::per_second(10), Burst::tokens(100)), 4)
    } else {
        let rate = Rate::new(any_magnitude(rng, 1_000_000), Span::from_secs(rng.u64(1..10)));
        (Limit::new(rate, Burst::micros(any_magnitude(rng, 1_000_000_000_000))), rng.u32(1..7))
    };
    let life = [200, 400, 2_000, 20_000][rng.usize(0..4)];
    (LeaseTerms::new(&limit.unwrap(), nodes, Span::from_millis(life)).unwrap(), nodes as usize)
}
