//! The clients of one rule over about the last minute: this minute's summaries, and a part of the last one's. Pure: time is an argument.
//!
//! ```text
//!   last minute      this minute, a third of it gone
//!  ├────────────────┼─────│
//!        ├──────────┴─────┤     two thirds of what was noted then, and all that was noted since
//! ```
//! The part is right to the last note of clients who are as busy all the time; of others it is about right.

use tollgate::{Moment, Span};

use super::Measure;
use super::room::Room;
use super::summary::{Counted, Summary};

/// About how far it is looked back.
pub(super) const MINUTE: Span = Span::from_secs(60);

/// Summaries by minute and measure.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Since the clock's origin.
    minute: u64,
    this: [Summary; Measure::COUNT],
    last: [Summary; Measure::COUNT],
}

impl Window {
    /// Notes a client once.
    #[inline]
    pub(super) fn note(&mut self, measure: Measure, hash: u64, key: &[u8], now: Moment, room: &Room) {
        let minute = minute_of(now);
        if minute > self.minute {
            self.turn_to(minute, room);
        }
        self.this[measure as usize].note(hash, key, room);
    }

    /// Shows this minute's clients and the last one's, each with how often the others may have been noted; the last one's in part.
    pub(super) fn each(
        &mut self,
        measure: Measure,
        now: Moment,
        room: &Room,
        mut show: impl FnMut(Vec<Counted>, u64),
    ) {
        let minute = minute_of(now);
        if minute > self.minute {
            self.turn_to(minute, room);
        }
        let part = |count: u64| {
            let left = MINUTE.as_nanos() - now.as_nanos() % MINUTE.as_nanos();
            let part = u128::from(count) * u128::from(left) / u128::from(MINUTE.as_nanos());
            u64::try_from(part).unwrap_or(count)
        };
        let (this, last) = (&self.this[measure as usize], &self.last[measure as usize]);
        show(this.counted(), this.floor());
        let faded = last.counted().into_iter().map(|Counted { key, count, over }| {
            let (count, over) = (part(count), part(over));
            Counted { key, count, over }
        });
        show(faded.collect(), part(last.floor()));
    }

    #[cold]
    fn turn_to(&mut self, minute: u64, room: &Room) {
        std::mem::swap(&mut self.this, &mut self.last);
        self.this.iter_mut().for_each(|summary| summary.clear(room));
        if minute > self.minute + 1 {
            self.last.iter_mut().for_each(|summary| summary.clear(room));
        }
        self.minute = minute;
    }

    /// Forgets everybody.
    pub(super) fn clear(&mut self, room: &Room) {
        self.this.iter_mut().chain(&mut self.last).for_each(|summary| summary.clear(room));
    }
}

fn minute_of(now: Moment) -> u64 {
    now.as_nanos() / MINUTE.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(window: &mut Window, seconds: u64, room: &Room) -> u64 {
        let (mut count, now) = (0, Moment::from_nanos(seconds * 1_000_000_000));
        window.each(Measure::Denied, now, room, |counted, _| {
            count += counted.iter().map(|counted| counted.count).sum::<u64>();
        });
        count
    }

    #[test]
    fn what_was_noted_fades_over_the_minute_after_and_is_gone_then() {
        let (mut window, room) = (Window::default(), Room::of(100));
        for second in 60..120 {
            let now = Moment::from_nanos(second * 1_000_000_000);
            window.note(Measure::Denied, 7, b"ann", now, &room);
        }
        let seen: Vec<u64> =
            [119, 120, 135, 150, 179, 180].iter().map(|at| seen(&mut window, *at, &room)).collect();
        assert_eq!(seen, [60, 60, 45, 30, 1, 0]);
        assert!((0..100).all(|_| room.take()), "nothing is kept of it");
    }

    #[test]
    fn what_is_noted_as_often_all_the_time_is_seen_so_at_any_time() {
        let (mut window, room) = (Window::default(), Room::of(100));
        for half in 0..1_000 {
            window.note(Measure::Denied, 7, b"ann", Moment::from_nanos(half * 500_000_000), &room);
            if half % 2 == 1 && half > 240 {
                let seen = seen(&mut window, half.div_ceil(2), &room);
                assert!((119..=121).contains(&seen), "{seen} after {half}");
            }
        }
    }

    #[test]
    fn a_pause_leaves_nothing_and_a_clock_that_goes_back_loses_nothing() {
        let (mut window, room) = (Window::default(), Room::of(100));
        window.note(Measure::Denied, 7, b"ann", Moment::from_nanos(600_000_000_000), &room);
        window.note(Measure::Denied, 7, b"ann", Moment::from_nanos(1), &room);
        assert_eq!(seen(&mut window, 601, &room), 2);
        assert_eq!(seen(&mut window, 800, &room), 0);
    }
}
