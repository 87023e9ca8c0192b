//! Rules that are only half in force in a policy that enforces: fine while they are tried out, easily forgotten.

use super::{Book, Lint, LintKind, Subject};
use crate::request::{Request, RequestRoom};
use crate::{Facts, KeySource, Mode, Rule, rule_book};

/// `forgotten-shadow` and `partial-rollout`. Silent while the whole policy is a shadow or off.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    if book.policy.mode == Mode::Enforce {
        found.extend(book.rules().filter_map(judge));
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
        Mode::Enforce if percent < 100 => Some(partial(subject, percent)),
        Mode::Enforce | Mode::Off => None,
    }
}

fn partial(subject: &Subject<'_>, percent: u8) -> Lint {
    let (message, cure) = if percent > 0 && has_one_key(subject.rule) {
        let whom = if is_for_all(subject.rule) { "everybody" } else { "nobody" };
        (
            format!(
                "its requests have one key, so `rollout_percent: {percent}` is all or nothing: it is enforced for {whom}"
            ),
            "write `mode: shadow` until you have seen enough, then `rollout_percent: 100`; only a rule with different keys \
             comes to some of them first",
        )
    } else {
        (
            format!("it is enforced for {percent} % of the keys only"),
            "write `rollout_percent: 100` when you have seen enough",
        )
    };
    subject.lint(LintKind::PartialRollout, message, cure)
}

/// Whether every request that it governs has the same key.
fn has_one_key(rule: &Rule) -> bool {
    rule.keys.iter().all(|key| matches!(key, KeySource::Constant(_)))
}

/// Whether a rule with one key is enforced: any request will do.
fn is_for_all(rule: &Rule) -> bool {
    let (facts, mut room) = (Facts::new("GET", "/"), RequestRoom::default());
    rule_book::has_come_to(rule, &Request::new(&facts, &mut room))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::built_by_hand::{found, found_in, policy, rule};
    use crate::{Policy, Scope};

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
        let keyed = vec![KeySource::Constant("all".into()), KeySource::User];
        assert!(told(&Rule { keys: keyed, ..half() }).contains("50 % of the keys only"));
        let watching = Rule { mode: Mode::Shadow, ..half() };
        assert_eq!(found([watching]), [(LintKind::ForgottenShadow, "x".into())]);
        assert_eq!(found_in(&Policy { mode: Mode::Shadow, ..policy([half()]) }), []);
    }

    fn told(rule: &Rule) -> String {
        policy([rule.clone()]).lints()[0].to_string()
    }

    #[test]
    fn a_rollout_of_a_rule_with_one_key_is_told_to_be_all_or_nothing() {
        for keys in [vec![], vec![KeySource::Constant("all".into())]] {
            let shared = |name: &str, percent| Rule {
                rollout_percent: percent,
                keys: keys.clone(),
                scope: Scope::Global,
                ..rule(name)
            };
            let ends: Vec<bool> = (1..100).map(|percent| is_for_all(&shared("x", percent))).collect();
            assert!(ends.is_sorted() && ends[0] != ends[98], "somewhere it turns from nobody to everybody");
            for percent in 1..100 {
                let rule = shared("x", percent);
                let whom = if is_for_all(&rule) { "everybody" } else { "nobody" };
                assert_eq!(
                    told(&rule),
                    format!(
                        "line 1: rule `x`: its requests have one key, so `rollout_percent: {percent}` is all or nothing: it is \
                         enforced for {whom}; write `mode: shadow` until you have seen enough, then `rollout_percent: 100`; \
                         only a rule with different keys comes to some of them first [partial-rollout]"
                    )
                );
            }
            assert!(told(&shared("x", 0)).contains("0 % of the keys only"), "which is what it says");
        }
    }
}
