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
    for subject in &book.rules {
        let Some(part) = rotatable_part(subject) else { continue };
        let is_firm = |other: &Subject<'_>| rotatable_part(other).is_none();
        if book.is_limited_besides(subject, &subject.terms, is_firm) {
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
