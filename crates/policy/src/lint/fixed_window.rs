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
    let others = book.company(is_other_algorithm);
    for subject in book.rules() {
        let Action::Limit(Algorithm::FixedWindow(window)) = subject.rule.action else { continue };
        let is_quota = window.window().length() >= QUOTA_WINDOW_MIN;
        if is_quota && others.limits(subject, &subject.terms) {
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

#[cfg(test)]
mod tests {
    use tollgate_core::{Burst, FixedWindow, Window};

    use super::*;
    use crate::Rule;
    use crate::lint::built_by_hand::{found, path, policy, rule};

    fn per(window: Window) -> Rule {
        Rule {
            action: Action::Limit(FixedWindow::new(Burst::tokens(1_000), window).unwrap().into()),
            ..rule("x")
        }
    }

    #[test]
    fn a_window_of_the_calendar_is_no_rate_limit() {
        for window in [Window::MINUTE, Window::HOUR] {
            assert_eq!(found([per(window)]), [(LintKind::FixedWindow, "x".into())]);
            assert_eq!(found([per(window), rule("beside")]), [(LintKind::FixedWindow, "x".into())]);
        }
        let lint = &policy([per(Window::MINUTE)]).lints()[0];
        assert_eq!(
            lint.message,
            "`fixed_window` lets twice its quota of 1000 pass at once, around the end of a window"
        );
    }

    #[test]
    fn a_quota_by_the_day_or_longer_is_fine_beside_another_limit() {
        for window in [Window::DAY, Window::MONTH] {
            assert_eq!(found([per(window), rule("beside")]), []);
            assert_eq!(found([per(window)]), [(LintKind::FixedWindow, "x".into())]);
            let partly = Rule { condition: path("/a"), ..rule("beside") };
            assert_eq!(found([per(window), partly]), [(LintKind::FixedWindow, "x".into())]);
        }
        let two = [per(Window::DAY), Rule { name: "y".into(), ..per(Window::MONTH) }];
        assert_eq!(found(two).len(), 2);
    }
}
