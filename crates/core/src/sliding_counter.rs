//! A sliding window, counted approximately in one word: what the window before admitted is taken to have come evenly.
//!
//! ```text
//!    ├──── window before ────┤──── this window ────┤
//!                 └──────── looked back ──────┘            used ≈ before · (part still looked back on) + this
//! ```
//! Never admits more than `quota` within one window of the grid, nor more than `quota · (1 + d / window)` in an interval of
//! length d that begins anywhere; so up to just under twice the quota within one length of the window, where what came before
//! came late. What came early counts for too long instead: just after a window that was spent at its beginning nothing is
//! admitted, though all of it lies a window back. A [`crate::SlidingLog`] is exact.
//!
//! A word knows its window modulo 65,535. A bucket left alone for a multiple of so many windows looks, for up to 18 windows,
//! as it was left: emptier than it is, never fuller. A word may be read by a clock up to 16 windows behind its writer's, and then
//! counts as if its window had just begun; one further behind takes it for an old one, and the bucket for full.

use crate::tokens::MICROS_PER_TOKEN;
use crate::{Burst, Cost, Demand, LimitError, Mark, Moment, Span, Spend, Tokens};

/// Bits of a count in the word: this window's lowest, then the one before's, then the window's number, then a version.
const COUNT_BITS: u32 = 22;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;
/// Window numbers in the word are modulo this: never all ones, so the word is never [`Mark::RESERVED_WORD`].
const NUMBERS: u64 = (1 << 16) - 1;
const NUMBER_SHIFT: u32 = 2 * COUNT_BITS;
/// Above the number, four bits that tell a new owner's word from the former's.
const VERSION_SHIFT: u32 = NUMBER_SHIFT + 16;
/// How many windows behind its writer's clock a word may be read.
const AHEAD_MAX: u64 = 16;
/// Counts that the quota is at most when it is declared, if they are parts of a token: it may be raised sixteenfold later.
const QUOTA_COUNT_MAX: u64 = COUNT_MAX / 16;
/// Largest quota of a sliding counter, in tokens, so that each can be counted, and as many again in debt.
pub const COUNTER_TOKENS_MAX: u64 = COUNT_MAX / 2;
/// One step for quotas of a token and more, unless they have too many: a hundredth of a token.
const STEP_MICROS: u64 = MICROS_PER_TOKEN / 100;
/// Longest window: 2^62 ns, 146 years, as long as the slowest bucket takes to fill.
pub(crate) const WINDOW_NANOS_MAX: u64 = 1 << 62;

/// At most `quota` in about every `window`, whenever it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingCounter {
    /// Micro-tokens.
    quota: u64,
    /// Nanoseconds.
    window: u64,
    /// Micro-tokens that one count stands for, a power of ten; costs are rounded up to it.
    quantum: u64,
}

/// A sliding counter on one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CounterMeter {
    counter: SlidingCounter,
    /// Nanoseconds by which a window begins earlier than the clock's origin; less than one window.
    early: u64,
    /// The number of that window, below [`NUMBERS`].
    first: u64,
}

/// What a counter's words mean at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterReading {
    counter: SlidingCounter,
    /// The number of the window at this moment, modulo [`NUMBERS`].
    number: u64,
    /// Nanoseconds since it began.
    elapsed: u64,
}

/// A word, taken apart and brought up to date.
#[derive(Debug, Clone, Copy)]
struct Counts {
    number: u64,
    /// How many windows later than the moment that is.
    ahead: u64,
    elapsed: u64,
    before: u64,
    here: u64,
}

impl SlidingCounter {
    /// A quota of at most [`COUNTER_TOKENS_MAX`] tokens per window. Costs are counted in steps, and rounded up; the quota is
    /// rounded down. A step is a hundredth of a token; a tenth for quotas above 2,621 tokens, a whole one above 26,214; and a
    /// millionth or a hundred-thousandth for quotas below one token.
    pub const fn new(quota: Burst, window: Span) -> Result<SlidingCounter, LimitError> {
        let quota = match crate::limit::sound_burst(quota) {
            Ok(quota) => quota,
            Err(error) => return Err(error),
        };
        if quota / MICROS_PER_TOKEN > COUNTER_TOKENS_MAX {
            return Err(LimitError::QuotaTooLarge(Tokens::from_micros(quota)));
        }
        let window = match sound_window(window) {
            Ok(window) => window,
            Err(error) => return Err(error),
        };
        Ok(SlidingCounter { quota, window, quantum: step_of(quota) })
    }

    /// What one window admits.
    pub const fn quota(&self) -> Tokens {
        Tokens::from_micros(self.quota)
    }

    /// How far it looks back.
    pub const fn window(&self) -> Span {
        Span::from_nanos(self.window)
    }

    /// What a bucket that was not used holds: the quota, rounded down to whole steps.
    pub(crate) const fn full(&self) -> Tokens {
        Tokens::from_micros(self.quota_count() * self.quantum)
    }

    /// Micro-tokens of one step.
    pub(crate) const fn step(&self) -> u64 {
        self.quantum
    }

    /// The quota in counts, rounded down.
    const fn quota_count(&self) -> u64 {
        self.quota / self.quantum
    }

    /// This counter with another quota, counted in the same steps, and rounded down to them; `None` if the window is another, the
    /// steps too fine (a quota above sixteen times the first) or too coarse (one below a step).
    const fn with_quota_of(&self, other: SlidingCounter) -> Option<SlidingCounter> {
        let stretched = SlidingCounter { quota: other.quota, window: self.window, quantum: self.quantum };
        let fits = self.window == other.window
            && stretched.quota_count() <= COUNT_MAX
            && stretched.quota_count() > 0;
        if fits { Some(stretched) } else { None }
    }
}

/// Micro-tokens of one step of a quota.
const fn step_of(quota: u64) -> u64 {
    let mut step = if quota < MICROS_PER_TOKEN { 1 } else { STEP_MICROS };
    while quota / step > QUOTA_COUNT_MAX && step < MICROS_PER_TOKEN {
        step *= 10;
    }
    step
}

/// Nanoseconds of a window that can be kept.
pub(crate) const fn sound_window(window: Span) -> Result<u64, LimitError> {
    match window.as_nanos() {
        0 => Err(LimitError::ZeroWindow),
        nanos if nanos > WINDOW_NANOS_MAX => Err(LimitError::WindowTooLong(window)),
        nanos => Ok(nanos),
    }
}

impl CounterMeter {
    /// A window begins at `now`.
    pub(crate) const fn new(counter: SlidingCounter, now: Moment) -> CounterMeter {
        CounterMeter::at(counter, 0, 0, now)
    }

    /// At `now`, `elapsed` nanoseconds of the window with this number have passed.
    const fn at(counter: SlidingCounter, number: u64, elapsed: u64, now: Moment) -> CounterMeter {
        let into = now.as_nanos() % counter.window;
        let early = if elapsed >= into { elapsed - into } else { counter.window - into + elapsed };
        let passed = CounterMeter { counter, early, first: 0 }.reading(now).number;
        CounterMeter { counter, early, first: (number + NUMBERS - passed) % NUMBERS }
    }

    pub(crate) const fn counter(&self) -> SlidingCounter {
        self.counter
    }

    pub(crate) const fn change(&self, counter: SlidingCounter) -> Option<CounterMeter> {
        match self.counter.with_quota_of(counter) {
            Some(counter) => Some(CounterMeter { counter, early: self.early, first: self.first }),
            None => None,
        }
    }

    /// Whether a charge of `made` is so old at `now` that it counts no more, and that its word, which knows its window modulo
    /// [`NUMBERS`], may look young again.
    pub(crate) const fn has_lapsed(&self, made: Moment, now: Moment) -> bool {
        now.since(made).as_nanos() >= self.counter.window.saturating_mul(AHEAD_MAX + 2)
    }

    /// The same windows carried onto another clock: as far as they were at `until`, they are at `now`.
    pub(crate) const fn transplant(&self, until: Moment, now: Moment) -> CounterMeter {
        let CounterReading { number, elapsed, .. } = self.reading(until);
        CounterMeter::at(self.counter, number, elapsed, now)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a remainder of a number below 2^16, and one of a window"
    )]
    pub(crate) const fn reading(&self, now: Moment) -> CounterReading {
        let since = now.as_nanos() as u128 + self.early as u128;
        let window = self.counter.window as u128;
        let number = since / window + self.first as u128;
        CounterReading {
            counter: self.counter,
            number: (number % NUMBERS as u128) as u64,
            elapsed: (since % window) as u64,
        }
    }

    pub(crate) const fn words(&self) -> [u64; 4] {
        let digits = self.counter.quantum.ilog10() as u64;
        [self.counter.quota, self.counter.window, self.first << 8 | digits, self.early]
    }

    /// The counter whose words these are, taken on trust.
    pub(crate) const fn from_words([quota, window, first_and_digits, early]: [u64; 4]) -> CounterMeter {
        // 19 digits do not fit in a word, and no sound counter has them.
        let [digits, ..] = first_and_digits.to_le_bytes();
        let quantum = 10_u64.pow(if digits > 18 { 18 } else { digits as u32 });
        let counter = SlidingCounter { quota, window, quantum };
        CounterMeter { counter, early, first: first_and_digits >> 8 }
    }

    /// Whether this is a counter that can be kept, and not one from a damaged file.
    pub(crate) fn is_sound(&self) -> bool {
        let SlidingCounter { quota, window, .. } = self.counter;
        SlidingCounter::new(Burst::micros(quota), Span::from_nanos(window)).is_ok()
            && (1..=COUNT_MAX).contains(&self.counter.quota_count())
            && self.early < window
            && self.first < NUMBERS
    }
}

impl CounterReading {
    /// The word of a bucket from which nothing has been taken lately.
    pub(crate) const fn full_mark(&self) -> Mark {
        self.word(0, 0)
    }

    /// What is left of the quota, in micro-tokens, rounded down; negative is debt, which may be deeper than can be said.
    pub(crate) fn balance(&self, mark: Mark) -> i64 {
        let used = self.counts(mark).used(self.counter.window);
        let left = self.counter.quota_count().cast_signed() - used.cast_signed();
        left.saturating_mul(self.counter.quantum.cast_signed())
    }

    /// Whether nothing taken from the bucket still counts.
    pub(crate) fn is_full(&self, mark: Mark) -> bool {
        let counts = self.counts(mark);
        counts.before == 0 && counts.here == 0
    }

    pub(crate) fn spend(&self, mark: Mark, demand: Demand) -> Spend {
        let (balance, counts) = (self.balance(mark), self.counts(mark));
        let demand = demand.in_steps_of(self.counter.quantum);
        if !demand.is_met_by(balance) {
            return demand.short(balance);
        }
        let at = CounterReading { number: counts.number, ..*self };
        let here = counts.here + demand.cost.as_micros() / self.counter.quantum;
        let remaining = Tokens::from_micros(balance.cast_unsigned() - demand.need());
        Spend::Paid { mark: at.word(counts.before, here), remaining }
    }

    /// The mark after `micros` are given back (negative: taken, into debt if need be) to what this window counts; never fuller
    /// than full. Tokens taken in the window before are not given back: they count less and less anyway.
    pub(crate) fn adjust(&self, mark: Mark, micros: i64) -> Mark {
        let (counts, step) = (self.counts(mark), micros.unsigned_abs().div_ceil(self.counter.quantum));
        let given = micros.unsigned_abs() / self.counter.quantum;
        let here =
            if micros >= 0 { counts.here.saturating_sub(given) } else { counts.here.saturating_add(step) };
        CounterReading { number: counts.number, ..*self }.word(counts.before, here.min(COUNT_MAX))
    }

    /// A charge of this window can be given back; one of the window before counts less and less anyway.
    pub(crate) fn returnable(&self, paid: Mark, cost: Cost) -> u64 {
        let made_in = paid.word() >> NUMBER_SHIFT & NUMBERS;
        let ahead = (made_in % NUMBERS + NUMBERS - self.number) % NUMBERS;
        if ahead <= AHEAD_MAX { cost.as_micros() } else { 0 }
    }

    /// The word after up to `micros` of a charge that left the bucket at `paid` are given back: to the window it was made in, if
    /// that is still the word's. A slow clock may be in an earlier one.
    pub(crate) fn give_back(&self, mark: Mark, paid: Mark, micros: u64) -> Mark {
        let made_in = (paid.word() >> NUMBER_SHIFT & NUMBERS) % NUMBERS;
        if made_in == self.counts(mark).number { self.adjust(mark, micros.cast_signed()) } else { mark }
    }

    /// How long until the bucket can pay, if nobody else spends.
    pub(crate) fn wait(&self, mark: Mark, demand: Demand) -> Span {
        let counts = self.counts(mark);
        let need = demand.in_steps_of(self.counter.quantum).need() / self.counter.quantum;
        // What may still count at the time.
        let room = self.counter.quota_count().saturating_sub(need);
        let window = self.counter.window;
        let not_before = match room.checked_sub(counts.here) {
            // In this window: once few enough of those before are looked back on.
            Some(room) => fades_to(counts.before, room, window),
            // In the next: the same of those of this window.
            None => window.saturating_add(fades_to(counts.here, room, window)),
        };
        let ahead = if counts.ahead == 0 { 0 } else { counts.ahead.saturating_mul(window) - self.elapsed };
        Span::from_nanos(ahead.saturating_add(not_before.saturating_sub(counts.elapsed)))
    }

    /// The word's counts at this moment. A word from a later window, as another thread's clock may write, is read at the
    /// beginning of that window.
    fn counts(&self, mark: Mark) -> Counts {
        let word = mark.word();
        let (before, here) = (word >> COUNT_BITS & COUNT_MAX, word & COUNT_MAX);
        let behind = (self.number + NUMBERS - (word >> NUMBER_SHIFT & NUMBERS) % NUMBERS) % NUMBERS;
        let (number, elapsed) = (self.number, self.elapsed);
        match behind {
            0 => Counts { number, ahead: 0, elapsed, before, here },
            1 => Counts { number, ahead: 0, elapsed, before: here, here: 0 },
            behind if behind >= NUMBERS - AHEAD_MAX => {
                let ahead = NUMBERS - behind;
                Counts { number: (number + ahead) % NUMBERS, ahead, elapsed: 0, before, here }
            }
            _ => Counts { number, ahead: 0, elapsed, before: 0, here: 0 },
        }
    }

    /// The same word in another version.
    pub(crate) const fn another_version(mark: Mark) -> Mark {
        Mark::from_word(mark.word().wrapping_add(1 << VERSION_SHIFT))
    }

    const fn word(&self, before: u64, here: u64) -> Mark {
        Mark::from_word(self.number << NUMBER_SHIFT | before << COUNT_BITS | here)
    }
}

impl Counts {
    /// What counts, rounded up.
    fn used(&self, window: u64) -> u64 {
        let left = u128::from(self.before) * u128::from(window - self.elapsed);
        low_word(left.div_ceil(u128::from(window))) + self.here
    }
}

/// How far into a window `before` counts of the one before have faded to at most `room`, in nanoseconds.
fn fades_to(before: u64, room: u64, window: u64) -> u64 {
    if before <= room {
        return 0;
    }
    window - low_word(u128::from(room) * u128::from(window) / u128::from(before))
}

#[expect(clippy::cast_possible_truncation, reason = "a share of a word")]
const fn low_word(value: u128) -> u64 {
    value as u64
}
