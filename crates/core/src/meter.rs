//! The virtual clock of a rule: how many micro-tokens it has minted by a given moment.
//!
//! Computed from absolute time in 128 bits, so nothing drifts; changed in place, so every client's balance carries
//! over; holds a floor, so that raising a burst gives room and not tokens. It does not know any client.

use crate::{Level, Limit, Moment, Span};

/// What one rule mints. A plain value: changing the limit gives a new meter that continues the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    limit: Limit,
    /// From here the present limit holds. Earlier moments count as this one.
    base: Moment,
    /// Micro-tokens minted by `base`, modulo 2^64.
    minted: u64,
    /// The part of a micro-token minted by `base` beyond that: `(fraction + residue / 2^64) / den`. `fraction < den`.
    fraction: u64,
    /// Only a change reads it: it is less than one step of `1 / den`, so no floor can see it.
    residue: u64,
    /// What a bucket never charged holds at `base`: minted − floor. At most the largest burst.
    head: u64,
}

impl Meter {
    /// How many words [`Meter::words`] gives.
    pub const WORDS: usize = 9;

    /// A meter that starts at `now`, with every bucket full. `offset` is where the count starts; a store that reuses
    /// slots picks it at random, so that a mark of one meter is no mark of another.
    pub const fn new(limit: Limit, now: Moment, offset: u64) -> Self {
        Self { limit, base: now, minted: offset, fraction: 0, residue: 0, head: limit.burst }
    }

    /// The limit in force.
    #[inline]
    pub const fn limit(&self) -> &Limit {
        &self.limit
    }

    /// [`Meter::level`] as it nearly always is, and quickly: no raised burst is being refilled into, `now` is not before the
    /// base, and the product fits in a word. `None` in all other cases.
    #[inline]
    pub fn quick_level(&self, now: Moment) -> Option<Level> {
        let elapsed = now.as_nanos().checked_sub(self.base.as_nanos())?;
        let steps = elapsed.checked_mul(self.limit.num)?.checked_add(self.fraction)?;
        if self.head < self.limit.burst {
            return None;
        }
        let (minted, _) = self.limit.divide(steps);
        Some(Level { minted: self.minted.wrapping_add(minted), capacity: self.limit.burst })
    }

    /// What the meter shows at `now`; before its base, what it showed there.
    #[inline]
    pub fn level(&self, now: Moment) -> Level {
        self.quick_level(now).unwrap_or_else(|| self.any_level(now))
    }

    #[cold]
    fn any_level(&self, now: Moment) -> Level {
        let (minted, _) = self.minted_since_base(now);
        let capacity = (u128::from(self.head) + minted).min(u128::from(self.limit.burst));
        Level { minted: self.minted.wrapping_add(low_word(minted)), capacity: low_word(capacity) }
    }

    /// The meter that continues this one under `limit` from `now` on. Balances carry over exactly: the past is minted at
    /// the old rate, the future at the new; a smaller burst clamps; a larger one is room to refill into.
    #[must_use]
    pub fn change(&self, limit: Limit, now: Moment) -> Meter {
        if limit == self.limit {
            return *self;
        }
        let level = self.level(now);
        let (_, fraction) = self.minted_since_base(now);
        let (fraction, residue) = self.rescale(fraction, limit.den);
        let base = if now > self.base { now } else { self.base };
        Meter { limit, base, minted: level.minted, fraction, residue, head: level.capacity }
    }

    /// The same meter carried onto another clock: what it had minted by `until` on the old clock, it has minted by `now`
    /// on the new one. Marks stay valid; a restart uses it.
    #[must_use]
    pub fn transplant(&self, until: Moment, now: Moment) -> Meter {
        let level = self.level(until);
        let (_, fraction) = self.minted_since_base(until);
        Meter { base: now, minted: level.minted, fraction, head: level.capacity, ..*self }
    }

    /// The meter in words, for a store to keep. The last one is read by nothing but [`Meter::change`] and
    /// [`Meter::transplant`].
    pub const fn words(&self) -> [u64; Meter::WORDS] {
        let Limit { num, den, burst, inverse } = self.limit;
        [num, den, burst, inverse, self.base.as_nanos(), self.minted, self.fraction, self.head, self.residue]
    }

    /// The meter whose words these are, taken on trust: they must come from [`Meter::words`] in this program.
    #[inline]
    pub const fn from_words(words: [u64; Meter::WORDS]) -> Meter {
        let [num, den, burst, inverse, base, minted, fraction, head, residue] = words;
        let limit = Limit { num, den, burst, inverse };
        Meter { limit, base: Moment::from_nanos(base), minted, fraction, residue, head }
    }

    /// The meter whose words these are; `None` if they are not those of a meter, as in a damaged file.
    pub const fn try_from_words(words: [u64; Meter::WORDS]) -> Option<Meter> {
        let meter = Meter::from_words(words);
        let Some(limit) = Limit::from_terms(meter.limit.terms()) else { return None };
        let sound = limit.inverse == meter.limit.inverse
            && meter.fraction < meter.limit.den
            && meter.head <= crate::limit::BURST_MICROS_MAX;
        if sound { Some(meter) } else { None }
    }

    /// How long after `now` another `needed` micro-tokens will have been minted: the least wait, exact to the
    /// nanosecond. Saturates at [`Span::MAX`].
    pub fn wait_for(&self, needed: u64, now: Moment) -> Span {
        let (minted, _) = self.minted_since_base(now);
        let steps = (minted + u128::from(needed)) * u128::from(self.limit.den);
        let nanos = steps.saturating_sub(u128::from(self.fraction)).div_ceil(u128::from(self.limit.num));
        match u64::try_from(nanos) {
            Ok(nanos) => (self.base + Span::from_nanos(nanos)).since(now),
            Err(_) => Span::MAX,
        }
    }

    /// Whole micro-tokens minted from the base to `now` (rounded down), and the fraction over, in `1 / den`.
    fn minted_since_base(&self, now: Moment) -> (u128, u64) {
        let (elapsed, den) = (u128::from(now.since(self.base).as_nanos()), u128::from(self.limit.den));
        let steps = elapsed * u128::from(self.limit.num) + u128::from(self.fraction);
        (steps / den, low_word(steps % den))
    }

    /// `(fraction + residue / 2^64) / den` in terms of another denominator, rounded down to 2^-64 of one of its steps:
    /// after 10^9 changes less than 10^-10 of a micro-token is lost.
    fn rescale(&self, fraction: u64, den: u64) -> (u64, u64) {
        let (old, new) = (u128::from(self.limit.den), u128::from(den));
        let scaled = u128::from(fraction) * new;
        let (whole, rest) = (scaled / old, scaled % old);
        let fine = ((rest << 64) + u128::from(self.residue) * new) / old;
        (low_word(whole + (fine >> 64)), low_word(fine))
    }
}

/// The low 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "counts of a meter are modulo 2^64")]
const fn low_word(value: u128) -> u64 {
    value as u64
}
