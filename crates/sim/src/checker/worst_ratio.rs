//! The worst interval as a ratio: admitted ÷ (burst + rate·d), over every interval of at least a given length.
//!
//! Finds the largest ratio by Dinkelbach's method: guess a ratio, find the interval that exceeds it most, take that interval's ratio as the
//! next guess, until no interval exceeds the guess. Each step is one sweep over the answers, O(n log n). Rounded down to a millionth.

use tollgate_core::{Limit, Moment, Span};

use super::best_start::BestStart;
use super::promise::{Promise, Ruler};
use super::rank_of;
use crate::history::Event;

/// The unit of a guessed ratio: millionths.
const ONE: i128 = 1_000_000;
/// Steps of the search: each raises the guess by at least a millionth, and in practice five are enough.
const STEPS_MAX: usize = 64;

/// Returns the largest `admitted ÷ (burst + rate·d)` of any key over all intervals of length `d ≥ shortest`; 0 if there is no such interval.
///
/// An interval runs from the call of a check to the answer of a check, and holds the admitted checks that lie in it as a whole.
pub fn worst_ratio(mut events: Vec<Event>, limit: Limit, shortest: Span) -> f64 {
    events.retain(|event| event.admitted);
    events.sort_unstable_by_key(|event| (event.key, event.called));
    let ruler = Promise::of(limit).ruler();
    let burst = i128::from(limit.burst().as_micros()) * ruler.grains_per_micro();
    let mut worst = 0;
    for of_key in events.chunk_by_mut(|a, b| a.key == b.key) {
        let starts: Vec<Moment> = of_key.iter().map(|event| event.called).collect();
        of_key.sort_unstable_by_key(|event| event.answered);
        for _ in 0..STEPS_MAX {
            match beyond(of_key, &starts, &ruler, burst, shortest, worst) {
                Some(ratio) if ratio > worst => worst = ratio,
                _ => break,
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a ratio in millionths is far below 2^52")]
    let ratio = worst as f64 / ONE as f64;
    ratio
}

/// The ratio, in millionths, of the interval that exceeds the guessed ratio most; `None` if none does.
fn beyond(
    events: &[Event],
    starts: &[Moment],
    ruler: &Ruler,
    burst: i128,
    shortest: Span,
    guess: i128,
) -> Option<i128> {
    let mut best = BestStart::new(starts.len());
    let mut unopened = starts.iter().enumerate().peekable();
    let mut most: Option<(i128, Moment, Moment)> = None;
    for event in events {
        let end = event.answered;
        best.add(rank_of(starts, event.called), ONE * i128::from(event.cost) * ruler.grains_per_micro());
        while let Some((rank, start)) = unopened.next_if(|(_, start)| **start + shortest <= end) {
            best.open(rank, guess * (ruler.minted(*start) - burst));
        }
        let over = best.value() - guess * ruler.minted(end);
        if over > most.map_or(0, |(over, ..)| over) {
            most = Some((over, starts[best.rank()], end));
        }
    }
    let (over, start, end) = most?;
    let allowed = burst + ruler.minted(end) - ruler.minted(start);
    Some(guess + over / allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{Burst, Rate};

    fn event(key: u64, called_ms: u64, answered_ms: u64, admitted: bool) -> Event {
        let at = |millis: u64| Moment::from_nanos(millis * 1_000_000);
        Event { key, called: at(called_ms), answered: at(answered_ms), cost: 1_000_000, admitted }
    }

    /// Every pair of a call and an answer.
    #[expect(clippy::cast_precision_loss, reason = "a few seconds and a few events")]
    fn by_brute_force(events: &[Event], burst: f64, rate: f64, shortest: Span) -> f64 {
        let mut worst: f64 = 0.0;
        for first in events {
            let ends = |last: &&Event| last.key == first.key && last.answered >= first.called + shortest;
            for last in events.iter().filter(ends) {
                let is_inside = |event: &&Event| {
                    event.key == first.key
                        && event.admitted
                        && event.called >= first.called
                        && event.answered <= last.answered
                };
                let seconds = last.answered.since(first.called).as_nanos() as f64 / 1e9;
                worst = worst.max(events.iter().filter(is_inside).count() as f64 / (burst + rate * seconds));
            }
        }
        worst
    }

    #[test]
    fn worst_ratio_agrees_with_brute_force() {
        let limit = Limit::new(Rate::per_second(3), Burst::tokens(2)).unwrap();
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..200 {
            let one = |random: &mut fastrand::Rng| {
                let called = random.u64(0..4_000);
                event(random.u64(0..2), called, called + random.u64(0..100), random.u8(..) > 40)
            };
            let events: Vec<Event> = (0..40).map(|_| one(&mut random)).collect();
            let found = worst_ratio(events.clone(), limit, Span::from_secs(1));
            let admitted: Vec<Event> = events.into_iter().filter(|event| event.admitted).collect();
            let expected = by_brute_force(&admitted, 2.0, 3.0, Span::from_secs(1));
            assert!((found - expected).abs() < 2e-6, "{found} for {expected}");
        }
    }

    #[test]
    fn shorter_intervals_do_not_count() {
        let limit = Limit::new(Rate::per_second(1), Burst::tokens(1)).unwrap();
        let events = vec![event(0, 0, 0, true), event(0, 1, 1, true), event(0, 2, 2, true)];
        assert!((worst_ratio(events.clone(), limit, Span::from_secs(1)) - 0.0).abs() < f64::EPSILON);
        assert!(worst_ratio(events, limit, Span::ZERO) > 2.9);
    }
}
