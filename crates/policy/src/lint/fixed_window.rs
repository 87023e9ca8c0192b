//! Windows of the calendar as limits: at the end of one and the beginning of the next, twice the quota passes at once.
//!
//! Silent for a quota of a day or longer beside which another algorithm limits the same requests: that is what windows of
//! the calendar are for.

use tollgate_core::{Algorithm, Span};

use super::{Book, Lint, LintKind, Subject};
use crate::Action;

/// The shortest window that people read on an invoice.
const QUOTA_WINDOW_MIN: Span = Span::from_secs(86_400);

/// `fixed-window`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    for subject in &book.rules {
        let Action::Limit(Algorithm::FixedWindow(window)) = subject.rule.action else { continue };
        let is_quota = window.window().length() >= QUOTA_WINDOW_MIN;
        if is_quota && book.is_limited_besides(subject, &subject.terms, is_other_algorithm) {
            continue;
        }
        let message = format!(
            "`fixed_window` lets twice its quota of {} pass at once, around the end of a window",
            window.quota()
        );
        let cure =
            "use `token_bucket`; for a quota by the day or longer, put a `token_bucket` rule beside it";
        found.push(subject.lint(LintKind::FixedWindow, message, cure));
    }
}

fn is_other_algorithm(subject: &Subject<'_>) -> bool {
    !matches!(subject.rule.action, Action::Limit(Algorithm::FixedWindow(_)))
}
