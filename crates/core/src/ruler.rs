//! What the word of a bucket is read against: one ruler for every limit, whatever its algorithm.

use crate::algorithm::Algorithm;
use crate::calendar::{Calendar, Window};
use crate::concurrency::PlacesMeter;
use crate::meter::Shape;
use crate::sliding_counter::CounterMeter;
use crate::tokens::MICROS_PER_TOKEN;
use crate::{
    Demand, FixedWindow, LeakyBucket, Limit, Mark, Meter, Moment, Reading, SlidingLog, Span, Tokens,
};

/// The arithmetic of one limit on one clock. A plain value: changing the limit gives another that continues it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ruler(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Meter(Meter),
    Counter(CounterMeter),
    Places(PlacesMeter),
    Log(SlidingLog),
}

/// Where a ruler begins.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// From when on it counts.
    pub now: Moment,
    /// Where a meter's count begins. A store that reuses slots picks it at random, so that a mark of one meter is no mark of
    /// another.
    pub offset: u64,
    /// Nanoseconds from 1970 to the clock's origin, for windows of the calendar.
    pub origin: u64,
}

impl Ruler {
    /// How many words [`Ruler::words`] gives. The first [`Meter::QUICK_WORDS`] are those of [`Meter::quick_words`].
    pub const WORDS: usize = Meter::QUICK_WORDS + 7;

    /// A ruler by which every bucket is full.
    pub const fn new(algorithm: Algorithm, start: Start) -> Ruler {
        let (now, offset) = (start.now, start.offset);
        Ruler(match algorithm {
            Algorithm::TokenBucket(limit) => Kind::Meter(Meter::new(limit, now, offset)),
            Algorithm::LeakyBucket(LeakyBucket { limit, least }) => {
                Kind::Meter(Meter::shaped(limit, Shape::Queue { least }, now, offset))
            }
            Algorithm::FixedWindow(window) => {
                let shape = Shape::Window(Calendar::new(window.window, start.origin));
                Kind::Meter(Meter::shaped(Limit::of_quota(window.quota), shape, now, offset))
            }
            Algorithm::SlidingCounter(counter) => Kind::Counter(CounterMeter::new(counter, now)),
            Algorithm::Concurrency(concurrency) => Kind::Places(PlacesMeter::new(concurrency, now)),
            Algorithm::SlidingLog(log) => Kind::Log(log),
        })
    }

    /// The algorithm and limit in force.
    pub const fn algorithm(&self) -> Algorithm {
        match self.0 {
            Kind::Meter(meter) => {
                let limit = *meter.limit();
                match meter.shape {
                    Shape::Bucket => Algorithm::TokenBucket(limit),
                    Shape::Queue { least } => Algorithm::LeakyBucket(LeakyBucket { limit, least }),
                    Shape::Window(calendar) => {
                        Algorithm::FixedWindow(FixedWindow { quota: limit.burst, window: calendar.window() })
                    }
                }
            }
            Kind::Counter(counter) => Algorithm::SlidingCounter(counter.counter()),
            Kind::Places(places) => Algorithm::Concurrency(places.concurrency()),
            Kind::Log(log) => Algorithm::SlidingLog(log),
        }
    }

    /// What the words of buckets mean at `now`.
    pub fn reading(&self, now: Moment) -> Reading {
        match self.0 {
            Kind::Meter(meter) => Reading::Level { level: meter.level(now), least: meter.least() },
            Kind::Counter(counter) => Reading::Counter(counter.reading(now)),
            Kind::Places(places) => Reading::Places(places.reading(now)),
            Kind::Log(_) => Reading::Blank,
        }
    }

    /// Whether no amount of waiting helps: the cost, and what must be kept, are above what a full bucket holds, each rounded up
    /// to what the algorithm counts in.
    pub const fn never_admits(&self, demand: Demand) -> bool {
        let step = match self.0 {
            Kind::Counter(counter) => counter.counter().step(),
            Kind::Places(_) => MICROS_PER_TOKEN,
            Kind::Meter(_) | Kind::Log(_) => 1,
        };
        demand.in_steps_of(step).need() > self.full().as_micros()
    }

    /// What a full bucket holds.
    pub const fn full(&self) -> Tokens {
        self.algorithm().full()
    }

    /// How long after `now` the bucket at `mark` can pay, if nobody else spends. Exact to the nanosecond, but for places, which
    /// may be given back any time: there it is the latest.
    pub fn wait(&self, mark: Mark, demand: Demand, now: Moment) -> Span {
        match self.0 {
            Kind::Meter(meter) => {
                let level = meter.level(now);
                let missing = meter.least().max(demand.need()).saturating_add_signed(-level.balance(mark));
                meter.wait_for(missing, now)
            }
            Kind::Counter(counter) => counter.reading(now).wait(mark, demand),
            Kind::Places(places) => places.reading(now).wait(mark, demand),
            Kind::Log(_) => Span::ZERO,
        }
    }

    /// How long whoever was admitted to the bucket that stood at `mark` must wait before it leaves: no time at all but for a
    /// leaky bucket.
    pub fn delay(&self, mark: Mark, now: Moment) -> Span {
        match self.0 {
            Kind::Meter(meter) if matches!(meter.shape, Shape::Queue { .. }) => {
                let queued = self.full().as_micros().saturating_add_signed(-meter.level(now).balance(mark));
                meter.wait_for(queued, now)
            }
            _ => Span::ZERO,
        }
    }

    /// The ruler that continues this one under another limit from `now` on; `None` if its buckets mean nothing under that one:
    /// another algorithm, another length of a sliding window, another timeout, or a quota more than sixteen times that for which
    /// a sliding counter chose its steps, or below one of them.
    pub fn change(&self, algorithm: Algorithm, now: Moment) -> Option<Ruler> {
        Some(Ruler(match (self.0, algorithm) {
            (Kind::Meter(meter), _) => {
                let Ruler(Kind::Meter(next)) = self.restart(algorithm, now)? else { return None };
                Kind::Meter(meter.reshape(*next.limit(), next.shape, now))
            }
            (Kind::Counter(meter), Algorithm::SlidingCounter(counter)) => {
                Kind::Counter(meter.change(counter)?)
            }
            (Kind::Places(meter), Algorithm::Concurrency(places)) => Kind::Places(meter.change(places)?),
            (Kind::Log(log), Algorithm::SlidingLog(next)) if log.window() == next.window() => Kind::Log(next),
            _ => return None,
        }))
    }

    /// A ruler for another limit of the same rule, so that a bucket may go from one to the other; `None` as for
    /// [`Ruler::change`].
    pub fn sibling(&self, algorithm: Algorithm, start: Start) -> Option<Ruler> {
        match self.0 {
            Kind::Meter(_) => self.restart(algorithm, start.now).map(|_| Ruler::new(algorithm, start)),
            _ => self.change(algorithm, start.now),
        }
    }

    /// The mark under this ruler of a bucket that stands at `mark` under `from`, its sibling: the same balance, at most full. Of a
    /// leaky bucket, a sliding window and places it is what is queued or taken that stays the same.
    pub fn carry_over(&self, mark: Mark, from: &Ruler, now: Moment) -> Mark {
        let (Kind::Meter(to), Kind::Meter(from)) = (self.0, from.0) else { return mark };
        let (old, new) = (from.level(now), to.level(now));
        let longer = match to.shape {
            Shape::Queue { .. } => new.capacity.cast_signed() - old.capacity.cast_signed(),
            Shape::Bucket | Shape::Window(_) => 0,
        };
        new.mark_of(old.balance(mark) + longer)
    }

    /// Whether a charge of `made` is so old at `now` that its bucket would be full again had nobody else spent, and that its word
    /// no longer tells: words count modulo something. `false` of a younger one, of which [`Reading::returnable`] tells.
    pub fn has_lapsed(&self, made: Moment, now: Moment) -> bool {
        match self.0 {
            Kind::Meter(meter) => meter.has_lapsed(made, now),
            Kind::Counter(counter) => counter.has_lapsed(made, now),
            Kind::Places(_) | Kind::Log(_) => false,
        }
    }

    /// Whether a bucket that is not full may be forgotten to make room, because whoever takes its place can inherit what it
    /// stood at. Only marks on a meter keep their order over time.
    pub const fn is_inheritable(&self) -> bool {
        matches!(self.0, Kind::Meter(_))
    }

    /// The log's limit, if that is the algorithm: its state is not a word.
    pub const fn log(&self) -> Option<SlidingLog> {
        match self.0 {
            Kind::Log(log) => Some(log),
            _ => None,
        }
    }

    /// Whether its buckets are queues, in which others wait behind whoever was charged.
    pub const fn is_queue(&self) -> bool {
        matches!(self.0, Kind::Meter(meter) if meter.is_queue())
    }

    /// Whether its buckets are places at work, which do not outlive the program that works.
    pub const fn is_of_places(&self) -> bool {
        matches!(self.0, Kind::Places(_))
    }

    /// The meter, if the algorithm has one.
    pub const fn meter(&self) -> Option<Meter> {
        match self.0 {
            Kind::Meter(meter) => Some(meter),
            _ => None,
        }
    }

    /// The same ruler carried onto another clock: what it was at `until` on the old one it is at `now` on the new one, whose
    /// origin is `origin` nanoseconds after 1970.
    #[must_use]
    pub fn transplant(&self, until: Moment, now: Moment, origin: u64) -> Ruler {
        Ruler(match self.0 {
            Kind::Meter(meter) => Kind::Meter(meter.transplant(until, now, origin)),
            Kind::Counter(counter) => Kind::Counter(counter.transplant(until, now)),
            Kind::Places(places) => Kind::Places(PlacesMeter::new(places.concurrency(), now)),
            Kind::Log(log) => Kind::Log(log),
        })
    }

    /// The ruler in words, for a store to keep.
    pub const fn words(&self) -> [u64; Ruler::WORDS] {
        // What is no token bucket must not look like one: a burst that nothing fits in.
        let (mut quick, mut other) = ([0; Meter::QUICK_WORDS], [0; 2]);
        quick[2] = 1;
        let (kind, terms) = match self.0 {
            Kind::Meter(meter) => {
                (quick, other) = (meter.quick_words(), meter.other_words());
                match meter.shape {
                    Shape::Bucket => (0, [0; 4]),
                    Shape::Queue { least } => (1, [least, 0, 0, 0]),
                    Shape::Window(calendar) => {
                        let [unit, length, early] = calendar.window().words();
                        (2, [unit, length, early, calendar.origin()])
                    }
                }
            }
            Kind::Counter(counter) => (3, counter.words()),
            Kind::Places(places) => (4, places.words()),
            Kind::Log(log) => (5, log.words()),
        };
        let [num, den, burst, inverse, base, minted, fraction, quick_head] = quick;
        let ([head, residue], [a, b, c, d]) = (other, terms);
        [num, den, burst, inverse, base, minted, fraction, quick_head, head, residue, kind, a, b, c, d]
    }

    /// The ruler whose words these are, taken on trust: they must come from [`Ruler::words`].
    pub const fn from_words(words: [u64; Ruler::WORDS]) -> Ruler {
        let [num, den, burst, inverse, base, minted, fraction, quick_head, head, residue, kind, a, b, c, d] =
            words;
        let quick = [num, den, burst, inverse, base, minted, fraction, quick_head];
        let terms = [a, b, c, d];
        let shape = match kind {
            0 => Shape::Bucket,
            1 => Shape::Queue { least: a },
            2 => Shape::Window(Calendar::new(Window::from_words([a, b, c]), d)),
            3 => return Ruler(Kind::Counter(CounterMeter::from_words(terms))),
            4 => return Ruler(Kind::Places(PlacesMeter::from_words(terms))),
            _ => return Ruler(Kind::Log(SlidingLog::from_words(terms))),
        };
        Ruler(Kind::Meter(Meter::from_all_words(quick, [head, residue], shape)))
    }

    /// The ruler whose words these are; `None` if they are not those of a ruler, as in a damaged file.
    pub fn try_from_words(words: [u64; Ruler::WORDS]) -> Option<Ruler> {
        let ruler = Ruler::from_words(words);
        let sound = match ruler.0 {
            Kind::Meter(meter) => meter.is_sound(),
            Kind::Counter(counter) => counter.is_sound(),
            Kind::Places(places) => places.is_sound(),
            Kind::Log(log) => log.is_sound(),
        };
        (sound && ruler.words() == words).then_some(ruler)
    }

    /// A ruler under `algorithm` if it is of the same kind as this one.
    fn restart(&self, algorithm: Algorithm, now: Moment) -> Option<Ruler> {
        let origin = match self.0 {
            Kind::Meter(Meter { shape: Shape::Window(calendar), .. }) => calendar.origin(),
            _ => 0,
        };
        let same = core::mem::discriminant(&self.algorithm()) == core::mem::discriminant(&algorithm);
        same.then(|| Ruler::new(algorithm, Start { now, offset: 0, origin }))
    }
}

impl From<Meter> for Ruler {
    fn from(meter: Meter) -> Ruler {
        Ruler(Kind::Meter(meter))
    }
}
