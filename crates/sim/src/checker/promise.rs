//! What may be admitted: a burst and the integral of a rate that changes now and then, in integers.
//!
//! The unit is a grain, a fraction of a micro-token that divides all rates involved, so that sums and differences are
//! exact. Where there is no such fraction above 2^-32, minting is rounded down to 2^-32 of a micro-token and the sum of
//! those roundings is allowed on top. It does not know any event.

use tollgate_core::{Limit, Moment};

/// The finest grain: 2^32 to a micro-token. Then 584 years at the highest rate are 2^116 grains, and 2^31 events of the
/// highest cost 2^127.
const GRAINS_PER_MICRO_MAX: u64 = 1 << 32;

/// The limits of one bucket over time.
#[derive(Debug, Clone)]
pub struct Promise {
    first: Limit,
    /// Ascending.
    changes: Vec<(Moment, Limit)>,
}

impl Promise {
    /// One limit for all time.
    pub fn of(limit: Limit) -> Promise {
        Promise { first: limit, changes: Vec::new() }
    }

    /// From `from` on, `limit`. Moments ascend; an earlier one counts as the last one given. A change that took a while
    /// is to be entered so that the more generous of the two limits holds meanwhile.
    #[must_use]
    pub fn then(mut self, from: Moment, limit: Limit) -> Promise {
        let last = self.changes.last().map_or(from, |(last, _)| *last);
        self.changes.push((from.max(last), limit));
        self
    }

    pub(super) fn ruler(&self) -> Ruler {
        let limits = || std::iter::once(&self.first).chain(self.changes.iter().map(|(_, limit)| limit));
        let common = limits().try_fold(1, |common, limit| {
            let [_, nanos, _] = limit.terms();
            least_common_multiple(common, nanos).filter(|grains| *grains <= GRAINS_PER_MICRO_MAX)
        });
        let grains = i128::from(common.unwrap_or(GRAINS_PER_MICRO_MAX));
        let origin = Moment::from_nanos(0);
        let mut ruler = Ruler {
            grains,
            rounding: if common.is_some() { 0 } else { 2 + self.changes.len() as i128 },
            segments: vec![Segment { from: origin, minted: 0, limit: self.first }],
        };
        for (from, limit) in &self.changes {
            let minted = ruler.minted(*from);
            ruler.segments.push(Segment { from: *from, minted, limit: *limit });
        }
        ruler
    }
}

/// A promise ready to measure with. All amounts in grains.
#[derive(Debug, Clone)]
pub(super) struct Ruler {
    /// Grains in a micro-token.
    grains: i128,
    /// How far rounding can make the minting of an interval look too small.
    rounding: i128,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    from: Moment,
    /// Minted from the origin of time to `from`.
    minted: i128,
    limit: Limit,
}

impl Ruler {
    pub(super) fn grains_per_micro(&self) -> i128 {
        self.grains
    }

    /// When the limit changes.
    pub(super) fn changes(&self) -> impl Iterator<Item = Moment> {
        self.segments[1..].iter().map(|segment| segment.from)
    }

    /// Minted from the origin of time to `at`.
    pub(super) fn minted(&self, at: Moment) -> i128 {
        let Segment { from, minted, limit } = self.segments[self.last_by(at)];
        let [micros, nanos, _] = limit.terms();
        let steps = u128::from(at.since(from).as_nanos()) * u128::from(micros);
        let (whole, rest) = (steps / u128::from(nanos), steps % u128::from(nanos));
        let part = rest * self.grains.unsigned_abs() / u128::from(nanos);
        minted + whole.cast_signed() * self.grains + part.cast_signed()
    }

    /// What is over for an interval that starts at `at`, but for its end and its charges: the minting before it that
    /// does not count, less the burst and the one unit of tolerance.
    pub(super) fn allowance_from(&self, at: Moment) -> i128 {
        self.minted(at) - (i128::from(self.burst(at)) + 1) * self.grains
    }

    /// Rounds an excess up to whole micro-tokens, after giving it the benefit of the rounding.
    pub(super) fn whole_excess(&self, over: i128) -> i128 {
        -(-(over - self.rounding)).div_euclid(self.grains)
    }

    /// The most a bucket can hold when an interval begins at `at`. At the moment of a change that is the old burst: a larger
    /// new one is still empty, and a smaller one may come after a check of the same moment.
    fn burst(&self, at: Moment) -> u64 {
        let before = self.segments[1..].partition_point(|segment| segment.from < at);
        self.segments[before].limit.burst().as_micros()
    }

    /// The segment in force at `at`.
    fn last_by(&self, at: Moment) -> usize {
        self.segments.partition_point(|segment| segment.from <= at) - 1
    }
}

fn least_common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{Burst, Rate, Span};

    #[test]
    fn minting_follows_every_change_of_the_rate() {
        let limit = |tokens, nanos, burst| {
            Limit::new(Rate::new(tokens, Span::from_nanos(nanos)), Burst::micros(burst)).unwrap()
        };
        let promise =
            Promise::of(limit(1, 3_000_000, 9)).then(Moment::from_nanos(10), limit(1, 7_000_000, 5));
        let ruler = promise.ruler();
        assert_eq!(ruler.grains_per_micro(), 21);
        assert_eq!(ruler.minted(Moment::from_nanos(10)), 70);
        assert_eq!(ruler.minted(Moment::from_nanos(13)), 79);
        assert_eq!(ruler.burst(Moment::from_nanos(10)), 9);
        assert_eq!(ruler.burst(Moment::from_nanos(11)), 5);
        assert_eq!(ruler.whole_excess(1), 1);
        assert_eq!(ruler.whole_excess(-20), 0);
        assert_eq!(ruler.whole_excess(-21), -1);
    }
}
