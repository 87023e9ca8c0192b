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
    found.extend(book.rules.iter().filter_map(judge));
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
