//! Buckets that are too small for their rate, or so large that the rate hardly matters.

use tollgate_core::{Algorithm, Span, Tokens};

use super::{Book, Lint, LintKind, Subject};
use crate::Action;

/// A burst of less than this much of the rate denies clients that keep to the rate.
const BURST_MIN: Span = Span::from_secs(1);
/// A burst of more than this much of the rate is absurd,
const BURST_MAX: Span = Span::from_secs(600);
/// unless it is no more than so many tokens: slow limits may well save up for hours.
const TOKENS_MAX: Tokens = Tokens::from_micros(1_000 * 1_000_000);

/// `burst-below-rate` and `absurd-burst`, of token buckets.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    found.extend(book.rules().filter_map(judge));
}

fn judge(subject: &Subject<'_>) -> Option<Lint> {
    let Action::Limit(Algorithm::TokenBucket(limit)) = subject.rule.action else { return None };
    let burst = limit.burst();
    let (second, ten_minutes) = (limit.minted_in(BURST_MIN), limit.minted_in(BURST_MAX));
    if burst < second {
        let message = format!(
            "`burst` is {burst}, less than the {second} tokens that one second refills: a client that keeps to the rate \
             is denied when its requests come at once"
        );
        let cure = format!("write `burst: {second}` or more");
        Some(subject.lint(LintKind::BurstBelowRate, message, cure))
    } else if burst > ten_minutes && burst > TOKENS_MAX {
        let message =
            format!("`burst` is {burst}, more than the {ten_minutes} tokens that ten minutes refill");
        let cure = format!("write `burst: {}` or less, or a higher rate", ten_minutes.max(TOKENS_MAX));
        Some(subject.lint(LintKind::AbsurdBurst, message, cure))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;
    use crate::lint::built_by_hand::{found, limit, policy, rule, slow};

    #[test]
    fn a_burst_below_one_second_of_the_rate_is_told() {
        let small = Rule { action: limit(10, 9), ..rule("x") };
        assert_eq!(
            policy([small]).lints()[0].to_string(),
            "line 1: rule `x`: `burst` is 9, less than the 10 tokens that one second refills: a client that keeps to the \
             rate is denied when its requests come at once; write `burst: 10` or more [burst-below-rate]"
        );
        assert_eq!(found([Rule { action: limit(10, 10), ..rule("x") }]), []);
        assert_eq!(found([Rule { action: slow(1, 3_600, 1), ..rule("x") }]), []);
    }

    #[test]
    fn a_burst_of_over_ten_minutes_and_over_a_thousand_tokens_is_absurd() {
        let absurd = Rule { action: limit(10, 10_000), ..rule("x") };
        assert_eq!(
            policy([absurd]).lints()[0].to_string(),
            "line 1: rule `x`: `burst` is 10000, more than the 6000 tokens that ten minutes refill; write \
             `burst: 6000` or less, or a higher rate [absurd-burst]"
        );
        assert_eq!(
            found([Rule { action: limit(10, 6_001), ..rule("x") }]),
            [(LintKind::AbsurdBurst, "x".into())]
        );
        for fine in [limit(10, 6_000), limit(1, 1_000), slow(1, 3_600, 1_000), limit(1_000, 300_000)] {
            assert_eq!(found([Rule { action: fine, ..rule("x") }]), []);
        }
        assert_eq!(
            found([Rule { action: slow(1, 60, 1_001), ..rule("x") }]),
            [(LintKind::AbsurdBurst, "x".into())]
        );
    }
}
