//! Wall time of a step. The only file of xtask that reads a clock.
#![expect(clippy::disallowed_methods, reason = "the gate reports how long its steps take on the wall")]

use std::time::{Duration, Instant};

/// Measures from its start until it is read.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts measuring.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Wall time since the start.
    pub(crate) fn read(&self) -> Duration {
        self.0.elapsed()
    }
}

/// `4.2 s` below a minute, `3 min 05 s` above.
pub(crate) fn spoken(time: Duration) -> String {
    let whole_seconds = time.as_secs();
    if whole_seconds < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", whole_seconds / 60, whole_seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, spoken};

    #[test]
    fn a_time_is_spoken_in_seconds_then_in_minutes() {
        assert_eq!(spoken(Duration::from_millis(4_230)), "4.2 s");
        assert_eq!(spoken(Duration::from_secs(185)), "3 min 05 s");
    }
}
