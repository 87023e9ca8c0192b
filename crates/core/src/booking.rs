//! Charging ahead of the meter: what those who wait do to a bucket.
//!
//! ```text
//!                minted      mark of the 1st     mark of the 2nd waiter
//!    ──────────────┼────────────────┼────────────────────┼────►  micro-tokens, modulo 2^64
//!                  └─── wait of 1 ──┘                    │
//!                  └────────────── wait of 2 ────────────┘       each leaves when the meter gets there
//! ```
//! Whoever gives up has its cost given back, and those behind leave that much earlier. In a leaky bucket, which saves nothing
//! up, everybody waits, and leaves when the meter gets to where the bucket stood *before* it came.

use crate::limit::BURST_MICROS_MAX;
use crate::meter::Shape;
use crate::{Cost, Demand, Level, Mark, Meter, Moment, Ruler, Span, Spend, Tokens};

/// How deep in debt a booking may leave a bucket: 5·10^11 tokens. Half of how far ahead a mark may lie before it reads as
/// one that the meter has lapped; the other half is left for clocks that step back.
pub const DEBT_MAX: Tokens = Tokens::from_micros(BURST_MICROS_MAX / 2);

/// A charge that may lie ahead of the meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booking {
    /// Where the bucket now stands.
    pub mark: Mark,
    /// Where the meter must be before whoever booked may leave; see [`Meter::lead`].
    pub departure: Mark,
    /// Micro-tokens that must be minted until then; 0 if it may leave at once.
    pub missing: u64,
}

/// Why nothing can be booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unbookable {
    /// A leaky bucket has no room until so many micro-tokens have been minted.
    Full {
        /// How many.
        missing: u64,
    },
    /// The debt would be above [`DEBT_MAX`].
    TooDeep,
}

impl Meter {
    /// Charges what is demanded, which is at most what a full bucket holds, whether the bucket at `mark` holds it or not. Only a
    /// leaky bucket minds what must be kept: elsewhere whoever leaves a share alone does not book.
    pub fn book(&self, mark: Mark, demand: Demand, now: Moment) -> Result<Booking, Unbookable> {
        let level = self.level(now);
        let (mark, departure) = match self.shape {
            Shape::Queue { least } => match level.spend_holding(mark, demand, least) {
                Spend::Paid { mark: paid, .. } => (paid, level.mark_of(level.balance(mark))),
                Spend::Short { missing, .. } => return Err(Unbookable::Full { missing }),
            },
            Shape::Bucket | Shape::Window(_) => {
                let mark = level.into_debt(mark, demand.cost).ok_or(Unbookable::TooDeep)?;
                (mark, mark)
            }
        };
        let lead = self.lead(departure, now);
        Ok(Booking { mark, departure, missing: if lead < 0 { lead.unsigned_abs() } else { 0 } })
    }

    /// How many micro-tokens the meter is past a departure; negative if it has not reached it.
    pub fn lead(&self, departure: Mark, now: Moment) -> i64 {
        let level = self.level(now);
        let ahead = level.minted.wrapping_sub(departure.word());
        match self.shape {
            // A queue's level is ahead of what was minted by all that it can hold.
            Shape::Queue { .. } => ahead.wrapping_sub(level.capacity).cast_signed(),
            Shape::Bucket | Shape::Window(_) => ahead.cast_signed(),
        }
    }

    /// Where a bucket stood when the booking with this departure was made.
    pub const fn mark_of_booking(&self, departure: Mark, demand: Demand) -> Mark {
        match self.shape {
            Shape::Queue { .. } => Mark::from_word(departure.word().wrapping_add(demand.cost.as_micros())),
            Shape::Bucket | Shape::Window(_) => departure,
        }
    }

    /// What a full bucket ran over with until `now` while whoever could have left at `departure` had not left.
    pub fn spilt(&self, departure: Mark, demand: Demand, now: Moment) -> u64 {
        let lead = self.lead(departure, now);
        let over = match self.shape {
            Shape::Queue { .. } => lead,
            Shape::Bucket | Shape::Window(_) => {
                let room = self.level(now).capacity.saturating_sub(demand.cost.as_micros());
                lead.saturating_sub_unsigned(room)
            }
        };
        if over > 0 { over.unsigned_abs() } else { 0 }
    }
}

impl Meter {
    /// How many micro-tokens lie between what was minted by `now` and the first that is minted no sooner than `span` after it; all
    /// that windows mint until then.
    fn ahead(&self, span: Span, now: Moment) -> u64 {
        let (here, then) = (self.level(now).minted, now + span);
        if let Shape::Window(_) = self.shape {
            return self.level(then).minted.wrapping_sub(here).min(DEBT_MAX.as_micros());
        }
        if self.limit().minted_in(span) >= DEBT_MAX {
            return DEBT_MAX.as_micros();
        }
        let before = self.level(now.max(then - Span::from_nanos(1))).minted;
        before.wrapping_sub(here).wrapping_add(1)
    }

    /// What this meter mints while `other` mints `micros`, from `now` on: no less, and at most [`DEBT_MAX`].
    pub fn minted_while(&self, other: &Meter, micros: u64, now: Moment) -> u64 {
        self.ahead(other.wait_for(micros, now), now)
    }
}

impl Ruler {
    /// [`Ruler::carry_over`] of a bucket that somebody waits for: what was booked is covered no sooner than it would have been under
    /// `from`, since whoever booked it leaves by that one. The debt is never deeper than [`DEBT_MAX`].
    #[must_use]
    pub fn carry_over_booked(&self, mark: Mark, from: &Ruler, now: Moment) -> Mark {
        let (Some(to), Some(meter)) = (self.meter(), from.meter()) else { return mark };
        let (old, new) = (meter.level(now), to.level(now));
        let paid_up = |level: Level| if to.is_queue() { level.capacity.cast_signed() } else { 0 };
        let booked = paid_up(old).saturating_sub(old.balance(mark));
        if booked <= 0 {
            return self.carry_over(mark, from, now);
        }
        let ahead = to.minted_while(&meter, booked.unsigned_abs(), now);
        new.mark_of(paid_up(new).saturating_sub_unsigned(ahead))
    }
}

impl Level {
    /// The mark after `cost`, which is at most the burst, is charged; `None` if the debt would be above [`DEBT_MAX`].
    const fn into_debt(self, mark: Mark, cost: Cost) -> Option<Mark> {
        // The cost is at most 10^18 and the balance at least −10^18, so the difference fits.
        let left = self.balance(mark) - cost.as_micros().cast_signed();
        if left < -DEBT_MAX.as_micros().cast_signed() { None } else { Some(self.mark_of(left)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Limit, Rate, Span};

    /// Mints a micro-token per nanosecond, and saves up 50.
    fn bucket(shape: Shape) -> Meter {
        let limit = Limit::new(Rate::new(1, Span::from_nanos(1_000_000)), Burst::micros(50)).unwrap();
        Meter::shaped(limit, shape, at(0), u64::MAX - 7)
    }

    fn at(nanos: u64) -> Moment {
        Moment::from_nanos(nanos)
    }

    fn cost(micros: u64) -> Demand {
        Demand::of(Cost::micros(micros))
    }

    #[test]
    fn a_booking_goes_into_debt_by_what_is_missing() {
        let meter = bucket(Shape::Bucket);
        let first = meter.book(meter.level(at(0)).full_mark(), cost(40), at(0)).unwrap();
        assert_eq!(first.missing, 0);
        let second = meter.book(first.mark, cost(20), at(0)).unwrap();
        assert_eq!((second.missing, meter.level(at(0)).balance(second.mark)), (10, -10));
        let third = meter.book(second.mark, cost(50), at(0)).unwrap();
        assert_eq!(third.missing, 60);
        assert_eq!([59, 60].map(|nanos| meter.lead(third.departure, at(nanos))), [-1, 0]);
        let level = meter.level(at(60));
        assert!(matches!(level.spend(third.mark, Cost::micros(1)), Spend::Short { missing: 1, .. }));
    }

    #[test]
    fn in_a_leaky_bucket_the_share_of_others_is_kept() {
        let meter = bucket(Shape::Queue { least: 0 });
        let keeping = Demand { keep: Tokens::from_micros(30), ..cost(20) };
        let first = meter.book(meter.level(at(0)).full_mark(), keeping, at(0)).unwrap();
        assert_eq!(meter.book(first.mark, keeping, at(0)), Err(Unbookable::Full { missing: 20 }));
    }

    #[test]
    fn a_debt_that_would_read_as_full_is_refused() {
        let limit = Limit::new(Rate::per_second(1_000_000_000), Burst::tokens(1_000_000_000_000)).unwrap();
        let (meter, debt_max) = (Meter::new(limit, at(0), 7), DEBT_MAX.as_micros());
        let (level, empty) = (meter.level(at(0)), meter.level(at(0)).mark_of(0));
        let deepest = meter.book(empty, cost(debt_max), at(0)).unwrap();
        assert_eq!(deepest.missing, debt_max);
        assert_eq!(meter.book(empty, cost(debt_max + 1), at(0)), Err(Unbookable::TooDeep));
        assert_eq!(meter.book(deepest.mark, cost(1), at(0)), Err(Unbookable::TooDeep));
        // Read by a clock that is behind by as much as it takes to mint the other half, it is still debt.
        let behind = Level { minted: level.minted.wrapping_sub(debt_max), ..level };
        assert!(behind.balance(deepest.mark) < 0);
    }

    #[test]
    fn in_a_leaky_bucket_one_leaves_after_the_other_and_nothing_is_saved_up() {
        let meter = bucket(Shape::Queue { least: 0 });
        let first = meter.book(meter.level(at(100)).full_mark(), cost(20), at(100)).unwrap();
        assert_eq!(first.missing, 0);
        let second = meter.book(first.mark, cost(20), at(100)).unwrap();
        assert_eq!(second.missing, 20);
        let third = meter.book(second.mark, cost(10), at(110)).unwrap();
        assert_eq!(third.missing, 30, "behind what is still in the queue");
        assert_eq!([139, 140].map(|nanos| meter.lead(third.departure, at(nanos))), [-1, 0]);
        assert_eq!(meter.mark_of_booking(third.departure, cost(10)), third.mark);
        assert_eq!(meter.book(third.mark, cost(11), at(110)), Err(Unbookable::Full { missing: 1 }));
    }

    #[test]
    fn what_a_full_bucket_runs_over_with_is_spilt() {
        let meter = bucket(Shape::Bucket);
        let booked = meter.book(meter.level(at(0)).mark_of(0), cost(20), at(0)).unwrap();
        // It may leave at 20; at 50 the bucket is full, its cost included.
        assert_eq!(
            [20, 50, 51, 90].map(|nanos| meter.spilt(booked.departure, cost(20), at(nanos))),
            [0, 0, 1, 40]
        );
        let meter = bucket(Shape::Queue { least: 0 });
        let booked = meter.book(meter.level(at(0)).full_mark(), cost(20), at(0)).unwrap();
        assert_eq!([0, 5].map(|nanos| meter.spilt(booked.departure, cost(20), at(nanos))), [0, 5]);
    }

    /// A bucket, or a leaky one, that mints a micro-token in so many nanoseconds.
    fn every(nanos: u64, shape: Shape) -> Meter {
        let limit = Limit::new(Rate::new(1, Span::from_nanos(nanos * 1_000_000)), Burst::micros(50)).unwrap();
        Meter::shaped(limit, shape, at(0), nanos)
    }

    #[test]
    fn what_was_booked_is_covered_no_sooner_on_another_tier_and_hardly_later() {
        for shape in [Shape::Bucket, Shape::Queue { least: 0 }] {
            let meters = [1, 3, 7, 1_000].map(|nanos| every(nanos, shape));
            for (from, to) in meters.iter().flat_map(|from| meters.iter().map(move |to| (from, to))) {
                let (from, to, now) = (Ruler::from(*from), Ruler::from(*to), at(12_345));
                let paid_up = |ruler: &Ruler, mark, now| match (ruler.reading(now).balance(mark), shape) {
                    (balance, Shape::Queue { .. }) => balance >= 50,
                    (balance, _) => balance >= 0,
                };
                for booked in [1, 2, 20, 49] {
                    let full = if shape == Shape::Bucket { 0 } else { 50 };
                    let mark = from.reading(now).mark_of(full - booked);
                    let carried = to.carry_over_booked(mark, &from, now);
                    let when = (0..100_000)
                        .map(|wait| at(12_345 + wait))
                        .find(|now| paid_up(&from, mark, *now))
                        .unwrap();
                    assert!(!paid_up(&to, carried, at(when.as_nanos() - 1)), "{booked} {from:?} {to:?}");
                    assert!(
                        paid_up(&to, carried, at(when.as_nanos() + 1_000)),
                        "within a micro-token's time"
                    );
                }
            }
        }
    }

    #[test]
    fn what_nobody_booked_is_carried_over_as_it_is() {
        let (from, to) = (Ruler::from(every(3, Shape::Bucket)), Ruler::from(every(7, Shape::Bucket)));
        let mark = from.reading(at(100)).mark_of(20);
        assert_eq!(to.carry_over_booked(mark, &from, at(100)), to.carry_over(mark, &from, at(100)));
    }

    #[test]
    fn no_debt_grows_deeper_than_it_may_on_a_faster_tier() {
        let slow = Limit::new(Rate::per_day(1), Burst::tokens(1_000)).unwrap();
        let fast = Limit::new(Rate::per_second(1_000_000_000), Burst::tokens(1_000)).unwrap();
        let [slow, fast] = [slow, fast].map(|limit| Ruler::from(Meter::new(limit, at(0), 7)));
        let mark = slow.reading(at(0)).mark_of(-1_000_000_000);
        let carried = fast.carry_over_booked(mark, &slow, at(0));
        assert_eq!(fast.reading(at(0)).balance(carried), -DEBT_MAX.as_micros().cast_signed());
    }
}
