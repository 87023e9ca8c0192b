//! Rules that do nothing: contradictions, tiers behind wider tiers, limits behind `allow` and `block` (which win wherever
//! they stand).

use super::company::terms_of;
use super::{Book, Lint, LintKind, Subject};
use crate::Action;

/// `never-matches` and `unreachable-tier`; of one rule at most one of them.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let overruling: Vec<_> = book.rules.iter().filter(|rule| overrules(rule)).collect();
    for subject in &book.rules {
        found.extend(
            contradiction(subject)
                .or_else(|| overruled(subject, &overruling))
                .or_else(|| behind_tiers(book, subject)),
        );
    }
}

fn contradiction(subject: &Subject<'_>) -> Option<Lint> {
    subject.terms.is_never().then(|| {
        let message = "no request can meet its `match`, which contradicts itself";
        subject.lint(
            LintKind::NeverMatches,
            message,
            "use `any` where one of the tests is enough, or delete the rule",
        )
    })
}

/// Whether it decides without a bucket, and nothing displaces it.
fn overrules(subject: &Subject<'_>) -> bool {
    subject.is_enforced() && subject.rule.group.is_none() && !matches!(subject.rule.action, Action::Limit(_))
}

fn overruled(subject: &Subject<'_>, overruling: &[&Subject<'_>]) -> Option<Lint> {
    let wins = |other: &Subject<'_>| match (other.rule.action, subject.rule.action) {
        (Action::Block, Action::Limit(_) | Action::Allow) | (Action::Allow, Action::Limit(_)) => true,
        (Action::Block | Action::Allow | Action::Limit(_), _) => false,
    };
    let by = overruling
        .iter()
        .find(|other| wins(other) && other.sees_claims_as(subject) && other.terms.covers(&subject.terms))?;
    let verb = if by.rule.action == Action::Block { "blocks" } else { "allows" };
    let message =
        format!("rule `{}` on line {} {verb} every request that it governs", by.rule.name, by.rule.line);
    let cure = "narrow the `match` of that rule, or delete this one";
    Some(subject.lint(LintKind::NeverMatches, message, cure))
}

fn behind_tiers(book: &Book<'_>, subject: &Subject<'_>) -> Option<Lint> {
    let group = subject.rule.group?;
    let before = book.members(group).take_while(|other| !other.is(subject));
    let earlier: Vec<_> = before
        .filter(|other| other.is_enforced() && !other.may_skip() && other.sees_claims_as(subject))
        .collect();
    let one = earlier.iter().find(|other| other.terms.covers(&subject.terms));
    let who = match one {
        Some(other) => {
            format!("rule `{}` on line {}, an earlier tier, takes", other.rule.name, other.rule.line)
        }
        None if earlier.len() > 1 && subject.terms.is_covered_by(&terms_of(earlier.iter().copied())) => {
            "the earlier tiers together take".to_owned()
        }
        None => return None,
    };
    let message = format!("{who} every request that it governs, so this tier never applies");
    let cure = "put the narrower tier first, or delete this one";
    Some(subject.lint(LintKind::UnreachableTier, message, cure))
}
