//! How many may be at work at the same time: a count in one word, in three generations, so that places whose holders were
//! lost are free again after a while.
//!
//! ```text
//!    generation      this       the one before   the one before that    older
//!    places         counted        counted            counted          free again        each lasts half the timeout
//! ```
//! A word knows its generation modulo 16,383. A bucket left alone for a multiple of so many looks, for up to 19 of them, as it
//! was left: places that were lost seem taken again. A word may be read by a clock up to 16 generations behind its writer's; one
//! further behind takes it for an old one, and all places for free.

use crate::tokens::MICROS_PER_TOKEN;
use crate::{Cost, Demand, LimitError, Mark, Moment, Span, Spend, Tokens};

/// Bits of one generation's count.
const COUNT_BITS: u32 = 14;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;
/// Generation numbers in the word are modulo this: never all ones, so the word is never [`Mark::RESERVED_WORD`].
const NUMBERS: u64 = (1 << 14) - 1;
const NUMBER_SHIFT: u32 = 3 * COUNT_BITS;
/// How many generations behind its writer's clock a word may be read; one further behind takes it for an old one.
const AHEAD_MAX: u64 = 16;
/// Above the number, eight bits that change with every write: a word does not come back soon.
const VERSION_SHIFT: u32 = NUMBER_SHIFT + 14;
const VERSIONS: u64 = 1 << 8;
/// Most places of one bucket.
pub const PLACES_MAX: u32 = 16_383;

/// At most so many at work at the same time. A place is given back, or free again once its holder has been silent for the
/// timeout: no earlier, and no later than one and a half times that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Concurrency {
    places: u32,
    /// Nanoseconds that one generation lasts: half the timeout, rounded up.
    generation: u64,
}

/// Places of one bucket on one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlacesMeter {
    concurrency: Concurrency,
    /// Nanoseconds by which generations begin earlier than the clock's origin; less than one generation.
    early: u64,
}

/// What the words of such buckets mean at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacesReading {
    concurrency: Concurrency,
    /// The number of the generation at this moment.
    number: u64,
    /// Nanoseconds since it began.
    elapsed: u64,
}

/// When a place was taken. Whoever gives it back says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation(u64);

/// A word, taken apart and brought up to date: this generation first.
#[derive(Debug, Clone, Copy)]
struct Held {
    number: u64,
    counts: [u64; 3],
    version: u64,
}

impl Concurrency {
    /// From 1 to [`PLACES_MAX`] places, and a timeout of at most 146 years, rounded up to an even number of nanoseconds.
    pub const fn new(places: u32, timeout: Span) -> Result<Concurrency, LimitError> {
        if places == 0 {
            return Err(LimitError::ZeroPlaces);
        }
        if places > PLACES_MAX {
            return Err(LimitError::TooManyPlaces(places));
        }
        match crate::sliding_counter::sound_window(timeout) {
            Ok(timeout) => Ok(Concurrency { places, generation: timeout.div_ceil(2) }),
            Err(LimitError::ZeroWindow) => Err(LimitError::ZeroTimeout),
            Err(_) => Err(LimitError::TimeoutTooLong(timeout)),
        }
    }

    /// How many may be at work.
    pub const fn places(&self) -> u32 {
        self.places
    }

    /// How long a place is safe with a holder that says nothing.
    pub const fn timeout(&self) -> Span {
        Span::from_nanos(self.generation * 2)
    }
}

impl PlacesMeter {
    pub(crate) const fn new(concurrency: Concurrency, now: Moment) -> PlacesMeter {
        let into = now.as_nanos() % concurrency.generation;
        PlacesMeter { concurrency, early: if into == 0 { 0 } else { concurrency.generation - into } }
    }

    pub(crate) const fn concurrency(&self) -> Concurrency {
        self.concurrency
    }

    /// The same with another number of places; `None` if the timeout is another.
    pub(crate) const fn change(&self, concurrency: Concurrency) -> Option<PlacesMeter> {
        if concurrency.generation == self.concurrency.generation {
            Some(PlacesMeter { concurrency, early: self.early })
        } else {
            None
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "numbers are kept modulo 2^64, remainders are below a generation"
    )]
    pub(crate) const fn reading(&self, now: Moment) -> PlacesReading {
        let since = now.as_nanos() as u128 + self.early as u128;
        let generation = self.concurrency.generation as u128;
        PlacesReading {
            concurrency: self.concurrency,
            number: (since / generation) as u64,
            elapsed: (since % generation) as u64,
        }
    }

    pub(crate) const fn words(&self) -> [u64; 4] {
        [self.concurrency.places as u64, self.concurrency.generation, 0, self.early]
    }

    /// The places whose words these are, taken on trust.
    #[expect(clippy::cast_possible_truncation, reason = "the places are the 32 bits that were put there")]
    pub(crate) const fn from_words([places, generation, _, early]: [u64; 4]) -> PlacesMeter {
        PlacesMeter { concurrency: Concurrency { places: places as u32, generation }, early }
    }

    /// Whether these are places that can be kept, and not from a damaged file.
    pub(crate) fn is_sound(&self) -> bool {
        let Concurrency { places, generation } = self.concurrency;
        let timeout = Span::from_nanos(generation.saturating_mul(2));
        Concurrency::new(places, timeout) == Ok(self.concurrency) && self.early < generation
    }
}

impl PlacesReading {
    /// The generation of whoever takes a place now in the bucket at `mark`.
    pub fn generation(&self, mark: Mark) -> Generation {
        Generation(self.held(mark).number)
    }

    /// The word after the places that `cost` took in `generation` are given back; `None` if they have timed out.
    pub fn give_back(&self, mark: Mark, generation: Generation, cost: Cost) -> Option<Mark> {
        let places = cost.as_micros().div_ceil(MICROS_PER_TOKEN);
        let mut held = self.held(mark);
        let age = held.number.checked_sub(generation.0)?;
        let count = held.counts.get_mut(usize::try_from(age).ok()?)?;
        // No more than are counted: an operator may have reset the bucket meanwhile.
        *count = count.saturating_sub(places);
        Some(held.word())
    }

    /// The same word in another version.
    pub(crate) const fn another_version(mark: Mark) -> Mark {
        Mark::from_word(mark.word().wrapping_add(1 << VERSION_SHIFT))
    }

    /// The word of a bucket whose places are all free, whoever holds them. What was taken before must not be given back after
    /// it: the word does not tell, so a store remembers that.
    pub(crate) fn reset(&self, mark: Mark) -> Mark {
        Held { counts: [0; 3], ..self.held(mark) }.word()
    }

    pub(crate) const fn full_mark(&self) -> Mark {
        Held { number: self.number, counts: [0; 3], version: 0 }.word()
    }

    /// Free places, in micro-tokens; negative if the number of places was lowered below what is taken.
    pub(crate) fn balance(&self, mark: Mark) -> i64 {
        let taken: u64 = self.held(mark).counts.iter().sum();
        (i64::from(self.concurrency.places) - taken.cast_signed()) * MICROS_PER_TOKEN.cast_signed()
    }

    pub(crate) fn is_full(&self, mark: Mark) -> bool {
        self.held(mark).counts == [0; 3]
    }

    /// Takes one place for every token asked for, rounded up, as is what must be kept.
    pub(crate) fn spend(&self, mark: Mark, demand: Demand) -> Spend {
        let (balance, mut held) = (self.balance(mark), self.held(mark));
        let demand = demand.in_steps_of(MICROS_PER_TOKEN);
        if !demand.is_met_by(balance) {
            return demand.short(balance);
        }
        held.counts[0] += demand.cost.as_micros() / MICROS_PER_TOKEN;
        let remaining = Tokens::from_micros(balance.cast_unsigned() - demand.need());
        Spend::Paid { mark: held.word(), remaining }
    }

    /// How long until enough places are free again even if no holder gives one back: at the latest then.
    pub(crate) fn wait(&self, mark: Mark, demand: Demand) -> Span {
        let (held, mut balance) = (self.held(mark), self.balance(mark));
        let demand = demand.in_steps_of(MICROS_PER_TOKEN);
        if demand.is_met_by(balance) {
            return Span::ZERO;
        }
        let mut generations = held.number.saturating_sub(self.number);
        for lost in held.counts.into_iter().rev() {
            balance += (lost * MICROS_PER_TOKEN).cast_signed();
            generations += 1;
            if demand.is_met_by(balance) {
                break;
            }
        }
        Span::from_nanos(generations.saturating_mul(self.concurrency.generation) - self.elapsed)
    }

    /// The word's counts at this moment. A word from a later generation, as another thread's clock may write, is read there.
    fn held(&self, mark: Mark) -> Held {
        let word = mark.word();
        let counts = [0, 1, 2].map(|age| word >> (age * COUNT_BITS) & COUNT_MAX);
        let (stored, version) = (word >> NUMBER_SHIFT & NUMBERS, word >> VERSION_SHIFT);
        let behind = (self.number % NUMBERS + NUMBERS - stored % NUMBERS) % NUMBERS;
        let [this, before, oldest] = counts;
        let (number, counts) = match behind {
            0 => (self.number, [this, before, oldest]),
            1 => (self.number, [0, this, before]),
            2 => (self.number, [0, 0, this]),
            // Saturates, at the end of time and with a timeout of 2 ns.
            behind if behind >= NUMBERS - AHEAD_MAX => (self.number.saturating_add(NUMBERS - behind), counts),
            _ => (self.number, [0; 3]),
        };
        Held { number, counts, version: (version + 1) % VERSIONS }
    }
}

impl Held {
    const fn word(self) -> Mark {
        let [this, before, oldest] = self.counts;
        let counts = this | before << COUNT_BITS | oldest << (2 * COUNT_BITS);
        Mark::from_word(counts | (self.number % NUMBERS) << NUMBER_SHIFT | self.version << VERSION_SHIFT)
    }
}
