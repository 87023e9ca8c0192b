//! What a request's line, fields and body say of it. Copies nothing.

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, Version};
use http_body::SizeHint;
use tollgate::policy::{Facts, Headers as _};

use crate::header_fields::HeaderFields;

/// The facts that need nobody's trust. Client, user and claims are somebody else's work.
pub(crate) fn of<'a>(parts: &'a Parts, body: &SizeHint) -> Facts<'a> {
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    Facts {
        host: host(parts),
        route: route(parts),
        version: version(parts.version),
        body_bytes: body_bytes(&parts.headers, body),
        ..Facts::new(parts.method.as_str(), target)
    }
}

/// That of the target where it has one (HTTP/2, absolute form), which goes before the field (RFC 9112, 3.2.2).
fn host(parts: &Parts) -> &str {
    let of_field = || parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    parts.uri.host().or_else(of_field).unwrap_or_default()
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

#[cfg(feature = "axum")]
fn route(parts: &Parts) -> Option<&str> {
    parts.extensions.get::<axum::extract::MatchedPath>().map(axum::extract::MatchedPath::as_str)
}

#[cfg(not(feature = "axum"))]
fn route(_: &Parts) -> Option<&str> {
    None
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(request: http::request::Builder) -> Parts {
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn target_and_host_are_those_of_the_wire() {
        let plain = parts(Request::get("/a//b;x?q=1").header("host", "example.com:80"));
        let facts = of(&plain, &SizeHint::default());
        assert_eq!((facts.method, facts.target, facts.host), ("GET", "/a//b;x?q=1", "example.com:80"));
        assert_eq!((facts.version, facts.body_bytes, facts.route), ("HTTP/1.1", None, None));

        let absolute = parts(Request::post("http://one.example/x").header("host", "two.example"));
        let facts = of(&absolute, &SizeHint::default());
        assert_eq!((facts.method, facts.target, facts.host), ("POST", "/x", "one.example"));
    }

    #[test]
    fn the_length_of_a_body_is_the_true_one_or_the_announced_one() {
        let announced = |value: &'static str| parts(Request::post("/").header("content-length", value));
        let unknown = SizeHint::default();
        assert_eq!(of(&announced("700"), &unknown).body_bytes, Some(700));
        assert_eq!(of(&announced("700"), &SizeHint::with_exact(5)).body_bytes, Some(5));
        assert_eq!(of(&announced("-1"), &unknown).body_bytes, None);
        let chunked = Request::post("/").header("content-length", "1").header("transfer-encoding", "chunked");
        assert_eq!(of(&parts(chunked), &unknown).body_bytes, None, "nothing was announced");
        let twice = Request::post("/").header("content-length", "1").header("content-length", "700");
        assert_eq!(of(&parts(twice), &unknown).body_bytes, None);
    }
}
