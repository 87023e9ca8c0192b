//! Which values of a request are ambiguous to a rule, and what follows from it.

use crate::condition::reading::Reading;
use crate::key::Key;
use crate::regex::REGEX_INPUT_BYTES_MAX;
use crate::request::Request;
use crate::value::{Found, Lookup, Scratch, find};
use crate::{Client, Condition, KeySource, Rule, ValueTest};

/// A sentence for every value that a condition tests and that is ambiguous, and one for what the rule makes of it. Empty if
/// there is none.
pub(super) fn note(
    condition: &Condition,
    request: &Request<'_>,
    trusts_upstream: bool,
    reading: Reading,
) -> String {
    let mut values = Vec::new();
    collect(condition, request, trusts_upstream, &mut values);
    values.sort();
    values.dedup();
    if values.is_empty() {
        return String::new();
    }
    let has_not = mentions_not(condition);
    let consequence = match (reading, has_not) {
        (Reading::Wide | Reading::WideNegated, false) => "this rule matches if any of its values does",
        (Reading::Wide | Reading::WideNegated, true) => {
            "this rule matches if any of its values does, and under `not` it counts as not matching"
        }
        (Reading::Strict | Reading::StrictNegated, false) => "this rule never matches an ambiguous value",
        (Reading::Strict | Reading::StrictNegated, true) => {
            "this rule never matches an ambiguous value, not even under `not`"
        }
    };
    format!("; {}; {consequence}", values.join("; "))
}

/// Why a part of the rule's key is ambiguous: `` `cookie:id` is ambiguous (it occurs more than once) ``.
pub(super) fn key_part(rule: &Rule, request: &Request<'_>) -> Option<String> {
    let trusts_upstream = rule.trusts_upstream_claims;
    rule.keys.iter().find_map(|source| {
        match find(source, request, trusts_upstream, &mut Scratch::default()) {
            Lookup::Ambiguous(why) => Some(format!("`{source}` is ambiguous ({why})")),
            Lookup::Missing | Lookup::One(_) | Lookup::Encoded(_) => None,
        }
    })
}

fn mentions_not(condition: &Condition) -> bool {
    match condition {
        Condition::All(several) | Condition::Any(several) => several.iter().any(mentions_not),
        Condition::Not(_) => true,
        _ => false,
    }
}

fn why(source: &KeySource, request: &Request<'_>, trusts_upstream: bool) -> Option<String> {
    let found = find(source, request, trusts_upstream, &mut Scratch::default()).ambiguity();
    found.map(|why| why.to_string())
}

fn collect(condition: &Condition, request: &Request<'_>, trusts_upstream: bool, values: &mut Vec<String>) {
    match condition {
        Condition::All(several) | Condition::Any(several) => {
            for one in several {
                collect(one, request, trusts_upstream, values);
            }
        }
        Condition::Not(inner) => collect(inner, request, trusts_upstream, values),
        Condition::Value(source, test) => {
            if let Some(why) = why(source, request, trusts_upstream) {
                values.push(format!("`{source}` is ambiguous ({why})"));
            } else if let (ValueTest::Matches(_), Lookup::One(Found::Text(_, text))) =
                (test, find(source, request, trusts_upstream, &mut Scratch::default()))
                && text.len() > REGEX_INPUT_BYTES_MAX
            {
                values.push(format!(
                    "`{source}` is ambiguous to a regex (it has more than {REGEX_INPUT_BYTES_MAX} bytes)"
                ));
            }
        }
        Condition::Client(Client::Key { shape, .. }) => {
            let mut key = Key::new();
            key.build_of(shape, request);
            if key.is_ambiguous() {
                values.push("a part of the key is ambiguous in the request".to_owned());
            }
        }
        Condition::Client(Client::User(_)) => {
            values.extend(
                why(&KeySource::User, request, trusts_upstream)
                    .map(|why| format!("`user` is ambiguous ({why})")),
            );
        }
        Condition::Always
        | Condition::Path(_)
        | Condition::Method(_)
        | Condition::Host(_)
        | Condition::Client(_) => {}
    }
}
