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
    for subject in book.rules().filter(|subject| !subject.rule.trusts_upstream_claims) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::built_by_hand::{claim, found, found_in, not, path, plan_claim, policy, rule, tiers};
    use crate::{JwtKey, JwtSettings, Policy, Rule};

    const UNVERIFIED: LintKind = LintKind::UnverifiedClaims;

    fn by_user() -> Rule {
        Rule { keys: vec![claim("sub")], ..rule("x") }
    }

    fn by_plan() -> Rule {
        Rule { condition: plan_claim(&["pro"]), ..rule("x") }
    }

    #[test]
    fn claims_that_nobody_verifies_are_told_in_key_and_match() {
        for one in [by_user(), by_plan(), Rule { condition: not(plan_claim(&["free"])), ..rule("x") }] {
            assert_eq!(found([one.clone()]), [(UNVERIFIED, "x".into())]);
            assert_eq!(found([Rule { trusts_upstream_claims: true, ..one.clone() }]), []);
            assert_eq!(found_in(&Policy { jwt: Some(settings()), ..policy([one]) }), []);
        }
        assert_eq!(found([Rule { keys: vec![KeySource::User, KeySource::Plan], ..rule("x") }]), []);
    }

    #[test]
    fn a_tier_with_a_fallback_that_needs_no_token_is_on_the_safe_side() {
        assert_eq!(found_in(&tiers([by_plan(), rule("rest")])), []);
        let key_too = Rule { keys: vec![claim("sub")], ..by_plan() };
        assert_eq!(found_in(&tiers([key_too, rule("rest")])), [(UNVERIFIED, "x".into())]);
        assert_eq!(found([by_plan(), rule("rest")]), [(UNVERIFIED, "x".into())], "no group");
        let first = Rule { condition: path("/a"), ..rule("first") };
        assert_eq!(found_in(&tiers([first, by_plan()])), [(UNVERIFIED, "x".into())]);
    }

    fn settings() -> JwtSettings {
        JwtSettings {
            header: "authorization".into(),
            keys: vec![JwtKey::JwksFile("keys.json".into())],
            issuer: None,
            audience: None,
            user_claim: "sub".into(),
            plan_claim: "plan".into(),
            leeway_s: 0,
        }
    }
}
