//! Keys that the client can change at will, each time for a fresh bucket.
//!
//! Headers, query fields, cookies and fingerprints are the client's to choose, also as one part of a longer key: of the
//! key (address, user agent) one client has as many buckets as it has user agents. Three things make such a part good:
//! - its name is that of a credential (`x-api-key`, `authorization`): the service refuses those that it did not give out;
//! - the rule's `match` lists the values that it may have;
//! - another rule without such parts (per address, prefix, user, or one bucket for all) limits the same requests.

use super::terms::Atom;
use super::{Book, Lint, LintKind, Subject};
use crate::{Action, KeySource};

/// `rotatable-key`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let firm = book.company(|other| rotatable_part(other).is_none());
    for subject in &book.rules {
        let Some(part) = rotatable_part(subject) else { continue };
        if firm.limits(subject, &subject.terms) {
            continue;
        }
        let message = format!("a client that changes `{part}` gets a fresh bucket each time");
        let cure = "add a rule with `limit_keys: [ip:prefix]` for the same requests, or use `user` or a `jwt:` claim";
        found.push(subject.lint(LintKind::RotatableKey, message, cure));
    }
}

/// The first part of the key that a client can change at will.
fn rotatable_part<'s>(subject: &'s Subject<'_>) -> Option<&'s KeySource> {
    let is_limit = matches!(subject.rule.action, Action::Limit(_)) && subject.terms.is_judged();
    subject.rule.keys.iter().find(|part| is_limit && is_free(part) && !is_listed(subject, part))
}

fn is_free(part: &KeySource) -> bool {
    match part {
        KeySource::Header(name) | KeySource::Query(name) => !is_credential(name),
        // Whoever drops a session's cookie is given another.
        KeySource::Cookie(_) | KeySource::Fingerprint => true,
        KeySource::Address
        | KeySource::Prefix { .. }
        | KeySource::Claim(_)
        | KeySource::Path
        | KeySource::Method
        | KeySource::Host
        | KeySource::User
        | KeySource::Plan
        | KeySource::Constant(_) => false,
    }
}

/// Whether the name is one of those that carry credentials.
fn is_credential(name: &str) -> bool {
    let letters: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let is_forgery_token = letters.contains("csrf") || letters.contains("xsrf");
    let parts = ["apikey", "accesskey", "subscriptionkey", "token", "authorization", "secret"];
    letters == "key" || !is_forgery_token && parts.iter().any(|part| letters.contains(part))
}

/// Whether the condition lists the values that the part may have.
fn is_listed(subject: &Subject<'_>, part: &KeySource) -> bool {
    subject.terms.each().iter().all(|term| {
        term.literals().iter().any(|literal| {
            !literal.is_negated && matches!(&literal.atom, Atom::OneOf(source, _) if *source == part)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::built_by_hand::{found, found_in, grouped, header, one_of, path, policy, present, rule};
    use crate::{Condition, Mode, Rule};

    const ROTATABLE: LintKind = LintKind::RotatableKey;

    fn keyed(keys: impl Into<Vec<KeySource>>) -> Rule {
        Rule { keys: keys.into(), ..rule("x") }
    }

    #[test]
    fn what_the_client_chooses_is_no_key_alone_nor_beside_an_address() {
        let free = [
            header("user-agent"),
            header("x-csrf-token"),
            KeySource::Query("q".into()),
            KeySource::Cookie("sid".into()),
            KeySource::Fingerprint,
        ];
        for part in free {
            assert_eq!(found([keyed([part.clone()])]), [(ROTATABLE, "x".into())], "{part}");
            assert_eq!(
                found([keyed([KeySource::Address, part.clone()])]),
                [(ROTATABLE, "x".into())],
                "{part}"
            );
        }
        assert_eq!(
            policy([keyed([header("user-agent")])]).lints()[0].to_string(),
            "line 1: rule `x`: a client that changes `header:user-agent` gets a fresh bucket each time; add a rule with \
             `limit_keys: [ip:prefix]` for the same requests, or use `user` or a `jwt:` claim [rotatable-key]"
        );
    }

    #[test]
    fn credentials_and_who_the_client_is_are_keys() {
        for name in ["x-api-key", "api_key", "authorization", "x-auth-token", "ocp-apim-subscription-key"] {
            assert_eq!(found([keyed([header(name)])]), [], "{name}");
        }
        assert_eq!(found([keyed([KeySource::Query("key".into())])]), []);
        for part in
            [KeySource::Address, KeySource::Prefix { v4: 24, v6: 48 }, KeySource::User, KeySource::Plan]
        {
            assert_eq!(found([keyed([part])]), []);
        }
        assert_eq!(found([keyed([])]), []);
    }

    #[test]
    fn a_listed_value_is_not_free() {
        let listed = Rule { condition: one_of(header("x-tier"), &["a", "b"]), ..keyed([header("x-tier")]) };
        assert_eq!(found([listed]), []);
        let other = Rule { condition: one_of(header("x-other"), &["a"]), ..keyed([header("x-tier")]) };
        assert_eq!(found([other]), [(ROTATABLE, "x".into())]);
        let present = Rule { condition: present(header("x-tier")), ..keyed([header("x-tier")]) };
        assert_eq!(found([present]), [(ROTATABLE, "x".into())]);
    }

    #[test]
    fn a_firm_rule_for_the_same_requests_makes_up_for_it() {
        let weak = || Rule { condition: path("/a/b"), ..keyed([header("x-device")]) };
        let firm = || Rule { condition: path("/a/*"), ..rule("firm") };
        assert_eq!(found([weak(), firm()]), []);
        assert_eq!(found([weak(), Rule { keys: Vec::new(), ..firm() }]), []);
        for too_little in [
            Rule { condition: path("/b"), ..firm() },
            Rule { action: Action::Allow, condition: path("/b"), ..firm() },
            Rule { mode: Mode::Off, ..firm() },
        ] {
            assert_eq!(found([weak(), too_little]), [(ROTATABLE, "x".into())]);
        }
        let watching = Rule { mode: Mode::Shadow, ..firm() };
        assert!(found([weak(), watching]).contains(&(ROTATABLE, "x".into())));
        let two_weak = [weak(), Rule { keys: vec![header("user-agent")], ..firm() }];
        assert_eq!(found(two_weak).len(), 2);
    }

    #[test]
    fn a_group_of_firm_rules_makes_up_for_it_and_its_own_group_does_not() {
        let tier = |name: &str, condition| Rule { condition, ..rule(name) };
        let rules = || {
            [
                keyed([header("x-device")]),
                tier("pro", one_of(KeySource::Plan, &["pro"])),
                tier("rest", Condition::Always),
            ]
        };
        assert_eq!(found_in(&grouped(policy(rules()), &[1, 2], false)), []);
        let own = grouped(policy([tier("pro", path("/a")), keyed([header("x-device")])]), &[0, 1], false);
        assert_eq!(found_in(&own), [(ROTATABLE, "x".into())]);
    }
}
