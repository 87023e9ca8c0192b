//! From bytes to limits of every algorithm.

use tollgate_core::{
    Algorithm, Burst, Concurrency, FixedWindow, LeakyBucket, Limit, LimitError, Rate, SlidingCounter,
    SlidingLog, Span, Window,
};

use super::{Decoder, NEWER};

impl Decoder<'_> {
    /// A limit of any algorithm: usually a token bucket.
    pub(in crate::operations) fn algorithm(&mut self) -> Result<Algorithm, LimitError> {
        match self.byte() {
            code if code < NEWER => self.token_bucket(code).map(Algorithm::from),
            code => self.newer_limit(code),
        }
    }

    /// A limit: usually a sound one, sometimes any three numbers.
    fn token_bucket(&mut self, code: u8) -> Result<Limit, LimitError> {
        match code % 8 {
            0 => {
                let (tokens, period) = (self.number(), Span::from_nanos(self.number()));
                Limit::new(Rate::new(tokens, period), Burst::micros(self.number()))
            }
            1 => Limit::new(Rate::per_second(1_000_000_000), Burst::tokens(u64::from(self.byte()))),
            2 => {
                Limit::new(Rate::per_year(1 + u64::from(self.byte())), Burst::tokens(u64::from(self.byte())))
            }
            3 => Limit::new(Rate::per_second(10), Burst::tokens(u64::MAX >> (self.byte() % 64))),
            4 => Limit::new(Rate::per_second(1), Burst::tokens(1)),
            _ => Limit::new(self.small_rate(), self.small_amount()),
        }
    }

    /// What the first version did not know. Small, and slow: windows and generations of a second or more.
    fn newer_limit(&mut self, code: u8) -> Result<Algorithm, LimitError> {
        Ok(match code % 8 {
            0 => LeakyBucket::new(self.small_rate(), self.small_amount())?.into(),
            1 => {
                let leaky = LeakyBucket::new(self.small_rate(), self.small_amount())?;
                leaky.max_wait(Span::from_millis(u64::from(self.byte()) * 10)).into()
            }
            2 => {
                let (quota, length) = (self.small_amount(), self.window());
                let window = Window::every(length).map_err(|_| LimitError::ZeroWindow)?;
                FixedWindow::new(quota, window)?.into()
            }
            3 => SlidingCounter::new(self.small_amount(), self.window())?.into(),
            4 => SlidingCounter::new(Burst::micros(self.number()), self.window())?.into(),
            5 => SlidingLog::new(self.small_amount(), self.window())?.into(),
            _ => {
                let (places, timeout) = (u32::from(self.byte()) % 5, self.window());
                Concurrency::new(places, Span::from_nanos(timeout.as_nanos() * 2))?.into()
            }
        })
    }

    fn small_rate(&mut self) -> Rate {
        Rate::new(1 + u64::from(self.byte()), Span::from_millis(1 + u64::from(self.byte())))
    }

    fn small_amount(&mut self) -> Burst {
        Burst::micros(1 + 100_000 * u64::from(self.byte()))
    }

    fn window(&mut self) -> Span {
        Span::from_millis(1_000 + 50 * u64::from(self.byte()))
    }
}
