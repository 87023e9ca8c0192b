//! Costs that the client names.
//!
//! A client that names its own cost names the least that counts, or all that a bucket holds at once. Silent where the
//! response settles the true cost: the request's is then an estimate that is corrected either way.

use tollgate_core::Tokens;

use super::{Book, Lint, LintKind, Subject};
use crate::{Action, CostSource};

/// `unbounded-cost`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    found.extend(book.rules.iter().filter_map(judge));
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
    if Tokens::from(rule.cost.max) >= full && Tokens::from(default) < full {
        let message = format!("the client names the cost in `{source}`, up to the whole bucket of {full}");
        let cure = "write the `max_cost` that one request may have";
        return Some(subject.lint(LintKind::UnboundedCost, message, cure));
    }
    None
}
