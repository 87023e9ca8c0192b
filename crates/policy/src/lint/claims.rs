//! Rules that depend on tokens which nobody verifies: without `jwt` settings no claim counts (K4), unless the rule trusts
//! someone upstream or the embedding program hands in claims that it has verified.
//!
//! A key made of claims is then always missing, and a limit that matches on a claim never applies. Silent for a tier that has
//! a later tier without claims: whoever has no verified token is limited by that one, which is the safe side.

use super::terms::Term;
use super::{Book, Lint, LintKind, Subject};
use crate::KeySource;

/// `unverified-claims`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    if book.policy.jwt.is_some() {
        return;
    }
    for subject in book.rules.iter().filter(|subject| !subject.rule.trusts_upstream_claims) {
        let in_key = subject.rule.keys.iter().find(|part| is_claim(part));
        let in_match = || claim_tested(subject).filter(|_| !has_fallback(book, subject));
        if let Some(claim) = in_key.or_else(in_match) {
            let message =
                format!("it looks at `{claim}`, but the policy says of no token how it is verified");
            let cure = "add the `jwt` settings, or write `jwt_trust: upstream_verified` if a proxy of yours verifies";
            found.push(subject.lint(LintKind::UnverifiedClaims, message, cure));
        }
    }
}

fn is_claim(source: &KeySource) -> bool {
    matches!(source, KeySource::Claim(_))
}

fn claim_tested<'s>(subject: &'s Subject<'_>) -> Option<&'s KeySource> {
    let literals = subject.terms.each().iter().flat_map(Term::literals);
    literals.filter_map(|literal| literal.atom.source()).find(|source| is_claim(source))
}

/// Whether a later tier takes those who have no verified token.
fn has_fallback(book: &Book<'_>, subject: &Subject<'_>) -> bool {
    let Some(group) = subject.rule.group else { return false };
    let mut later = book.members(group).skip_while(|other| !other.is(subject)).skip(1);
    later.any(|tier| claim_tested(tier).is_none() && !tier.rule.keys.iter().any(is_claim))
}
