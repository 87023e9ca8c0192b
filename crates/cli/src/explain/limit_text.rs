//! A limit in a few words: `10/s, burst 50`.

use tollgate::policy::Action;
use tollgate::{Algorithm, Limit, Span};

/// What a rule does, in a few words.
pub(super) fn of(action: &Action) -> String {
    match action {
        Action::Allow => "lets through".to_owned(),
        Action::Block => "refuses".to_owned(),
        Action::Limit(algorithm) => of_algorithm(algorithm),
    }
}

fn of_algorithm(algorithm: &Algorithm) -> String {
    let full = algorithm.full();
    match algorithm {
        Algorithm::TokenBucket(limit) => format!("{}, burst {full}", rate(limit)),
        Algorithm::LeakyBucket(leaky) => format!("{} evenly, queue {full}", rate(&leaky.limit())),
        Algorithm::FixedWindow(window) => format!("{full} per window of {}", span(window.window().length())),
        Algorithm::SlidingCounter(counter) => {
            format!("{full} per sliding {} (counter)", span(counter.window()))
        }
        Algorithm::SlidingLog(log) => format!("{full} in any {}", span(log.window())),
        Algorithm::Concurrency(_) => format!("{full} at the same time"),
        _ => algorithm.name().to_owned(),
    }
}

/// Tokens per second, minute, hour or day: the first in which it is a number of at most six places.
fn rate(limit: &Limit) -> String {
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

/// Whole days, hours and minutes as people say them.
fn span(span: Span) -> String {
    let nanos = span.as_nanos();
    for (unit, worth) in [("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000)] {
        if nanos >= worth && nanos.is_multiple_of(worth) {
            return format!("{}{unit}", nanos / worth);
        }
    }
    span.to_string()
}

#[cfg(test)]
mod tests {
    use tollgate::{Burst, Rate};

    use super::*;

    #[test]
    fn rates_are_told_in_the_unit_in_which_they_are_short() {
        let told = |tokens, period| {
            let limit = Limit::new(Rate::new(tokens, period), Burst::tokens(5)).unwrap();
            of_algorithm(&limit.into())
        };
        assert_eq!(told(10, Span::from_secs(1)), "10/s, burst 5");
        assert_eq!(told(3, Span::from_secs(1_000)), "0.003/s, burst 5");
        assert_eq!(told(1_000, Span::from_secs(60)), "1000/m, burst 5");
        assert_eq!(told(1, Span::from_secs(86_400)), "1/d, burst 5");
    }

    #[test]
    fn spans_are_told_in_whole_units() {
        assert_eq!([90, 3_600, 86_400].map(|seconds| span(Span::from_secs(seconds))), ["90s", "1h", "1d"]);
        assert_eq!(span(Span::from_secs(120)), "2m");
    }
}
