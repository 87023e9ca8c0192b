//! Rules that are only half in force in a policy that enforces: fine while they are tried out, easily forgotten.

use super::{Book, Lint, LintKind, Subject};
use crate::Mode;

/// `forgotten-shadow` and `partial-rollout`. Silent while the whole policy is a shadow or off.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    if book.policy.mode == Mode::Enforce {
        found.extend(book.rules.iter().filter_map(judge));
    }
}

fn judge(subject: &Subject<'_>) -> Option<Lint> {
    let percent = subject.rule.rollout_percent;
    match subject.rule.mode {
        Mode::Shadow => {
            let message = "it only watches (`mode: shadow`), while the policy enforces";
            Some(subject.lint(
                LintKind::ForgottenShadow,
                message,
                "write `mode: enforce` when you have seen enough",
            ))
        }
        Mode::Enforce if percent < 100 => {
            let message = format!("it is enforced for {percent} % of the keys only");
            Some(subject.lint(
                LintKind::PartialRollout,
                message,
                "write `rollout_percent: 100` when you have seen enough",
            ))
        }
        Mode::Enforce | Mode::Off => None,
    }
}
