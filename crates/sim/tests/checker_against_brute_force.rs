//! The history checker against the definition of the promise, spelled out over all intervals in exact rationals.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use num_rational::BigRational;
use tollgate_core::{Burst, Limit, Moment, Rate, Span};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Event;
use tollgate_sim::model::{minted, whole};
use tollgate_sim::seeds::{Rng, for_each_seed};

/// Limits and since when they hold; the first since the origin of time.
type Segments = Vec<(u64, Limit)>;

#[test]
fn the_checker_finds_the_worst_interval_of_any_history() {
    for_each_seed(0..400, |rng| {
        let segments = any_segments(rng, plain_rate);
        let events = any_events(rng);
        let found = judge(events.clone(), &promise(&segments)).worst().map(|worst| whole(worst.excess));
        let exact = worst_excess(&events, &segments).map(|excess| excess.ceil());
        assert_eq!(found.map(or_empty), exact.map(or_empty), "{segments:?} {events:?}");
    });
}

#[test]
fn rates_without_a_common_grain_are_off_by_less_than_a_millionth_and_never_cry_wolf() {
    for_each_seed(0..120, |rng| {
        let segments = any_segments(rng, awkward_rate);
        let events = any_events(rng);
        let found = judge(events.clone(), &promise(&segments)).worst().map(|worst| whole(worst.excess));
        let Some(exact) = worst_excess(&events, &segments).map(or_empty) else { return };
        let found = or_empty(found.unwrap());
        assert!(found <= exact.ceil(), "{found} {exact}");
        assert!(found >= (exact - BigRational::new(1.into(), 1_000_000.into())).ceil());
    });
}

#[test]
fn the_interval_it_names_holds_what_it_says() {
    for_each_seed(0..120, |rng| {
        let segments = any_segments(rng, plain_rate);
        let events = any_events(rng);
        let judgement = judge(events.clone(), &promise(&segments));
        let Some(worst) = judgement.worst() else { return };
        let inside = events
            .iter()
            .filter(|event| event.admitted && event.called >= worst.start && event.answered <= worst.end);
        assert_eq!(inside.map(|event| i128::from(event.cost)).sum::<i128>(), worst.admitted);
        assert_eq!(whole(worst.excess), excess(&events, &segments, worst.start, worst.end).ceil());
    });
}

#[test]
fn checks_in_flight_at_the_edge_of_an_interval_prove_nothing() {
    let limit = Limit::new(Rate::per_second(1), Burst::micros(10)).unwrap();
    let event = |called, answered| Event {
        key: 1,
        called: Moment::from_nanos(called),
        answered: Moment::from_nanos(answered),
        cost: 10,
        admitted: true,
    };
    // Twice the burst; but the second may have taken effect as late as 20 µs, when 20 micro-tokens were minted.
    let one_in_flight = vec![event(0, 1), event(2, 20_000)];
    assert!(judge(one_in_flight, &Promise::of(limit)).is_kept());
    assert!(!judge(vec![event(0, 1), event(2, 3)], &Promise::of(limit)).is_kept());
}

#[test]
fn a_refund_makes_room() {
    let limit = Limit::new(Rate::per_second(1), Burst::micros(10)).unwrap();
    let event = |at, cost| {
        let at = Moment::from_nanos(at);
        Event { key: 1, called: at, answered: at, cost, admitted: true }
    };
    assert!(judge(vec![event(1, 10), event(2, -10), event(3, 10)], &Promise::of(limit)).is_kept());
    assert!(!judge(vec![event(1, 10), event(2, 10), event(3, -10)], &Promise::of(limit)).is_kept());
}

/// An interval in which nothing lies is at −2 at best (burst 1, tolerance 1). The checker looks only at intervals that
/// begin with a call, so below that it may find less.
fn or_empty(excess: BigRational) -> BigRational {
    excess.max(whole(-2))
}

/// From 1/12 to 3 micro-tokens per nanosecond.
fn plain_rate(rng: &mut Rng) -> Rate {
    Rate::new(rng.u64(1..=3), Span::from_nanos(rng.u64(1..=12) * 1_000_000))
}

/// About as fast, in terms that have no small common multiple.
fn awkward_rate(rng: &mut Rng) -> Rate {
    Rate::new(
        rng.u64(1_000_000..=3_000_000),
        Span::from_nanos(rng.u64(1_000_000_000_000..=9_000_000_000_000)),
    )
}

fn any_segments(rng: &mut Rng, rate: impl Fn(&mut Rng) -> Rate) -> Segments {
    let mut limit = || {
        let rate = rate(rng);
        (rng.u64(0..=40), Limit::new(rate, Burst::micros(rng.u64(1..=20))).unwrap())
    };
    let mut segments: Segments = vec![limit(), limit(), limit()];
    segments.sort_by_key(|(from, _)| *from);
    segments.truncate(rng.usize(1..=3));
    segments[0].0 = 0;
    segments
}

fn any_events(rng: &mut Rng) -> Vec<Event> {
    let atomic = rng.bool();
    let count = rng.usize(1..=10);
    let event = || {
        let called = rng.u64(0..=40);
        let answered = if atomic { called } else { called + rng.u64(0..=10) };
        Event {
            key: 1,
            called: Moment::from_nanos(called),
            answered: Moment::from_nanos(answered),
            cost: rng.i64(-4..=12),
            admitted: rng.u8(0..8) > 0,
        }
    };
    std::iter::repeat_with(event).take(count).collect()
}

fn promise(segments: &Segments) -> Promise {
    let changes = segments[1..].iter();
    changes.fold(Promise::of(segments[0].1), |promise, (from, limit)| {
        promise.then(Moment::from_nanos(*from), *limit)
    })
}

/// Over all intervals of whole nanoseconds that end where something was answered.
fn worst_excess(events: &[Event], segments: &Segments) -> Option<BigRational> {
    let mut worst: Option<BigRational> = None;
    for end in events.iter().filter(|event| event.admitted).map(|event| event.answered) {
        for start in 0..=end.as_nanos() {
            let start = Moment::from_nanos(start);
            let over = excess(events, segments, start, end);
            worst = Some(worst.map_or(over.clone(), |worst| worst.max(over)));
        }
    }
    worst
}

/// `admitted − (burst + ∫rate + 1)` of one interval.
fn excess(events: &[Event], segments: &Segments, start: Moment, end: Moment) -> BigRational {
    let inside =
        events.iter().filter(|event| event.admitted && event.called >= start && event.answered <= end);
    let admitted: i64 = inside.map(|event| event.cost).sum();
    let ends = segments[1..].iter().map(|(from, _)| *from).chain([u64::MAX]);
    let (mut allowed, mut burst) = (whole(1), None);
    for ((from, limit), until) in segments.iter().zip(ends) {
        let overlap = end.as_nanos().min(until).saturating_sub(start.as_nanos().max(*from));
        allowed += minted(limit, overlap);
        // What the bucket can hold when the interval begins; at the moment of a change, still by the old limit.
        if burst.is_none() || *from < start.as_nanos() {
            burst = Some(limit.burst());
        }
    }
    whole(admitted) - allowed - whole(burst.unwrap().as_micros())
}
