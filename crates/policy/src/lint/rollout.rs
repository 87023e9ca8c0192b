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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::built_by_hand::{found, found_in, policy, rule};
    use crate::{Policy, Rule};

    #[test]
    fn a_shadow_in_a_policy_that_enforces_is_told() {
        let shadow = || Rule { mode: Mode::Shadow, ..rule("x") };
        assert_eq!(found([shadow(), rule("y")]), [(LintKind::ForgottenShadow, "x".into())]);
        for mode in [Mode::Shadow, Mode::Off] {
            assert_eq!(found_in(&Policy { mode, ..policy([shadow()]) }), []);
        }
        assert_eq!(found([Rule { mode: Mode::Off, ..rule("x") }]), []);
    }

    #[test]
    fn a_rollout_that_stopped_halfway_is_told() {
        let half = || Rule { rollout_percent: 50, ..rule("x") };
        assert_eq!(
            policy([half()]).lints()[0].to_string(),
            "line 1: rule `x`: it is enforced for 50 % of the keys only; write `rollout_percent: 100` when you have seen \
             enough [partial-rollout]"
        );
        let watching = Rule { mode: Mode::Shadow, ..half() };
        assert_eq!(found([watching]), [(LintKind::ForgottenShadow, "x".into())]);
        assert_eq!(found_in(&Policy { mode: Mode::Shadow, ..policy([half()]) }), []);
    }
}
