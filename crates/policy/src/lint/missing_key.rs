//! Limits that a client escapes by leaving out a part of the key.

use super::company::{may_lack, terms_of};
use super::terms::Terms;
use super::{Book, Lint, LintKind, Subject};
use crate::{Action, Condition, KeySource, ValueTest};

/// `unlimited-when-missing`: `missing: skip` where no other rule limits or blocks the requests that are skipped.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    for subject in book.rules().filter(|subject| subject.may_skip() && subject.terms.is_judged()) {
        let parts = subject.rule.keys.iter().filter(|part| may_lack(part));
        if let Some(part) = parts.clone().find(|part| is_unlimited_without(book, subject, part)) {
            let message = format!(
                "a request without `{part}` is skipped (`missing: skip`), and no other rule limits it"
            );
            let cure = "write `missing: anonymous` or `missing: deny`, or add a rule per `ip:prefix`";
            found.push(subject.lint(LintKind::UnlimitedWhenMissing, message, cure));
        }
    }
}

/// Rules of the same group count, too: a rule that skips leaves its place to the next.
fn is_unlimited_without(book: &Book<'_>, subject: &Subject<'_>, part: &KeySource) -> bool {
    let lacking = Condition::Not(Box::new(Condition::Value(part.clone(), ValueTest::Present)));
    let skipped = subject.terms.and(&Terms::of(&lacking));
    let minds = |other: &&Subject<'_>| {
        let is_block = other.is_enforced() && other.rule.action == Action::Block;
        (is_block || other.always_limits()) && other.sees_claims_as(subject)
    };
    let others = book.rules().filter(minds);
    let is_unknown = others.clone().any(|other| !other.terms.is_judged()) || !skipped.is_judged();
    !is_unknown && !skipped.is_covered_by(&terms_of(others))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::built_by_hand::{found, found_in, header, not, path, policy, present, rule, tiers};
    use crate::{Missing, Rule};

    const UNLIMITED: LintKind = LintKind::UnlimitedWhenMissing;

    fn skipping() -> Rule {
        Rule { keys: vec![header("x-api-key")], missing: Missing::Skip, ..rule("x") }
    }

    #[test]
    fn leaving_out_the_key_of_the_only_rule_means_unlimited() {
        assert_eq!(found([skipping()]), [(UNLIMITED, "x".into())]);
        for missing in [Missing::Anonymous, Missing::Deny] {
            assert_eq!(found([Rule { missing, ..skipping() }]), []);
        }
        assert_eq!(
            policy([skipping()]).lints()[0].message,
            "a request without `header:x-api-key` is skipped (`missing: skip`), and no other rule limits it"
        );
    }

    #[test]
    fn what_no_request_lacks_is_never_skipped() {
        assert_eq!(found([Rule { keys: vec![KeySource::ONE_CLIENT, KeySource::User], ..skipping() }]), []);
        assert_eq!(found([Rule { condition: present(header("x-api-key")), ..skipping() }]), []);
        assert_eq!(
            found([Rule { condition: present(header("x-other")), ..skipping() }]),
            [(UNLIMITED, "x".into())]
        );
    }

    #[test]
    fn a_rule_for_those_without_the_key_is_enough() {
        let without = || not(present(header("x-api-key")));
        assert_eq!(found([skipping(), rule("all")]), []);
        assert_eq!(found([skipping(), Rule { condition: without(), ..rule("anonymous") }]), []);
        assert_eq!(
            found([skipping(), Rule { condition: without(), action: Action::Block, ..rule("block") }]),
            []
        );
        assert_eq!(found_in(&tiers([skipping(), rule("rest")])), []);
        let elsewhere = Rule { condition: path("/b"), ..rule("elsewhere") };
        assert_eq!(found([skipping(), elsewhere]), [(UNLIMITED, "x".into())]);
        let skipping_too = Rule { name: "y".into(), ..skipping() };
        assert_eq!(found([skipping(), skipping_too]).len(), 2);
    }
}
