//! What a request's line, fields and body say of it. Copies nothing.

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Uri, Version};
use http_body::SizeHint;
use tollgate::policy::{Facts, Headers as _};

use crate::RequestHead;
use tollgate::policy::HeaderFields;

/// The facts that need nobody's trust. Client, user and claims are somebody else's work.
#[inline]
pub(crate) fn of<'a>(head: RequestHead<'a>, body: &SizeHint) -> Facts<'a> {
    let uri = uri(head);
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    Facts {
        // That of the target where it has one (HTTP/2, absolute form), which goes before the field (RFC 9112, 3.2.2).
        host: uri.host().unwrap_or_default(),
        route: route(head),
        version: version(head.version),
        body_bytes: body_bytes(head.headers, body),
        ..Facts::new(head.method.as_str(), target)
    }
}

/// As on the wire.
fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        Version::HTTP_3 => "HTTP/3",
        _ => "HTTP/1.1",
    }
}

/// The true length where the body knows it, else the announced one. A body in chunks has announced nothing, whatever it says.
fn body_bytes(headers: &HeaderMap, body: &SizeHint) -> Option<u64> {
    body.exact().or_else(|| {
        let fields = HeaderFields(headers);
        let announced = fields.get(CONTENT_LENGTH.as_str());
        announced.filter(|_| !headers.contains_key(TRANSFER_ENCODING)).and_then(|text| text.parse().ok())
    })
}

/// The target that the client sent. The request's own lacks what a router is nested under, so no rule by path would apply
/// there. Both are the server's word: no client can put an extension into a request.
#[cfg(feature = "axum")]
fn uri(head: RequestHead<'_>) -> &Uri {
    head.extensions.get().map_or(head.uri, |axum::extract::OriginalUri(uri)| uri)
}

#[cfg(not(feature = "axum"))]
fn uri(head: RequestHead<'_>) -> &Uri {
    head.uri
}

#[cfg(feature = "axum")]
fn route(head: RequestHead<'_>) -> Option<&str> {
    head.extensions.get::<axum::extract::MatchedPath>().map(axum::extract::MatchedPath::as_str)
}

#[cfg(not(feature = "axum"))]
fn route(_: RequestHead<'_>) -> Option<&str> {
    None
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn request(builder: http::request::Builder) -> Request<()> {
        builder.body(()).unwrap()
    }

    fn facts(request: &Request<()>, body: SizeHint) -> Facts<'_> {
        of(RequestHead::of(request), &body)
    }

    #[test]
    fn target_and_host_are_those_of_the_wire() {
        let plain = request(Request::get("/a//b;x?q=1").header("host", "example.com:80"));
        let plain = facts(&plain, SizeHint::default());
        assert_eq!((plain.method, plain.target, plain.host), ("GET", "/a//b;x?q=1", ""), "the field says it");
        assert_eq!((plain.version, plain.body_bytes, plain.route), ("HTTP/1.1", None, None));

        let absolute = request(Request::post("http://one.example/x").header("host", "two.example"));
        let absolute = facts(&absolute, SizeHint::default());
        assert_eq!((absolute.method, absolute.target, absolute.host), ("POST", "/x", "one.example"));
    }

    /// L4: hyper passes `post` on as it came, and the policy takes it for `POST`.
    #[test]
    fn a_method_in_lower_case_meets_the_rules_of_the_method() {
        let policy = "{name: writes, scope: global, method: POST, rate: 1/h, burst: 1}";
        let policy = tollgate::policy::Policy::parse("p.yaml", policy).unwrap();
        let limiter = tollgate::Limiter::from_policy(policy).unwrap();
        let lower = request(Request::builder().method("post").uri("/"));
        let lower = facts(&lower, SizeHint::default());
        assert_eq!(lower.method, "post");
        assert!(limiter.check(&lower).is_admitted() && !limiter.check(&lower).is_admitted());
    }

    #[cfg(feature = "axum")]
    #[test]
    fn what_a_router_has_stripped_is_still_of_the_target() {
        let mut nested = request(Request::get("/search?q=1"));
        assert_eq!(facts(&nested, SizeHint::default()).target, "/search?q=1", "no router said more");
        let sent = Uri::from_static("http://one.example/api/search?q=1");
        nested.extensions_mut().insert(axum::extract::OriginalUri(sent));
        let nested = facts(&nested, SizeHint::default());
        assert_eq!((nested.target, nested.host), ("/api/search?q=1", "one.example"));
    }

    #[test]
    fn the_length_of_a_body_is_the_true_one_or_the_announced_one() {
        let length = |builder, body| facts(&request(builder), body).body_bytes;
        let announced = |value: &'static str| Request::post("/").header("content-length", value);
        let unknown = SizeHint::default;
        assert_eq!(length(announced("700"), unknown()), Some(700));
        assert_eq!(length(announced("700"), SizeHint::with_exact(5)), Some(5));
        assert_eq!(length(announced("-1"), unknown()), None);
        let chunked = announced("1").header("transfer-encoding", "chunked");
        assert_eq!(length(chunked, unknown()), None, "nothing was announced");
        let twice = announced("1").header("content-length", "700");
        assert_eq!(length(twice, unknown()), None);
    }
}
