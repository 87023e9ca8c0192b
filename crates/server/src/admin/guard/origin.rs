//! Which site had a browser send a request: this door's own pages, or none.

use http::header::ORIGIN;
use http::request::Parts;
use http::{HeaderValue, StatusCode};

use super::host;
use crate::http::{Problem, shown};

/// Whether a page of which site asks, as browsers say it.
const FETCH_SITE: &str = "sec-fetch-site";

/// Refuses what pages of other sites had a browser send. Programs say nothing of the kind.
pub(crate) fn check_origin(head: &Parts) -> Result<(), Problem> {
    for site in head.headers.get_all(FETCH_SITE) {
        // `none` is a person who typed the address.
        if !["same-origin", "none"].iter().any(|ours| site == ours) {
            return Err(foreign("Sec-Fetch-Site", &String::from_utf8_lossy(site.as_bytes())));
        }
    }
    let ours = host::of_request(head).unwrap_or_default();
    for origin in head.headers.get_all(ORIGIN) {
        let origin = String::from_utf8_lossy(origin.as_bytes());
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if ours.is_empty() || !host.is_some_and(|host| host.eq_ignore_ascii_case(ours)) {
            return Err(foreign("Origin", &origin));
        }
    }
    Ok(())
}

/// Refuses a change that a browser's cookie would sign and of which nobody says that a page of this door asks for it: browsers do say it. What
/// is said was found right by [`check_origin`].
pub(super) fn check_asked_by_page(head: &Parts) -> Result<(), Problem> {
    let is_ours = |field: &HeaderValue| field == "same-origin";
    let is_said = head.headers.contains_key(ORIGIN) || head.headers.get_all(FETCH_SITE).iter().any(is_ours);
    if head.method.is_safe() || is_said {
        return Ok(());
    }
    let detail = "`Origin` is missing: with a cookie, only a page of this door may change something; send it, or send the token itself"
        .to_owned();
    Err(Problem::field("Origin", detail).with_status(StatusCode::FORBIDDEN).because("origin_needed"))
}

fn foreign(field: &str, value: &str) -> Problem {
    let detail = format!(
        "`{field}` is '{}': a page of another site asks; open a page of this door, or leave the field out",
        shown(value)
    );
    Problem::field(field, detail).with_status(StatusCode::FORBIDDEN).because("foreign_origin")
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn pages_of_other_sites_are_refused_and_programs_are_not() {
        let is_ours = |fields: &[(&str, &str)]| {
            let mut request = Request::builder().uri("/").header("host", "127.0.0.1:8082");
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            check_origin(&request.body(()).unwrap().into_parts().0).is_ok()
        };
        assert!(is_ours(&[]));
        assert!(is_ours(&[("origin", "http://127.0.0.1:8082"), ("sec-fetch-site", "same-origin")]));
        assert!(is_ours(&[("sec-fetch-site", "none")]));
        for fields in [
            [("origin", "null")],
            [("origin", "")],
            [("origin", "http://evil.example")],
            [("origin", "http://127.0.0.1:8082.evil.example")],
            [("origin", "http://127.0.0.1:8080")],
            [("origin", "http://127.0.0.1")],
            [("origin", "file://127.0.0.1:8082")],
            [("sec-fetch-site", "cross-site")],
            [("sec-fetch-site", "same-site")],
            [("sec-fetch-site", "")],
            [("sec-fetch-site", "same-origin, cross-site")],
        ] {
            assert!(!is_ours(&fields), "{fields:?}");
        }
        assert!(!is_ours(&[("origin", "http://127.0.0.1:8082"), ("origin", "null")]));
    }
}
