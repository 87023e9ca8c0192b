//! Requests in the order in which they come, from several patterns and never too many.

use std::fmt;

use tollgate::{Cost, Moment};

use super::pattern::Pattern;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it comes.
    pub at: Moment,
    /// What it asks for; above 0.
    pub cost: Cost,
}

/// Requests of one cost, by a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// When they come.
    pub pattern: Pattern,
    /// What each of them asks for.
    pub cost: Cost,
}

/// There are more requests than there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyArrivals {
    /// The first stream with which there are too many, by its position.
    pub stream: usize,
    /// How many there may be.
    pub most: usize,
}

/// All requests of the streams, ascending; those of one moment in the order of the streams. However many a stream has, no more than `most`
/// and one are made.
pub fn arrivals(streams: &[Stream], most: usize) -> Result<Vec<Arrival>, TooManyArrivals> {
    let mut all = Vec::new();
    for (stream, Stream { pattern, cost }) in streams.iter().enumerate() {
        let room = (most + 1).saturating_sub(all.len());
        all.extend(pattern.moments().take(room).map(|at| Arrival { at, cost: *cost }));
        if all.len() > most {
            return Err(TooManyArrivals { stream, most });
        }
    }
    all.sort_by_key(|arrival| arrival.at);
    Ok(all)
}

impl fmt::Display for TooManyArrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, most } = self;
        write!(
            f,
            "with `arrivals[{stream}]` there are more than {most} requests; use fewer per second, or a shorter time"
        )
    }
}

impl std::error::Error for TooManyArrivals {}

#[cfg(test)]
mod tests {
    use tollgate::{Rate, Span};

    use super::*;
    use crate::playground::Pace;

    fn at(millis: u64) -> Moment {
        Moment::default() + Span::from_millis(millis)
    }

    #[test]
    fn those_of_one_moment_come_in_the_order_of_the_streams() {
        let burst = |millis, count, cost| Stream {
            pattern: Pattern::Burst { at: at(millis), count },
            cost: Cost::tokens(cost),
        };
        let found = arrivals(&[burst(5, 2, 1), burst(0, 1, 2), burst(5, 1, 3)], 10).unwrap();
        let found: Vec<_> = found.iter().map(|arrival| (arrival.at, arrival.cost)).collect();
        let expected = [(0, 2), (5, 1), (5, 1), (5, 3)];
        assert_eq!(found, expected.map(|(millis, cost)| (at(millis), Cost::tokens(cost))));
    }

    #[test]
    fn too_many_are_refused_before_they_are_made() {
        let pace = Pace::new(Rate::per_second(1_000_000_000)).unwrap();
        let day = at(86_400_000);
        let (on, off) = (Span::from_nanos(1), Span::ZERO);
        for endless in [
            Pattern::Steady { pace, from: at(0), to: day },
            Pattern::Poisson { pace, from: at(0), to: day, seed: 7 },
            Pattern::Waves { pace, on, off, from: at(0), to: day },
            Pattern::Burst { at: at(0), count: u64::MAX },
        ] {
            let few = Stream { pattern: Pattern::Burst { at: at(0), count: 9 }, cost: Cost::ONE };
            let found = arrivals(&[few, Stream { pattern: endless, cost: Cost::ONE }], 10);
            assert_eq!(found, Err(TooManyArrivals { stream: 1, most: 10 }));
        }
        let just = Stream { pattern: Pattern::Burst { at: at(0), count: 10 }, cost: Cost::ONE };
        assert_eq!(arrivals(&[just], 10).map(|all| all.len()), Ok(10));
    }
}
