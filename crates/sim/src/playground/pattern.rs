//! When requests come: five patterns, each a pure function of its terms.
//!
//! Even distances are exact ratios, so that 60 per second never drift; a moment that falls between two nanoseconds is rounded up, and no
//! request comes early. Chance is a seed: the same one always gives the same moments.

use tollgate::{Burst, Limit, LimitError, Moment, Rate, Span, Tokens};

/// So many requests per time: from one per year to 10^9 per second, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace(Limit);

/// When requests come. All lie from `from` on and before `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// At even distances, the first at `from`.
    Steady {
        /// How many per time.
        pace: Pace,
        /// The first moment.
        from: Moment,
        /// The end, at which none comes.
        to: Moment,
    },
    /// All at once.
    Burst {
        /// When.
        at: Moment,
        /// How many.
        count: u64,
    },
    /// By chance, each whenever the others come, as of many clients that do not know of one another.
    Poisson {
        /// How many per time, on average.
        pace: Pace,
        /// None comes before.
        from: Moment,
        /// Nor from here on.
        to: Moment,
        /// What decides.
        seed: u64,
    },
    /// At even distances for a while, then none for a while, and so on.
    Waves {
        /// How many per time within a wave.
        pace: Pace,
        /// How long a wave lasts; above 0.
        on: Span,
        /// How long it is quiet after each.
        off: Span,
        /// The first wave begins here.
        from: Moment,
        /// The end, at which none comes.
        to: Moment,
    },
    /// At these moments, in whatever order they are given.
    List(Vec<Moment>),
}

impl Pace {
    /// One request for each token that this rate would mint.
    pub fn new(rate: Rate) -> Result<Pace, LimitError> {
        Limit::new(rate, Burst::micros(1)).map(Pace)
    }

    /// How long after the first the request at `index` comes, rounded up to the nanosecond.
    fn after(self, index: u64) -> Span {
        self.0.time_to_mint(Tokens::from_micros(index.saturating_mul(1_000_000)))
    }

    /// Nanoseconds between two requests, on average.
    #[expect(clippy::cast_precision_loss, reason = "the mean of a chance distance")]
    fn mean_nanos(self) -> f64 {
        let [micros, nanos, _] = self.0.terms();
        1e6 * nanos as f64 / micros as f64
    }

    /// Even distances from `from` on, before `to`.
    fn every(self, from: Moment, to: Moment) -> impl Iterator<Item = Moment> {
        (0..).map(move |index| from + self.after(index)).take_while(move |at| *at < to)
    }
}

impl Pattern {
    /// The moments, one by one: ascending but for a list. There may be very many.
    pub fn moments(&self) -> Box<dyn Iterator<Item = Moment> + '_> {
        match *self {
            Pattern::Steady { pace, from, to } => Box::new(pace.every(from, to)),
            Pattern::Burst { at, count } => Box::new((0..count).map(move |_| at)),
            Pattern::Poisson { pace, from, to, seed } => Box::new(by_chance(pace, from, to, seed)),
            Pattern::Waves { pace, on, off, from, to } => {
                let begins = std::iter::successors(Some(from), move |begin| Some(*begin + on + off));
                let begins = begins.take_while(move |begin| *begin < to);
                Box::new(begins.flat_map(move |begin| pace.every(begin, to.min(begin + on))))
            }
            Pattern::List(ref moments) => Box::new(moments.iter().copied()),
        }
    }
}

/// Distances without a memory: how long it was quiet says nothing of how long it will be.
fn by_chance(pace: Pace, from: Moment, to: Moment, seed: u64) -> impl Iterator<Item = Moment> {
    let (mut random, mean) = (fastrand::Rng::with_seed(seed), pace.mean_nanos());
    let mut at = from;
    let next = move || {
        at = at + distance(random.f64(), mean);
        Some(at)
    };
    std::iter::from_fn(next).take_while(move |at| *at < to)
}

/// The distance that is exceeded with this chance, which is below 1; rounded to the nanosecond.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above 0, and the ends saturate")]
fn distance(chance: f64, mean_nanos: f64) -> Span {
    Span::from_nanos((-(1.0 - chance).ln() * mean_nanos).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: Moment = at(10_000);

    const fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    fn pace(per_second: u64) -> Pace {
        Pace::new(Rate::per_second(per_second)).unwrap()
    }

    #[track_caller]
    fn check(pattern: &Pattern, millis: &[u64]) {
        let found: Vec<u64> = pattern.moments().map(|at| at.as_nanos() / 1_000_000).collect();
        assert_eq!(found, millis);
    }

    #[test]
    fn steady_requests_come_at_even_distances_and_not_at_the_end() {
        check(&Pattern::Steady { pace: pace(4), from: at(100), to: at(1_100) }, &[100, 350, 600, 850]);
        check(&Pattern::Steady { pace: pace(4), from: at(100), to: at(100) }, &[]);
        let sixty = Pattern::Steady { pace: pace(60), from: at(0), to: at(100_000) };
        let sixty: Vec<Moment> = sixty.moments().collect();
        assert_eq!(sixty.len(), 6_000);
        // Rounded up, and never drifting.
        assert_eq!([sixty[59], sixty[60]], [983_333_334, 1_000_000_000].map(Moment::from_nanos));
        assert_eq!(sixty[5_940], at(99_000));
    }

    #[test]
    fn a_burst_comes_all_at_once() {
        check(&Pattern::Burst { at: at(7), count: 3 }, &[7, 7, 7]);
        check(&Pattern::Burst { at: at(7), count: 0 }, &[]);
    }

    #[test]
    fn waves_begin_anew_and_are_cut_off_at_the_end() {
        let (on, off) = (Span::from_millis(1_000), Span::from_millis(4_000));
        let waves = Pattern::Waves { pace: pace(2), on, off, from: at(500), to: at(5_800) };
        check(&waves, &[500, 1_000, 5_500]);
    }

    #[test]
    fn a_list_is_what_it_says() {
        check(&Pattern::List(vec![at(20), at(0), at(20)]), &[20, 0, 20]);
    }

    #[test]
    fn chance_is_a_seed_and_keeps_to_the_pace() {
        let of = |seed| -> Vec<Moment> {
            Pattern::Poisson { pace: pace(200), from: at(1_000), to: END, seed }.moments().collect()
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        for seed in 0..50 {
            let found = of(seed);
            assert!(found.is_sorted() && found.iter().all(|at| (self::at(1_000)..END).contains(at)));
            // 1,800 on average; six deviations of 42 to either side.
            assert!((1_546..2_054).contains(&found.len()), "{seed}: {}", found.len());
        }
    }

    #[test]
    fn chance_has_no_memory() {
        // The share of distances above the mean is 1/e, and above twice the mean 1/e².
        let pattern = Pattern::Poisson { pace: pace(1_000), from: at(0), to: at(100_000), seed: 1 };
        let moments: Vec<Moment> = pattern.moments().collect();
        let distances = moments.windows(2).map(|pair| pair[1].since(pair[0]).as_nanos());
        let above = |nanos: u64| distances.clone().filter(|distance| *distance > nanos).count();
        assert!(above(1_000_000).abs_diff(moments.len() * 368 / 1_000) < moments.len() / 100);
        assert!(above(2_000_000).abs_diff(moments.len() * 135 / 1_000) < moments.len() / 100);
    }
}
