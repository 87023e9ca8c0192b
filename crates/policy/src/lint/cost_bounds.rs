//! Costs that the client names.
//!
//! A client that names its own cost names the least that counts, or all that a bucket holds at once. Silent where the
//! response settles the true cost: the request's is then an estimate that is corrected either way. A bucket that refills
//! within a second needs no narrower `max_cost` (so `burst_hint: llm-tools` is fine as it is): all of it is a second's worth.

use tollgate_core::{Algorithm, Span, Tokens};

use super::{Book, Lint, LintKind, Subject};
use crate::{Action, CostSource};

/// `unbounded-cost`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    found.extend(book.rules().filter_map(judge));
}

fn judge(subject: &Subject<'_>) -> Option<Lint> {
    let rule = subject.rule;
    let Action::Limit(algorithm) = rule.action else { return None };
    let source = match &rule.cost.source {
        CostSource::Header(name) => format!("header:{name}"),
        CostSource::Query(name) => format!("query:{name}"),
        CostSource::Fixed | CostSource::PerMethod(_) | CostSource::RequestBytes { .. } => return None,
    };
    if rule.settle_header.is_some() {
        return None;
    }
    let (default, min, full) = (rule.cost.default, rule.cost.min, algorithm.full());
    if min < default {
        let message =
            format!("the client names the cost in `{source}`, down to {min} where the default is {default}");
        let cure = format!("write `min_cost: {default}`, or settle the true cost from the response");
        return Some(subject.lint(LintKind::UnboundedCost, message, cure));
    }
    // A bucket that the default cost fills leaves nothing to narrow.
    let is_whole = Tokens::from(rule.cost.max) >= full && Tokens::from(default) < full;
    if is_whole && !refills_at_once(&algorithm) {
        let message = format!("the client names the cost in `{source}`, up to the whole bucket of {full}");
        let cure = "write the `max_cost` that one request may have";
        return Some(subject.lint(LintKind::UnboundedCost, message, cure));
    }
    None
}

/// Whether the whole bucket is no more than one second's worth.
fn refills_at_once(algorithm: &Algorithm) -> bool {
    matches!(algorithm, Algorithm::TokenBucket(limit) if limit.burst() <= limit.minted_in(Span::from_secs(1)))
}

#[cfg(test)]
mod tests {
    use tollgate_core::Cost;

    use super::*;
    use crate::lint::built_by_hand::{found, policy, rule};
    use crate::{CostPlan, Rule};

    fn costing(source: CostSource, min: u64, max: u64) -> Rule {
        let cost =
            CostPlan { source, default: Cost::tokens(2), min: Cost::tokens(min), max: Cost::tokens(max) };
        Rule { cost, ..rule("x") }
    }

    #[test]
    fn a_cost_that_the_client_names_up_to_the_whole_burst_is_told() {
        for source in [CostSource::Header("x-cost".into()), CostSource::Query("n".into())] {
            assert_eq!(found([costing(source.clone(), 2, 50)]), [(LintKind::UnboundedCost, "x".into())]);
            assert_eq!(found([costing(source, 2, 49)]), []);
        }
        let lint = &policy([costing(CostSource::Header("x-cost".into()), 2, 50)]).lints()[0];
        assert_eq!(
            lint.message,
            "the client names the cost in `header:x-cost`, up to the whole bucket of 50"
        );
    }

    #[test]
    fn a_cost_that_the_client_names_below_the_default_is_told() {
        let lint = &policy([costing(CostSource::Query("n".into()), 1, 20)]).lints()[0];
        assert_eq!(lint.message, "the client names the cost in `query:n`, down to 1 where the default is 2");
        assert_eq!(lint.cure, "write `min_cost: 2`, or settle the true cost from the response");
    }

    #[test]
    fn costs_that_are_measured_or_settled_need_no_bounds() {
        for source in [
            CostSource::Fixed,
            CostSource::RequestBytes { per_token: 1_000 },
            CostSource::PerMethod(Vec::new()),
        ] {
            assert_eq!(found([costing(source, 1, 50)]), []);
        }
        let settled = Rule {
            settle_header: Some("x-used".into()),
            ..costing(CostSource::Header("x-cost".into()), 2, 50)
        };
        assert_eq!(found([settled]), []);
    }
}
