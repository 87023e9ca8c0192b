//! What takes optimisation: ten million events before the checker, and many random inputs. Run with `--profile proof`.

use tollgate_core::{Burst, Cost, Decision, Limit, Meter, Moment, Rate, Span, decide};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Event;
use tollgate_sim::operations::run;
use tollgate_sim::seeds::{Rng, for_each_seed};

const EVENTS: usize = 10_000_000;

/// A history that is exactly at its limit, and the same with one micro-token too much.
#[test]
fn ten_million_events_of_one_key_are_judged_exactly() {
    let limit = Limit::new(Rate::per_second(1_000_000), Burst::tokens(1_000)).unwrap();
    let mut events = at_the_limit(limit);
    judge(events.clone(), &Promise::of(limit)).assert_kept();

    // All in one moment in the middle, after a pause that refilled the bucket.
    let pause = events[EVENTS / 2].answered + Span::from_secs(1);
    let event = Event { key: 0, called: pause, answered: pause, cost: 1_000_000_001, admitted: true };
    events.truncate(EVENTS / 2);
    events.push(event);
    judge(events.clone(), &Promise::of(limit)).assert_kept();
    events.push(Event { cost: 1, ..event });
    assert_eq!(judge(events, &Promise::of(limit)).worst().unwrap().excess, 1);
}

fn at_the_limit(limit: Limit) -> Vec<Event> {
    let mut rng = Rng::with_seed(0);
    let mut now = Moment::from_nanos(1_000_000);
    let meter = Meter::new(limit, now, 0);
    let mut mark = meter.level(now).full_mark();
    let mut events = Vec::with_capacity(EVENTS);
    while events.len() < EVENTS {
        now = now + Span::from_nanos(rng.u64(0..1_500));
        let Decision::Admit { mark: charged, .. } = decide(&meter, mark, Cost::ONE, now) else { continue };
        mark = charged;
        let (called, answered) =
            (now - Span::from_nanos(rng.u64(0..500)), now + Span::from_nanos(rng.u64(0..500)));
        events.push(Event { key: 0, called, answered, cost: 1_000_000, admitted: true });
    }
    events
}

#[test]
fn many_random_inputs_run_as_promised() {
    for_each_seed(0..20_000, |rng| run(&any_bytes(rng)));
}

#[test]
fn many_random_inputs_crowd_a_small_table_as_promised() {
    for_each_seed(0..60_000, |rng| {
        let mut bytes = any_bytes(rng);
        bytes.insert(0, 0);
        run(&bytes);
    });
}

fn any_bytes(rng: &mut Rng) -> Vec<u8> {
    let length = rng.usize(0..2_000);
    std::iter::repeat_with(|| rng.u8(..)).take(length).collect()
}
