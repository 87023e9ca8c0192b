//! The history checker: was the promise kept in every interval, for every key?
//!
//! A check counts at some moment from its call to its answer, so an interval is proven broken only by the checks that lie
//! in it as a whole. The checker finds the worst interval of all, exactly, in integers, in O(n log n). It does not know
//! who recorded the history or why anything was denied.

mod best_start;
mod in_order;
mod judgement;
mod most_within;
mod promise;
mod worst_ratio;

use tollgate_core::Moment;

use crate::history::Event;
use best_start::BestStart;
pub use in_order::worst_in_order;
pub use judgement::{Judgement, Worst};
pub use most_within::{Busiest, most_within};
pub use promise::Promise;
use promise::Ruler;
pub use worst_ratio::worst_ratio;

/// Judges a history whose keys all have the same promise.
pub fn judge(events: Vec<Event>, promise: &Promise) -> Judgement {
    let ruler = promise.ruler();
    judge_by(events, |_| ruler.clone())
}

/// Judges a history whose keys have limits of their own.
pub fn judge_each(events: Vec<Event>, promise_of: impl Fn(u64) -> Promise) -> Judgement {
    judge_by(events, |key| promise_of(key).ruler())
}

fn judge_by(mut events: Vec<Event>, ruler_of: impl Fn(u64) -> Ruler) -> Judgement {
    events.retain(|event| event.admitted);
    events.sort_unstable_by_key(|event| (event.key, event.called));
    let of_each_key = events.chunk_by_mut(|a, b| a.key == b.key);
    let worst_of_each = of_each_key.map(|of_key| worst(of_key, &ruler_of(of_key[0].key)));
    Judgement::new(worst_of_each.collect())
}

/// The worst interval of one key. `events` are its admitted ones, ordered by call, and not none.
///
/// The end of the interval sweeps over the answers. For every possible start, [`BestStart`] knows what was admitted from
/// there until the end; the minting counts from a fixed origin, so that it can be left out until the two are compared.
fn worst(events: &mut [Event], ruler: &Ruler) -> Worst {
    let key = events[0].key;
    // An interval that begins between two calls, or ends between two answers, only allows more than the shorter one.
    let mut starts: Vec<Moment> = events.iter().map(|event| event.called).chain(ruler.changes()).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut best = BestStart::new(starts.len());
    let mut changes = ruler.changes().peekable();

    events.sort_unstable_by_key(|event| event.answered);
    let mut worst: Option<(i128, Worst)> = None;
    for of_one_end in events.chunk_by(|a, b| a.answered == b.answered) {
        let end = of_one_end[0].answered;
        for event in of_one_end {
            let rank = rank_of(&starts, event.called);
            best.open(rank, ruler.allowance_from(event.called));
            best.add(rank, i128::from(event.cost) * ruler.grains_per_micro());
        }
        // A start counts only once the end has passed it.
        while let Some(change) = changes.next_if(|change| *change <= end) {
            best.open(rank_of(&starts, change), ruler.allowance_from(change));
        }
        let over = best.value() - ruler.minted(end);
        if worst.as_ref().is_none_or(|(so_far, _)| over > *so_far) {
            let start = starts[best.rank()];
            let admitted = (best.value() - ruler.allowance_from(start)) / ruler.grains_per_micro();
            let excess = ruler.whole_excess(over);
            worst = Some((over, Worst { key, start, end, admitted, excess }));
        }
    }
    match worst {
        Some((_, worst)) => worst,
        None => unreachable!("there is at least one event"),
    }
}

/// The position of a moment that is among the starts.
fn rank_of(starts: &[Moment], moment: Moment) -> usize {
    match starts.binary_search(&moment) {
        Ok(rank) | Err(rank) => rank,
    }
}
