//! The playground shows what is so: known figures come out, and no lane exceeds its own promise.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate::{
    Burst, Cost, FixedWindow, LeakyBucket, Limit, Moment, Rate, SlidingCounter, SlidingLog, Span, Tokens,
    Window,
};
use tollgate_sim::playground::{
    Arrival, Limits, Outcome, Pace, Pattern, Point, Stream, Told, Trace, arrivals,
};
use tollgate_sim::seeds::{Rng, for_each_seed};

const MOST: usize = 5_000;

fn at(millis: u64) -> Moment {
    Moment::default() + Span::from_millis(millis)
}

fn limit(rate: Rate, burst: u64) -> Limit {
    Limit::new(rate, Burst::tokens(burst)).unwrap()
}

fn steady(per_second: u64, from: u64, to: u64) -> Stream {
    let pace = Pace::new(Rate::per_second(per_second)).unwrap();
    Stream { pattern: Pattern::Steady { pace, from: at(from), to: at(to) }, cost: Cost::ONE }
}

fn burst(millis: u64, count: u64) -> Stream {
    Stream { pattern: Pattern::Burst { at: at(millis), count }, cost: Cost::ONE }
}

fn play(limits: impl Into<Played>, streams: &[Stream], length_ms: u64) -> Trace {
    let arrivals = arrivals(streams, MOST).unwrap();
    Trace::play(&limits.into().0, &arrivals, at(length_ms)).unwrap()
}

struct Played(Limits);

impl<A: Into<tollgate::Algorithm>> From<A> for Played {
    fn from(limit: A) -> Played {
        Played(Limits::One(limit.into()))
    }
}

fn fixed(quota: u64, window: Span) -> FixedWindow {
    FixedWindow::new(Burst::tokens(quota), Window::every(window).unwrap()).unwrap()
}

fn is_admitted(told: &Told) -> bool {
    matches!(told.outcome, Outcome::Admitted(_))
}

#[test]
fn the_worked_example_has_its_known_figures() {
    let trace = play(limit(Rate::per_second(10), 50), &[steady(60, 0, 20_000)], 20_000);
    assert_eq!(trace.told.len(), 1_200);
    let admitted =
        |from: usize, to: usize| trace.told[from..to].iter().filter(|told| is_admitted(told)).count();
    assert_eq!(admitted(0, 60), 59, "in the first second");
    assert_eq!(
        trace.told.iter().position(|told| !is_admitted(told)),
        Some(59),
        "the 60th is the first denied"
    );
    for second in 2..20 {
        assert_eq!(admitted(second * 60, second * 60 + 60), 10, "one in six, in second {second}");
    }
    // 0.983333334 s have minted 9.833333 tokens of the 59 that are gone but for 50.
    let denied = trace.told[59];
    assert_eq!(
        (denied.balance, denied.arrival.at),
        (Tokens::from_micros(833_333), Moment::from_nanos(983_333_334))
    );
    assert_eq!(denied.outcome, Outcome::Denied(Span::from_nanos(16_666_666)));
}

#[test]
fn the_parking_meter_gives_a_token_every_six_seconds_and_holds_ten() {
    let meter = limit(Rate::new(1, Span::from_secs(6)), 10);
    let trace = play(meter, &[burst(0, 12), burst(5_999, 1), burst(6_000, 2), burst(120_000, 11)], 120_000);
    let admitted: Vec<bool> = trace.told.iter().map(is_admitted).collect();
    let expected = [&[true; 10][..], &[false; 2], &[false], &[true, false], &[true; 10], &[false]].concat();
    assert_eq!(admitted, expected);
    assert_eq!(trace.told[10].outcome, Outcome::Denied(Span::from_secs(6)));
    assert_eq!(trace.told[12].outcome, Outcome::Denied(Span::from_millis(1)));
    // Full again a minute after it was empty, and not fuller.
    let most = trace.levels[0].iter().map(|point| point.level).max();
    assert_eq!(most, Some(Tokens::from_micros(10_000_000)));
}

#[test]
fn a_fixed_window_admits_twice_its_quota_around_its_end_and_a_token_bucket_keeps_the_promise() {
    let (quota, window) = (50, Span::from_secs(5));
    let promise = limit(Rate::per_second(10), quota);
    let attack = [burst(4_999, 50), burst(5_000, 50)];
    let of_window = play(fixed(quota, window), &attack, 10_000).passages();
    assert_eq!(of_window.left(at(4_999), at(5_001)), 2 * quota);
    assert_eq!(of_window.most_within(window).whole(), 2 * quota);
    assert_eq!(of_window.over(promise).as_micros(), 49_989_999);
    let of_bucket = play(promise, &attack, 10_000).passages();
    assert_eq!(of_bucket.left(at(4_999), at(5_001)), quota);
    assert_eq!(of_bucket.over(promise), Tokens::ZERO);
}

#[test]
fn windows_begin_with_the_run_and_their_ends_are_in_the_level() {
    let trace = play(fixed(3, Span::from_secs(2)), &[burst(1_500, 5)], 4_000);
    let near = |point: &&Point| point.at >= at(1_500) && point.at <= at(2_000);
    let levels: Vec<u64> = trace.levels[0].iter().filter(near).map(|point| point.level.whole()).collect();
    assert_eq!((levels[0], levels[1], *levels.last().unwrap()), (3, 0, 3));
    assert_eq!(levels.iter().filter(|level| **level == 3).count(), 2, "before the burst, and at the end");
    let last = trace.levels[0].iter().rfind(|point| point.level == Tokens::ZERO).unwrap();
    assert_eq!(last.at, Moment::from_nanos(1_999_999_999));
}

#[test]
fn a_leaky_bucket_tells_each_how_long_to_wait() {
    let leaky = LeakyBucket::new(Rate::per_second(10), Burst::tokens(3)).unwrap();
    let trace = play(leaky, &[burst(0, 4)], 1_000);
    let told: Vec<Outcome> = trace.told.iter().map(|told| told.outcome).collect();
    let millis = Span::from_millis;
    assert_eq!(told[..3], [0, 100, 200].map(|delay| Outcome::Admitted(millis(delay))));
    assert_eq!(told[3], Outcome::Denied(millis(100)));
    assert_eq!(trace.passages().longest_delay(), millis(200));
}

#[test]
fn tiers_are_all_or_nothing_and_it_is_told_which_denied() {
    let tiers = vec![limit(Rate::per_second(1), 5), limit(Rate::per_second(1), 3)];
    let arrivals = arrivals(&[burst(0, 4)], MOST).unwrap();
    let trace = Trace::play(&Limits::Tiers(tiers), &arrivals, at(1_000)).unwrap();
    let told: Vec<_> =
        trace.told.iter().map(|told| (is_admitted(told), told.tier, told.balance.whole())).collect();
    assert_eq!(told, [(true, None, 2), (true, None, 1), (true, None, 0), (false, Some(1), 0)]);
    assert_eq!(trace.levels.len(), 2);
    let after =
        |bucket: usize| trace.levels[bucket].iter().rfind(|point| point.at == at(0)).unwrap().level.whole();
    assert_eq!((after(0), after(1)), (2, 0), "the denied one was charged to neither");
    let end = |bucket: usize| trace.levels[bucket].last().unwrap().level.whole();
    assert_eq!((end(0), end(1)), (3, 1));
}

#[test]
fn what_costs_more_than_there_ever_is_can_never_be_admitted() {
    let (arrival, second) = (Arrival { at: at(0), cost: Cost::tokens(6) }, Span::from_secs(1));
    for limits in [
        Limits::One(limit(Rate::per_second(1), 5).into()),
        Limits::One(LeakyBucket::new(Rate::per_second(1), Burst::tokens(5)).unwrap().into()),
        Limits::One(fixed(5, second).into()),
        Limits::One(SlidingLog::new(Burst::tokens(5), second).unwrap().into()),
        Limits::One(SlidingCounter::new(Burst::tokens(5), second).unwrap().into()),
        Limits::Tiers(vec![limit(Rate::per_second(1), 50), limit(Rate::per_second(1), 5)]),
    ] {
        let trace = Trace::play(&limits, &[arrival], at(1_000)).unwrap();
        let told = trace.told[0];
        assert_eq!((told.outcome, told.balance.whole()), (Outcome::Never, 5), "{limits:?}");
        assert_eq!(told.tier, if limits.buckets() > 1 { Some(1) } else { None });
        assert_eq!((trace.admitted(), trace.admitted_tokens()), (0, Tokens::ZERO));
    }
}

/// Requests by chance: some at once, some spread, of all costs.
fn any_arrivals(random: &mut Rng, length_ms: u64) -> Vec<Arrival> {
    let mut streams = Vec::new();
    for _ in 0..random.usize(1..4) {
        let (from, to) = (at(random.u64(0..length_ms)), at(length_ms));
        let pace = Pace::new(Rate::per_second(random.u64(1..60))).unwrap();
        let pattern = match random.u8(0..4) {
            0 => Pattern::Steady { pace, from, to },
            1 => Pattern::Poisson { pace, from, to, seed: random.u64(..) },
            2 => {
                let (on, off) =
                    (Span::from_millis(random.u64(1..900)), Span::from_millis(random.u64(0..900)));
                Pattern::Waves { pace, on, off, from, to }
            }
            _ => Pattern::Burst { at: from, count: random.u64(0..80) },
        };
        streams.push(Stream { pattern, cost: Cost::micros(random.u64(1..4_000_000)) });
    }
    arrivals(&streams, MOST).unwrap()
}

#[test]
fn no_lane_exceeds_its_own_promise_whatever_comes() {
    for_each_seed(0..100, |random| {
        let length_ms = random.u64(1_000..10_000);
        let arrivals = any_arrivals(random, length_ms);
        let rate = Rate::new(random.u64(1..50), Span::from_millis(random.u64(100..3_000)));
        let (size, window) =
            (Burst::micros(random.u64(1..30_000_000)), Span::from_millis(random.u64(50..3_000)));
        let play = |limits: &Limits| Trace::play(limits, &arrivals, at(length_ms)).unwrap();
        let check_kept = |limits: Limits, promise: Limit| {
            let over = play(&limits).passages().over(promise);
            assert_eq!(over, Tokens::ZERO, "{limits:?}");
        };
        let bucket = Limit::new(rate, size).unwrap();
        check_kept(Limits::One(bucket.into()), bucket);
        let small = limit(rate, 1);
        check_kept(Limits::Tiers(vec![bucket, small]), small);
        check_kept(Limits::Tiers(vec![bucket, small]), bucket);
        // What leaves a queue leaves evenly: one request at a time, of whatever cost.
        let largest = arrivals.iter().map(|arrival| arrival.cost.as_micros()).max().unwrap_or(1);
        let evenly = Limit::new(rate, Burst::micros(largest)).unwrap();
        check_kept(Limits::One(LeakyBucket::new(rate, size).unwrap().into()), evenly);
        let within = |limits: Limits| play(&limits).passages().most_within(window).as_micros();
        let quota = u64::try_from(size.as_micros()).unwrap();
        assert!(within(Limits::One(SlidingLog::new(size, window).unwrap().into())) <= quota);
        let twice = 2 * quota;
        assert!(within(Limits::One(SlidingCounter::new(size, window).unwrap().into())) <= twice,);
        let calendar = FixedWindow::new(size, Window::every(window).unwrap()).unwrap();
        assert!(within(Limits::One(calendar.into())) <= twice);
    });
}

#[test]
fn the_level_goes_from_beginning_to_end_and_agrees_with_what_was_told() {
    for_each_seed(0..50, |random| {
        let arrivals = any_arrivals(random, 5_000);
        let limits = Limits::One(limit(Rate::per_second(3), 8).into());
        let trace = Trace::play(&limits, &arrivals, at(5_000)).unwrap();
        assert_eq!(trace, Trace::play(&limits, &arrivals, at(5_000)).unwrap(), "the same again");
        let points = &trace.levels[0];
        assert!(points.is_sorted_by_key(|point| point.at) && points.len() >= 200);
        assert_eq!((points[0].at, points.last().unwrap().at), (at(0), at(5_000)));
        for told in &trace.told {
            let last_of_moment =
                trace.told.iter().rfind(|other| other.arrival.at == told.arrival.at).unwrap();
            let level = points.iter().rfind(|point| point.at == told.arrival.at).unwrap().level;
            assert_eq!(level, last_of_moment.balance);
        }
    });
}
