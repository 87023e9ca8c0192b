//! The clock of a tokio runtime, which a test may pause and move.

use tokio::time::Instant;
use tollgate_core::{Moment, Span};

use super::{Clock, ORIGIN, Source};

/// [`Instant`] of tokio, counted from when this clock was made.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokioTime {
    start: Instant,
}

impl TokioTime {
    pub(super) fn now(self) -> Moment {
        ORIGIN + Span::from(self.start.elapsed())
    }
}

impl Clock {
    /// The clock of the tokio runtime that it is read in: stands still where that was paused, and moves when it does. For tests
    /// of programs that wait; make it inside the runtime. Elsewhere use [`Clock::system`], which is faster.
    pub fn tokio() -> Clock {
        Clock(Source::Tokio(TokioTime { start: Instant::now() }))
    }
}
