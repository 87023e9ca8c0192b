//! Rules that let through whoever says the right thing: a header, a cookie or a field of the query that any client can send.
//!
//! Silent where the condition also asks for what a client cannot choose (its address, a verified token, who it is), or for a
//! secret: one of listed values of a credential. A path alone is no lint: that is what the rule is about.

use super::rotation::is_credential;
use super::terms::{Atom, Literal, Term};
use super::{Book, Lint, LintKind};
use crate::{Action, KeySource, Mode, ValueTest};

/// `spoofable-allow`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let allows = |rule: &crate::Rule| rule.action == Action::Allow && rule.mode == Mode::Enforce;
    for subject in book.rules().filter(|subject| allows(subject.rule)) {
        if let Some(source) = subject.terms.each().iter().find_map(chosen_source) {
            let message =
                format!("`{source}` is the client's to choose, and whoever chooses right is never limited");
            let cure = "match on `ip:address`, `user` or a `jwt:` claim as well";
            found.push(subject.lint(LintKind::SpoofableAllow, message, cure));
        }
    }
}

/// What a client has to choose to meet the term, if it can.
fn chosen_source<'c>(term: &Term<'c>) -> Option<&'c KeySource> {
    if term.literals().iter().any(is_beyond_the_client) {
        return None;
    }
    term.literals().iter().filter_map(|literal| literal.atom.source()).find(|source| {
        matches!(
            source,
            KeySource::Header(_) | KeySource::Query(_) | KeySource::Cookie(_) | KeySource::Fingerprint
        )
    })
}

fn is_beyond_the_client(literal: &Literal<'_>) -> bool {
    let is_present = matches!(literal.atom, Atom::Value(_, ValueTest::Present));
    let is_listed = matches!(literal.atom, Atom::OneOf(..));
    !literal.is_negated
        && match literal.atom.source() {
            Some(KeySource::Header(name) | KeySource::Query(name) | KeySource::Cookie(name)) => {
                is_listed && is_credential(name)
            }
            Some(KeySource::Address | KeySource::Prefix { .. } | KeySource::Claim(_) | KeySource::Plan) => {
                true
            }
            // Whoever is nobody counts as a user, by the address.
            Some(KeySource::User) => !is_present,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::built_by_hand::{
        all, any, found, header, not, one_of, path, plan_claim, policy, present, rule, within,
    };
    use crate::{Condition, Rule};

    const SPOOFABLE: LintKind = LintKind::SpoofableAllow;

    /// The rule, in company that limits everybody.
    fn allowing(condition: Condition) -> [Rule; 2] {
        [Rule { action: Action::Allow, condition, trusts_upstream_claims: true, ..rule("x") }, rule("rest")]
    }

    #[test]
    fn an_allow_by_what_any_client_can_send_is_told() {
        let internal = || one_of(header("x-internal"), &["yes"]);
        for condition in [
            internal(),
            all([path("/api/*"), internal()]),
            any([within(&["10.0.0.0/8"]), internal()]),
            all([internal(), present(KeySource::User)]),
            not(present(header("x-limited"))),
            present(header("authorization")),
            one_of(KeySource::Query("debug".into()), &["1"]),
            one_of(KeySource::Cookie("staff".into()), &["1"]),
        ] {
            assert_eq!(found(allowing(condition.clone())), [(SPOOFABLE, "x".into())], "{condition:?}");
        }
        assert_eq!(
            policy(allowing(internal())).lints()[0].to_string(),
            "line 1: rule `x`: `header:x-internal` is the client's to choose, and whoever chooses right is never limited; \
             match on `ip:address`, `user` or a `jwt:` claim as well [spoofable-allow]"
        );
    }

    #[test]
    fn an_allow_by_what_no_client_can_choose_is_fine() {
        let internal = || one_of(header("x-internal"), &["yes"]);
        for condition in [
            path("/healthz"),
            within(&["10.0.0.0/8"]),
            all([internal(), within(&["10.0.0.0/8"])]),
            all([internal(), plan_claim(&["staff"])]),
            all([internal(), one_of(KeySource::User, &["root"])]),
            one_of(header("x-api-key"), &["a-long-secret"]),
        ] {
            assert_eq!(found(allowing(condition.clone())), [], "{condition:?}");
        }
    }

    #[test]
    fn a_block_or_a_limit_by_a_header_lets_nobody_through() {
        let condition = || one_of(header("user-agent"), &["bad"]);
        assert_eq!(
            found([Rule { action: Action::Block, condition: condition(), ..rule("x") }, rule("rest")]),
            []
        );
        assert_eq!(found([Rule { condition: condition(), ..rule("x") }, rule("rest")]), []);
    }
}
