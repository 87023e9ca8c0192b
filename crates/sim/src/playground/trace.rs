//! One run: what each request was told, and how the buckets stood all the while.

use tollgate::{Algorithm, BuildError, Limit, Moment, Span, Tokens, Verdict};

use super::arrivals::Arrival;
use super::booth::Booth;
use super::passages::{Passage, Passages};
use super::tiers::TieredBooth;

/// Moments at even distances at which the level is looked at, besides those of the requests.
const LOOKS: u64 = 200;

/// By what is limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limits {
    /// One bucket, by any algorithm but concurrency, whose checks take a guard.
    One(Algorithm),
    /// Several token buckets, all or nothing.
    Tiers(Vec<Limit>),
}

/// A request and what it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// The request.
    pub arrival: Arrival,
    /// What became of it.
    pub outcome: Outcome,
    /// What the bucket holds after it; of several, the tightest.
    pub balance: Tokens,
    /// Which tier denied, by its position: the tightest of those that did.
    pub tier: Option<usize>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It goes ahead, after this delay.
    Admitted(Span),
    /// It may try again after this time.
    Denied(Span),
    /// However long it waits, it is not admitted: it asks for more than there ever is.
    Never,
}

/// How a bucket stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// When.
    pub at: Moment,
    /// What it held, by a look that spends nothing.
    pub level: Tokens,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// One for each request, in order.
    pub told: Vec<Told>,
    /// The level of each bucket over time: before and after the requests of every moment at which there are some, and at even distances.
    /// Where it jumps there are two points of one moment, or a nanosecond apart.
    pub levels: Vec<Vec<Point>>,
}

impl Limits {
    /// The most that one request can be charged.
    pub fn capacity(&self) -> Tokens {
        match self {
            Limits::One(limit) => limit.full(),
            Limits::Tiers(limits) => limits.iter().map(Limit::burst).min().unwrap_or_default(),
        }
    }

    /// How many buckets there are.
    pub fn buckets(&self) -> usize {
        match self {
            Limits::One(_) => 1,
            Limits::Tiers(limits) => limits.len(),
        }
    }

    /// The window of a quota, if it is one.
    pub fn window(&self) -> Option<Span> {
        match self {
            Limits::One(Algorithm::FixedWindow(fixed)) => Some(fixed.window().length()),
            Limits::One(Algorithm::SlidingCounter(counter)) => Some(counter.window()),
            Limits::One(Algorithm::SlidingLog(log)) => Some(log.window()),
            _ => None,
        }
    }
}

impl Trace {
    /// Sends the requests, which ascend, to a fresh limiter, and looks at it until `end`.
    pub fn play(limits: &Limits, arrivals: &[Arrival], end: Moment) -> Result<Trace, BuildError> {
        let booth = Booths::new(limits)?;
        let mut trace =
            Trace { told: Vec::with_capacity(arrivals.len()), levels: vec![Vec::new(); limits.buckets()] };
        let mut looks = looks(limits, end).into_iter().peekable();
        for of_one_moment in arrivals.chunk_by(|one, next| one.at == next.at) {
            let now = of_one_moment[0].at;
            while let Some(earlier) = looks.next_if(|at| *at < now) {
                trace.look(&booth, earlier);
            }
            trace.look(&booth, now);
            trace.told.extend(of_one_moment.iter().map(|arrival| booth.check(*arrival)));
            trace.look(&booth, now);
        }
        looks.for_each(|at| trace.look(&booth, at));
        Ok(trace)
    }

    /// What was admitted, by when it leaves.
    pub fn passages(&self) -> Passages {
        let pass = |told: &Told| match (told.outcome, told.arrival) {
            (Outcome::Admitted(delay), Arrival { at, cost }) => {
                Some(Passage { came: at, leaves: at + delay, cost })
            }
            _ => None,
        };
        self.told.iter().filter_map(pass).collect()
    }

    /// How many requests were admitted.
    pub fn admitted(&self) -> usize {
        self.told.iter().filter(|told| matches!(told.outcome, Outcome::Admitted(_))).count()
    }

    /// What was charged in all. Saturates at 1.8·10^13 tokens.
    pub fn admitted_tokens(&self) -> Tokens {
        let admitted = self.told.iter().filter(|told| matches!(told.outcome, Outcome::Admitted(_)));
        let micros = admitted.map(|told| told.arrival.cost.as_micros());
        Tokens::from_micros(micros.fold(0, u64::saturating_add))
    }

    /// Notes how the buckets stand.
    fn look(&mut self, booth: &Booths, at: Moment) {
        for (level, points) in booth.balances(at).into_iter().zip(&mut self.levels) {
            let point = Point { at, level };
            if points.last() != Some(&point) {
                points.push(point);
            }
        }
    }
}

/// When the level is looked at, ascending: at even distances, and where windows end, if those are not too many.
fn looks(limits: &Limits, end: Moment) -> Vec<Moment> {
    let length = end.as_nanos();
    let even = (0..=LOOKS).map(|step| u128::from(length) * u128::from(step) / u128::from(LOOKS));
    let mut looks: Vec<Moment> =
        even.map(|nanos| Moment::from_nanos(u64::try_from(nanos).unwrap_or(length))).collect();
    if let Limits::One(Algorithm::FixedWindow(fixed)) = limits {
        let window = fixed.window().length().as_nanos();
        let windows = length.checked_div(window).filter(|windows| *windows <= LOOKS).unwrap_or(0);
        let ends = (1..=windows).map(|number| number * window);
        looks.extend(ends.flat_map(|end| [end - 1, end]).map(Moment::from_nanos));
        looks.sort_unstable();
        looks.dedup();
    }
    looks
}

/// Whoever is asked.
enum Booths {
    One(Booth),
    Tiers(TieredBooth),
}

impl Booths {
    fn new(limits: &Limits) -> Result<Booths, BuildError> {
        Ok(match limits {
            Limits::One(limit) => Booths::One(Booth::new(*limit)?),
            Limits::Tiers(limits) => Booths::Tiers(TieredBooth::new(limits)?),
        })
    }

    fn check(&self, arrival: Arrival) -> Told {
        let Arrival { at, cost } = arrival;
        let (verdict, balance, tightest) = match self {
            Booths::One(booth) => {
                let verdict = booth.check_at(cost, at);
                (verdict, verdict.remaining().unwrap_or_else(|| booth.balance_at(at)), None)
            }
            Booths::Tiers(booth) => {
                let told = booth.check_at(cost, at);
                (told.verdict, told.remaining, Some(told.tightest))
            }
        };
        let (outcome, tier) = match verdict {
            Verdict::Admit { delay, .. } => (Outcome::Admitted(delay), None),
            Verdict::Deny { wait, .. } => (Outcome::Denied(wait), tightest),
            Verdict::Never { .. } | Verdict::Invalid(_) => (Outcome::Never, tightest),
        };
        Told { arrival, outcome, balance, tier }
    }

    fn balances(&self, now: Moment) -> Vec<Tokens> {
        match self {
            Booths::One(booth) => vec![booth.balance_at(now)],
            Booths::Tiers(booth) => booth.balances_at(now).collect(),
        }
    }
}
