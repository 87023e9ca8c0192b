//! Which test of a condition failed, and what was found instead.

use crate::condition::evaluation::holds;
use crate::condition::reading::View;
use crate::request::Request;
use crate::value::{Lookup, Scratch, find};
use crate::{Claims, Condition, HostPattern, KeySource, MethodSet, PathPattern, PathTest, ValueTest};

/// So many alternatives, or values, are named; the rest are counted.
const NAMED_MAX: usize = 4;
/// So many characters of what was found are shown.
const SHOWN_CHARS_MAX: usize = 80;

/// A sentence for a condition that does not hold.
pub(super) fn why_not(condition: &Condition, request: &Request<'_>, view: View) -> String {
    match condition {
        Condition::Always => "it governs every request".to_owned(),
        Condition::All(all) => {
            let failed = all.iter().find(|one| !holds(one, request, view));
            failed.map_or_else(String::new, |failed| why_not(failed, request, view))
        }
        Condition::Any(any) if any.is_empty() => "it is about no request at all".to_owned(),
        Condition::Any(any) => {
            let reasons: Vec<String> =
                any.iter().take(NAMED_MAX).map(|one| why_not(one, request, view)).collect();
            format!("none of {} alternatives holds: {}{}", any.len(), reasons.join("; "), rest(any.len()))
        }
        Condition::Not(inner) => format!("it is not for requests for which {}", describe(inner)),
        Condition::Path(test) => {
            let path = request.path(view.form).view(test.is_case_sensitive, test.keeps_trailing_slash);
            format!("the path is `{}`, not {}", shown(path), path_words(&test.pattern))
        }
        Condition::Method(methods) => {
            format!("the method is `{}`, not {}", shown(request.facts.method), method_words(*methods))
        }
        Condition::Host(pattern) => match request.host() {
            Some(host) => format!("the host is `{}`, not {}", shown(host), host_words(pattern)),
            None => format!("the request names no host, and {} is asked for", host_words(pattern)),
        },
        Condition::Value(source, test) => why_value_not(source, test, request, view),
        Condition::Client(client) => format!("it is for requests for which {client}"),
    }
}

fn why_value_not(source: &KeySource, test: &ValueTest, request: &Request<'_>, view: View) -> String {
    let mut scratch = Scratch::default();
    match find(source, request, view.trusts_upstream, &mut scratch) {
        Lookup::One(found) => {
            format!("`{source}` is `{}`, not {}", shown(&found.to_string()), value_words(test))
        }
        Lookup::Missing => format!("the request lacks `{source}`{}", why_missing(source, request)),
        Lookup::Encoded(_) | Lookup::Ambiguous(_) => {
            format!("`{source}` is not certainly {}", value_words(test))
        }
    }
}

/// Why something is missing that may look as if it were there.
fn why_missing(source: &KeySource, request: &Request<'_>) -> &'static str {
    match (source, request.facts.claims) {
        (KeySource::Claim(_), Claims::None) => ": no token was accepted",
        (KeySource::Claim(_), Claims::Unverified(_)) => {
            ": nobody has verified its token, and the rule does not say `jwt_trust: upstream_verified`"
        }
        _ => "",
    }
}

/// A condition in words.
fn describe(condition: &Condition) -> String {
    let joined = |conditions: &[Condition], word: &str| {
        let named: Vec<String> = conditions.iter().take(NAMED_MAX).map(describe).collect();
        format!("({}{})", named.join(word), rest(conditions.len()))
    };
    match condition {
        Condition::Always => "anything is so".to_owned(),
        Condition::All(all) => joined(all, " and "),
        Condition::Any(any) => joined(any, " or "),
        Condition::Not(inner) => format!("it is not so that {}", describe(inner)),
        Condition::Path(PathTest { pattern, .. }) => format!("the path is {}", path_words(pattern)),
        Condition::Method(methods) => format!("the method is {}", method_words(*methods)),
        Condition::Host(pattern) => format!("the host is {}", host_words(pattern)),
        Condition::Value(source, test) => format!("`{source}` is {}", value_words(test)),
        Condition::Client(client) => client.to_string(),
    }
}

fn path_words(pattern: &PathPattern) -> String {
    match pattern {
        PathPattern::Exact(path) => format!("`{path}`"),
        PathPattern::Prefix(path) => format!("`{path}` or below it"),
        PathPattern::Template(segments) => {
            let segments: Vec<&str> =
                segments.iter().map(|segment| segment.as_deref().unwrap_or("{}")).collect();
            format!("like `/{}`", segments.join("/"))
        }
        PathPattern::Glob { text, .. } => format!("like `{text}`"),
    }
}

fn method_words(methods: MethodSet) -> String {
    let names: Vec<&str> = methods.names().collect();
    if names.is_empty() { "one that is asked for".to_owned() } else { names.join(", ") }
}

fn host_words(pattern: &HostPattern) -> String {
    match pattern {
        HostPattern::Exact(host) => format!("`{host}`"),
        HostPattern::Below(suffix) => format!("`*{suffix}`"),
    }
}

fn value_words(test: &ValueTest) -> String {
    let listed = |values: Vec<String>, count: usize| format!("{}{}", values.join(", "), rest(count));
    match test {
        ValueTest::Present => "there".to_owned(),
        ValueTest::OneOf(values) => {
            listed(values.iter().take(NAMED_MAX).map(|value| format!("`{value}`")).collect(), values.len())
        }
        ValueTest::Within(networks) => {
            let named = networks.iter().take(NAMED_MAX).map(|network| format!("`{network}`")).collect();
            format!("in {}", listed(named, networks.len()))
        }
        ValueTest::Matches(regex) => format!("matching `{}`", regex.as_str()),
    }
}

fn rest(count: usize) -> String {
    if count > NAMED_MAX { format!(" and {} more", count - NAMED_MAX) } else { String::new() }
}

fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN_CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(SHOWN_CHARS_MAX).chain(['…']).collect()
}
