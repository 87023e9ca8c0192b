//! A quota per window of the calendar.

use crate::{Burst, LimitError, Tokens, Window};

/// At most `quota` in each window of the calendar. **Unsafe as a rate limit**: a client that spends its quota at the end of one
/// window and at the beginning of the next gets twice the quota at once. For quotas that people read on an invoice ("10,000 a
/// month"); to protect a service, use a token bucket.
///
/// The wall clock is read once, when the limit is declared or restored; from then on windows are counted by the monotonic clock,
/// which no one can set. So if the wall clock is set, or the machine is suspended, windows begin late or early by that much until
/// the program is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedWindow {
    /// Micro-tokens.
    pub(crate) quota: u64,
    pub(crate) window: Window,
}

impl FixedWindow {
    /// A quota of at most 10^12 tokens per window.
    pub const fn new(quota: Burst, window: Window) -> Result<FixedWindow, LimitError> {
        match crate::limit::sound_burst(quota) {
            Ok(quota) => Ok(FixedWindow { quota, window }),
            Err(error) => Err(error),
        }
    }

    /// What one window admits.
    pub const fn quota(&self) -> Tokens {
        Tokens::from_micros(self.quota)
    }

    /// The windows.
    pub const fn window(&self) -> Window {
        self.window
    }
}
