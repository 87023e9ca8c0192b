//! A limit in a few words: `10/s, burst 50`.

use tollgate_core::{Algorithm, Limit, Window};

use crate::span_text;

/// A limit in a few words, for people.
///
/// ```
/// # use tollgate_core::{Burst, Limit, Rate};
/// # use tollgate_policy::limit_text;
/// let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
/// assert_eq!(limit_text(&limit.into()), "10/s, burst 50");
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
pub fn limit_text(algorithm: &Algorithm) -> String {
    let full = algorithm.full();
    match algorithm {
        Algorithm::TokenBucket(limit) => format!("{}, burst {full}", rate_text(limit)),
        Algorithm::LeakyBucket(leaky) => format!("{} evenly, queue {full}", rate_text(&leaky.limit())),
        Algorithm::FixedWindow(window) => format!("{full} per {}", window_text(window.window())),
        Algorithm::SlidingCounter(counter) => {
            format!("{full} per sliding {} (counter)", span_text(counter.window()))
        }
        Algorithm::SlidingLog(log) => format!("{full} in any {}", span_text(log.window())),
        Algorithm::Concurrency(_) => format!("{full} at the same time"),
        _ => algorithm.name().to_owned(),
    }
}

/// The rate of a limit in few letters, for people: `10/s`. Tokens per second, minute, hour or day, the first in which it is a number
/// of at most six places.
pub fn rate_text(limit: &Limit) -> String {
    let [micros, nanos, _] = limit.terms().map(u128::from);
    for (unit, seconds) in [("s", 1_u128), ("m", 60), ("h", 3_600), ("d", 86_400)] {
        // Micro-tokens per unit.
        let product = micros * seconds * 1_000_000_000;
        if product % nanos == 0 {
            let (whole, rest) = (product / nanos / 1_000_000, product / nanos % 1_000_000);
            let places = format!("{rest:06}");
            let places = places.trim_end_matches('0');
            let point = if places.is_empty() { "" } else { "." };
            return format!("{whole}{point}{places}/{unit}");
        }
    }
    format!("{micros}/{nanos} micro-tokens per nanosecond")
}

/// What one window of the calendar is called.
fn window_text(window: Window) -> String {
    match window {
        Window::MONTH => "calendar month".to_owned(),
        Window::YEAR => "calendar year".to_owned(),
        _ => format!("window of {}", span_text(window.length())),
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::{Burst, FixedWindow, Rate, SlidingLog, Span};

    use super::*;

    #[test]
    fn rates_are_told_in_the_unit_in_which_they_are_short() {
        let told = |tokens, period| {
            let limit = Limit::new(Rate::new(tokens, period), Burst::tokens(5)).unwrap();
            limit_text(&limit.into())
        };
        assert_eq!(told(10, Span::from_secs(1)), "10/s, burst 5");
        assert_eq!(told(3, Span::from_secs(1_000)), "0.003/s, burst 5");
        assert_eq!(told(1_000, Span::from_secs(60)), "1000/m, burst 5");
        assert_eq!(told(1, Span::from_secs(86_400)), "1/d, burst 5");
    }

    #[test]
    fn windows_are_told_in_the_units_of_a_clock_or_of_the_calendar() {
        let told = |window| limit_text(&FixedWindow::new(Burst::tokens(5), window).unwrap().into());
        assert_eq!(told(Window::DAY), "5 per window of 1 d");
        assert_eq!(told(Window::MONTH), "5 per calendar month", "which is not 30 days");
        let log = SlidingLog::new(Burst::tokens(5), Span::from_secs(7_500)).unwrap();
        assert_eq!(limit_text(&log.into()), "5 in any 2 h 5 min");
    }
}
