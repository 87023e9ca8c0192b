//! The promise of windows: how much was admitted in any interval of one length.
//!
//! A quota per window is no burst and rate: it asks what the busiest window held, wherever that begins. Exact, in integers,
//! in O(n log n). It does not know the quota.

use std::collections::BTreeMap;

use tollgate_core::{Moment, Span};

use crate::history::Event;

/// The busiest window of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busiest {
    /// Whose.
    pub key: u64,
    /// The window begins here, and the moment belongs to it; the moment one length later does not.
    pub start: Moment,
    /// Charges less refunds that lie in it as a whole, in micro-tokens.
    pub admitted: i128,
}

/// The busiest window of the given length, of all keys; the earliest of those that are equally busy. `None` if nothing was
/// admitted. For checks whose answers have the order of their calls, as in a history played in virtual time; otherwise a
/// window may look less busy than it was, never busier.
pub fn most_within(events: Vec<Event>, length: Span) -> Option<Busiest> {
    let mut of_keys: BTreeMap<u64, Vec<Event>> = BTreeMap::new();
    for event in events.into_iter().filter(|event| event.admitted) {
        of_keys.entry(event.key).or_default().push(event);
    }
    let busiest_of_each = of_keys.into_values().filter_map(|of_key| busiest(of_key, length));
    busiest_of_each.reduce(|best, next| if next.admitted > best.admitted { next } else { best })
}

/// Windows begin at a call: one that begins earlier holds no more. The end moves along with the start.
fn busiest(mut events: Vec<Event>, length: Span) -> Option<Busiest> {
    events.sort_by_key(|event| (event.called, event.answered));
    let (mut admitted, mut end, mut busiest) = (0, 0, None::<Busiest>);
    for (index, first) in events.iter().enumerate() {
        let Event { key, called: start, .. } = *first;
        while let Some(event) = events.get(end).filter(|event| event.answered < start + length) {
            admitted += i128::from(event.cost);
            end += 1;
        }
        if busiest.is_none_or(|so_far| admitted > so_far.admitted) {
            busiest = Some(Busiest { key, start, admitted });
        }
        // A check that took longer than the window lies in none.
        if end > index {
            admitted -= i128::from(first.cost);
        } else {
            end = index + 1;
        }
    }
    busiest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(key: u64, nanos: u64, cost: i64, admitted: bool) -> Event {
        let now = Moment::from_nanos(nanos);
        Event { key, called: now, answered: now, cost, admitted }
    }

    #[test]
    fn a_window_holds_its_first_moment_and_not_its_last() {
        let events = vec![event(1, 0, 1, true), event(1, 10, 1, true), event(1, 19, 1, true)];
        let busiest =
            |length| most_within(events.clone(), Span::from_nanos(length)).map(|found| found.admitted);
        assert_eq!([1, 9, 10, 19, 20].map(busiest), [Some(1), Some(1), Some(2), Some(2), Some(3)]);
    }

    #[test]
    fn the_busiest_window_is_the_one_brute_force_finds() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let events: Vec<Event> = (0..30)
                .map(|_| event(random.u64(0..2), random.u64(0..60), random.i64(1..5), random.u8(0..4) > 0))
                .collect();
            let length = random.u64(1..30);
            let within = |key: u64, start: u64| -> i128 {
                let inside = |event: &&Event| {
                    let at = event.called.as_nanos();
                    event.key == key && event.admitted && at >= start && at < start + length
                };
                events.iter().filter(inside).map(|event| i128::from(event.cost)).sum()
            };
            let most = (0..2).flat_map(|key| (0..60).map(move |start| (key, start)));
            let most = most.map(|(key, start)| within(key, start)).max();
            let found = most_within(events.clone(), Span::from_nanos(length));
            assert_eq!(found.map(|found| found.admitted), most);
            assert_eq!(found.map(|found| within(found.key, found.start.as_nanos())), most);
        }
    }

    #[test]
    fn what_was_denied_is_in_no_window() {
        assert_eq!(most_within(vec![event(1, 5, 1, false)], Span::from_secs(1)), None);
        assert_eq!(most_within(Vec::new(), Span::from_secs(1)), None);
    }
}
