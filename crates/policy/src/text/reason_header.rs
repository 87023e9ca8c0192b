//! `answers.reason_header`: the field that holds the reason of a denial.
//!
//! Promises that the name means nothing else in a response, so that a reason breaks neither its framing nor what clients, proxies
//! and caches read from it. Does not know which header profile is chosen: names of all are taken.

use super::found::Found;
use super::rule::header;
use super::tree::Node;

/// Fields that other parts of an answer, the server or the connection write; in lower case.
const TAKEN: [&str; 31] = [
    "accept-ranges",
    "age",
    "allow",
    "alt-svc",
    "cache-control",
    "clear-site-data",
    "connection",
    "cookie",
    "date",
    "etag",
    "expires",
    "host",
    "http2-settings",
    "keep-alive",
    "last-modified",
    "link",
    "location",
    "pragma",
    "refresh",
    "retry-after",
    "server",
    "set-cookie",
    "strict-transport-security",
    "te",
    "trailer",
    "trailers",
    "transfer-encoding",
    "upgrade",
    "vary",
    "via",
    "www-authenticate",
];

/// Families of such fields.
const TAKEN_FAMILIES: [&str; 6] =
    ["access-control-", "content-", "grpc-", "proxy-", "ratelimit", "x-ratelimit"];

/// The name as typed, since header names are shown in the case that people chose; or a mistake.
pub(super) fn read(node: &Node<'_>, found: &mut Found) -> Option<Box<str>> {
    let name = header(node, "reason_header", found)?;
    if is_taken(&name) {
        let what = format!("`reason_header` is {}, a field that has a meaning of its own", node.described());
        let cure = "write a name of your own, as in `reason_header: X-Why`, or delete it: then it is `Tollgate-Reason`";
        found.add(node.place, what, cure);
        return None;
    }
    node.scalar().map(Into::into)
}

/// `name` in lower case.
fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name) || TAKEN_FAMILIES.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use crate::{AnswerSettings, Policy};

    fn reason_header(name: &str) -> Result<Box<str>, String> {
        let policy = format!(
            "{{answers: {{reason_header: {name}}}, rules: [{{name: a, scope: ip, rate: 1/s, burst: 1}}]}}"
        );
        let policy = Policy::parse("test.yaml", &policy).map_err(|mistakes| mistakes.to_string())?;
        Ok(policy.answers.reason_header)
    }

    #[test]
    fn a_field_that_an_answer_has_for_something_else_cannot_hold_the_reason() {
        for name in [
            "content-length",
            "Transfer-Encoding",
            "CONNECTION",
            "content-type",
            "Retry-After",
            "cache-control",
            "RateLimit",
            "ratelimit-policy",
            "X-RateLimit-Remaining",
            "grpc-status",
            "date",
            "keep-alive",
            "proxy-authenticate",
            "te",
            "trailer",
            "upgrade",
        ] {
            let mistakes = reason_header(name).unwrap_err();
            assert!(mistakes.contains("a field that has a meaning of its own"), "{name}: {mistakes}");
        }
    }

    #[test]
    fn any_other_name_holds_it_in_the_case_that_was_typed() {
        let usual = AnswerSettings::default().reason_header;
        for name in [&*usual, "X-Why", "x-rate-limited-because", "Datum", "X-Content-Reason"] {
            assert_eq!(reason_header(name).as_deref(), Ok(name));
        }
    }
}
