//! What becomes of the limits while a shared store does not answer (F1).

use super::{Book, Lint, LintKind, Subject};
use crate::{Action, OnStoreFailure, Source};

/// `unknown-instances`, once for the policy, and `fails-open`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    found.extend(book.rules().filter_map(fails_open));
    found.extend(unknown_instances(book));
}

fn fails_open(subject: &Subject<'_>) -> Option<Lint> {
    if !falls_back(subject, OnStoreFailure::Open) {
        return None;
    }
    let message = "`on_store_failure: open` limits nothing while the store is down";
    let cure = "write `local`, which limits by the share of this instance, or `closed`, which refuses";
    Some(subject.lint(LintKind::FailsOpen, message, cure))
}

/// Rules that fall back on a share of which nobody says how large it is.
fn unknown_instances(book: &Book<'_>) -> Option<Lint> {
    book.policy.store.as_ref().filter(|store| store.instances_max.is_none())?;
    let mut local = book.rules().filter(|subject| falls_back(subject, OnStoreFailure::Local));
    let first = &local.next()?.rule.name;
    let whom = match local.count() {
        0 => format!("rule `{first}` falls"),
        1 => format!("rule `{first}` and one more fall"),
        more => format!("rule `{first}` and {more} more fall"),
    };
    Some(Lint {
        kind: LintKind::UnknownInstances,
        rule: None,
        source: Source::File,
        line: book.policy.store_line,
        message: format!(
            "`store` has no `instances_max`: while the store is down, {whom} back on shares by the largest number of instances \
             learned from it, and if there are more, all together admit too much"
        ),
        cure: "write `instances_max`: the most instances that ever run at a time".to_owned(),
    })
}

fn falls_back(subject: &Subject<'_>, how: OnStoreFailure) -> bool {
    matches!(subject.rule.action, Action::Limit(_)) && subject.rule.on_store_failure == how
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::built_by_hand::{found_in, policy, rule};
    use crate::{Mode, Policy, Rule, StoreSettings};

    fn with_store(rules: impl IntoIterator<Item = Rule>, instances_max: Option<u32>) -> Policy {
        let store = Some(StoreSettings { instances_max, ..StoreSettings::default() });
        Policy { store, store_line: 9, ..policy(rules) }
    }

    fn failing(name: &str, on_store_failure: OnStoreFailure) -> Rule {
        Rule { on_store_failure, ..rule(name) }
    }

    #[test]
    fn shares_of_an_unknown_number_are_told_once_where_the_store_is_described() {
        let local = |name| failing(name, OnStoreFailure::Local);
        let lints = with_store([local("a"), local("b"), local("c")], None).lints();
        assert_eq!(lints.len(), 1);
        assert_eq!(
            lints[0].to_string(),
            "line 9: `store` has no `instances_max`: while the store is down, rule `a` and 2 more fall back on shares by the \
             largest number of instances learned from it, and if there are more, all together admit too much; write \
             `instances_max`: the most instances that ever run at a time [unknown-instances]"
        );
        assert!(
            with_store([local("a"), local("b")], None).lints()[0].message.contains("`a` and one more fall")
        );
        assert!(with_store([local("a")], None).lints()[0].message.contains("rule `a` falls back"));
        assert_eq!(found_in(&with_store([local("a")], Some(3))), []);
        assert_eq!(found_in(&policy([local("a")])), [], "without a store there are no shares");
        let off = Rule { mode: Mode::Off, ..local("a") };
        let closed = failing("b", OnStoreFailure::Closed);
        assert_eq!(found_in(&with_store([off, closed], None)), []);
    }

    #[test]
    fn a_rule_that_fails_open_is_told_plainly_with_or_without_a_store() {
        let open = || failing("x", OnStoreFailure::Open);
        assert_eq!(
            policy([open()]).lints()[0].to_string(),
            "line 1: rule `x`: `on_store_failure: open` limits nothing while the store is down; write `local`, which limits by \
             the share of this instance, or `closed`, which refuses [fails-open]"
        );
        assert_eq!(found_in(&with_store([open()], None)), [(LintKind::FailsOpen, "x".into())]);
        for other in [OnStoreFailure::Closed, OnStoreFailure::Local] {
            assert_eq!(found_in(&with_store([failing("x", other)], Some(3))), []);
        }
    }

    #[test]
    fn the_line_is_that_of_the_file() {
        let text = "rules: [{name: a, scope: ip, rate: 1, burst: 1}]\n\nstore:\n  deadline: 20ms\n";
        let lints = Policy::parse("test", text).unwrap().lints();
        assert_eq!((lints.len(), lints[0].kind, lints[0].line), (1, LintKind::UnknownInstances, 3));
    }
}
