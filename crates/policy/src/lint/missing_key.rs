//! Limits that a client escapes by leaving out a part of the key.

use super::company::{may_lack, terms_of};
use super::terms::Terms;
use super::{Book, Lint, LintKind, Subject};
use crate::{Action, Condition, KeySource, ValueTest};

/// `unlimited-when-missing`: `missing: skip` where no other rule limits or blocks the requests that are skipped.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    for subject in book.rules.iter().filter(|subject| subject.may_skip() && subject.terms.is_judged()) {
        let parts = subject.rule.keys.iter().filter(|part| may_lack(part));
        if let Some(part) = parts.clone().find(|part| is_unlimited_without(book, subject, part)) {
            let message = format!(
                "a request without `{part}` is skipped (`missing: skip`), and no other rule limits it"
            );
            let cure = "write `missing: anonymous` or `missing: deny`, or add a rule per `ip:address`";
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
    let others = book.rules.iter().filter(minds);
    let is_unknown = others.clone().any(|other| !other.terms.is_judged()) || !skipped.is_judged();
    !is_unknown && !skipped.is_covered_by(&terms_of(others))
}
