//! The virtual clock of a rule: how many micro-tokens it has minted by a given moment.
//!
//! Computed from absolute time in 128 bits, so nothing drifts; changed in place, so every client's balance carries
//! over; holds a floor, so that raising a burst gives room and not tokens. It does not know any client.

use crate::calendar::Calendar;
use crate::limit::BURST_MICROS_MAX;
use crate::{Level, Limit, Moment, Span};

/// No meter mints 2^63 micro-tokens, half of what laps a mark, in less time: at the highest rate it takes 9,223 s.
const LAPPED_MIN: Span = Span::from_secs(9_000);

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
    pub(crate) shape: Shape,
}

/// How a meter mints, and how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A token bucket: continuously; the burst is what may be saved up.
    Bucket,
    /// A leaky bucket: continuously; nothing is saved up, and the burst is how far ahead of the meter a mark may go.
    Queue {
        /// Micro-tokens that must be free before anyone is let in.
        least: u64,
    },
    /// A fixed window: the burst at the beginning of each window, all at once.
    Window(Calendar),
}

impl Meter {
    /// How many words [`Meter::quick_words`] gives.
    pub const QUICK_WORDS: usize = 8;

    /// A meter that starts at `now`, with every bucket full. `offset` is where the count starts; a store that reuses
    /// slots picks it at random, so that a mark of one meter is no mark of another.
    pub const fn new(limit: Limit, now: Moment, offset: u64) -> Self {
        Meter::shaped(limit, Shape::Bucket, now, offset)
    }

    pub(crate) const fn shaped(limit: Limit, shape: Shape, now: Moment, offset: u64) -> Self {
        Self { limit, base: now, minted: offset, fraction: 0, residue: 0, head: limit.burst, shape }
    }

    /// The limit in force.
    #[inline]
    pub const fn limit(&self) -> &Limit {
        &self.limit
    }

    /// [`Meter::level`] as it nearly always is, and quickly: that of a token bucket, no raised burst is being refilled into,
    /// `now` is not before the base, and the product fits in a word. `None` in all other cases.
    #[inline]
    pub fn quick_level(&self, now: Moment) -> Option<Level> {
        let elapsed = now.as_nanos().checked_sub(self.base.as_nanos())?;
        let steps = elapsed.checked_mul(self.limit.num)?.checked_add(self.fraction)?;
        if self.quick_head() < self.limit.burst {
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
        let (since_base, _) = self.minted_since_base(now);
        let (minted, burst) = (self.minted.wrapping_add(low_word(since_base)), self.limit.burst);
        if let Shape::Queue { .. } = self.shape {
            return Level { minted: minted.wrapping_add(burst), capacity: burst };
        }
        let capacity = (u128::from(self.head) + since_base).min(u128::from(burst));
        Level { minted, capacity: low_word(capacity) }
    }

    /// The meter that continues this one under `limit` from `now` on. Balances carry over exactly: the past is minted at
    /// the old rate, the future at the new; a smaller burst clamps; a larger one is room to refill into.
    #[must_use]
    pub fn change(&self, limit: Limit, now: Moment) -> Meter {
        self.reshape(limit, self.shape, now)
    }

    /// [`Meter::change`], and another shape of the same kind.
    pub(crate) fn reshape(&self, limit: Limit, shape: Shape, now: Moment) -> Meter {
        if limit == self.limit && shape == self.shape {
            return *self;
        }
        let (minted, fraction) = self.minted_since_base(now);
        let (fraction, residue) = self.rescale(fraction, limit.den);
        Meter {
            limit,
            base: if now > self.base { now } else { self.base },
            minted: self.minted.wrapping_add(low_word(minted)),
            fraction,
            residue,
            head: self.level(now).capacity,
            shape,
        }
    }

    /// The same meter carried onto another clock, whose origin is `origin` nanoseconds after 1970: what it had minted by
    /// `until` on the old clock, it has minted by `now` on the new one. Marks stay valid; a restart uses it.
    #[must_use]
    pub fn transplant(&self, until: Moment, now: Moment, origin: u64) -> Meter {
        let (minted, fraction) = self.minted_since_base(until);
        let shape = match self.shape {
            Shape::Window(calendar) => Shape::Window(Calendar::new(calendar.window(), origin)),
            same => same,
        };
        let (minted, head) = (self.minted.wrapping_add(low_word(minted)), self.level(until).capacity);
        Meter { base: now, minted, fraction, head, shape, ..*self }
    }

    /// The words that [`Meter::quick_level`] needs, for a store to keep where every check reads them.
    pub const fn quick_words(&self) -> [u64; Meter::QUICK_WORDS] {
        let Limit { num, den, burst, inverse } = self.limit;
        [num, den, burst, inverse, self.base.as_nanos(), self.minted, self.fraction, self.quick_head()]
    }

    /// A meter for [`Meter::quick_level`] alone, from [`Meter::quick_words`] of this program.
    #[inline]
    pub const fn from_quick_words(words: [u64; Meter::QUICK_WORDS]) -> Meter {
        let [num, den, burst, inverse, base, minted, fraction, head] = words;
        let limit = Limit { num, den, burst, inverse };
        let base = Moment::from_nanos(base);
        Meter { limit, base, minted, fraction, residue: 0, head, shape: Shape::Bucket }
    }

    /// The words that [`Meter::quick_level`] does not need.
    pub(crate) const fn other_words(&self) -> [u64; 2] {
        [self.head, self.residue]
    }

    /// The whole meter, taken on trust.
    pub(crate) const fn from_all_words(
        quick: [u64; Meter::QUICK_WORDS],
        [head, residue]: [u64; 2],
        shape: Shape,
    ) -> Meter {
        Meter { residue, head, shape, ..Meter::from_quick_words(quick) }
    }

    /// Whether this is a meter that can be kept, and not one from a damaged file.
    pub(crate) fn is_sound(&self) -> bool {
        let limit = match self.shape {
            Shape::Window(_) => Some(Limit::of_quota(self.limit.burst)),
            Shape::Bucket | Shape::Queue { .. } => Limit::from_terms(self.limit.terms()),
        };
        let sound_shape = match self.shape {
            Shape::Bucket => true,
            Shape::Queue { least } => least <= self.limit.burst,
            Shape::Window(calendar) => calendar.window().is_sound(),
        };
        limit == Some(self.limit)
            && sound_shape
            && (1..=BURST_MICROS_MAX).contains(&self.limit.burst)
            && self.fraction < self.limit.den
            && self.head <= BURST_MICROS_MAX
    }

    /// The head for [`Meter::quick_level`]: none but a token bucket has one.
    #[inline]
    const fn quick_head(&self) -> u64 {
        match self.shape {
            Shape::Bucket => self.head,
            Shape::Queue { .. } | Shape::Window(_) => 0,
        }
    }

    /// How long after `now` another `needed` micro-tokens will have been minted: the least wait, exact to the
    /// nanosecond. Saturates at [`Span::MAX`].
    pub fn wait_for(&self, needed: u64, now: Moment) -> Span {
        if needed == 0 {
            return Span::ZERO;
        }
        if let Shape::Window(calendar) = self.shape {
            let windows = needed.div_ceil(self.limit.burst);
            let here = calendar.number(now.max(self.base));
            return calendar.start(here.saturating_add(windows)).since(now);
        }
        let (minted, _) = self.minted_since_base(now);
        let steps = (minted + u128::from(needed)) * u128::from(self.limit.den);
        let nanos = steps.saturating_sub(u128::from(self.fraction)).div_ceil(u128::from(self.limit.num));
        match u64::try_from(nanos) {
            Ok(nanos) => (self.base + Span::from_nanos(nanos)).since(now),
            Err(_) => Span::MAX,
        }
    }

    /// Whether a bucket that was charged at `made` would be full again at `now` had nobody else spent, and so long ago that the
    /// meter may have lapped its mark. If the limit was changed since, that is taken to be so.
    pub(crate) fn has_lapsed(&self, made: Moment, now: Moment) -> bool {
        if let Shape::Window(calendar) = self.shape {
            return calendar.number(now) > calendar.number(made);
        }
        if now.since(made) < LAPPED_MIN {
            return false;
        }
        let minted = self.minted_since_base(now).0 - self.minted_since_base(made).0;
        self.base > made || minted >= u128::from(self.limit.burst)
    }

    /// Whether it is that of a leaky bucket, which nobody leaves without waiting its turn.
    pub const fn is_queue(&self) -> bool {
        matches!(self.shape, Shape::Queue { .. })
    }

    /// Micro-tokens that a bucket must hold before anyone is charged to it.
    pub(crate) const fn least(&self) -> u64 {
        match self.shape {
            Shape::Queue { least } => least,
            Shape::Bucket | Shape::Window(_) => 0,
        }
    }

    /// Whole micro-tokens minted from the base to `now` (rounded down), and the fraction over, in `1 / den`.
    fn minted_since_base(&self, now: Moment) -> (u128, u64) {
        if let Shape::Window(calendar) = self.shape {
            let windows = calendar.number(now).saturating_sub(calendar.number(self.base));
            return (u128::from(windows) * u128::from(self.limit.burst), 0);
        }
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
