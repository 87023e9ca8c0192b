//! The request that a proxy asks about, as it describes it to `/v1/forward-auth/{proxy}`.
//!
//! One set of fields counts, and the proxy has to set all of it: where several names will do, a client sends the one that its
//! proxy does not know, and chooses its own path. A field that is missing, occurs twice or is malformed is refused, never guessed.
//!
//! With a path suffix the proxy passes on the client's own request, so the same fields may be the client's: the request line and the
//! host of the request count, and the fields are ignored.

use http::Request;
use tollgate::policy::{DescribedRequest, HeaderFields};

use super::facts::{NAME_BYTES_MAX, TARGET_BYTES_MAX};
use super::problem::{Problem, shown};

/// What the client asked of the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Original<'r> {
    pub(super) method: &'r str,
    /// Path and query.
    pub(super) target: &'r str,
    /// Empty if neither the proxy nor the target names one.
    pub(super) host: &'r str,
}

const METHOD_FIELD: &str = "X-Forwarded-Method";
const TARGET_FIELD: &str = "X-Forwarded-Uri";
const HOST_FIELD: &str = "X-Forwarded-Host";

impl<'r> Original<'r> {
    /// Reads the original request. `suffix` is the target after the proxy's name; one that begins with a slash is the client's own.
    pub(super) fn of<B>(request: &'r Request<B>, suffix: &'r str) -> Result<Original<'r>, Problem> {
        if suffix.starts_with('/') {
            return Ok(Original {
                method: method(request.method().as_str())?,
                target: target(suffix)?,
                // Where the target names no host, that of the field `Host` counts.
                host: request.uri().host().unwrap_or_default(),
            });
        }
        let fields = HeaderFields(request.headers());
        Ok(Original {
            method: method(one(fields, METHOD_FIELD)?)?,
            target: target(one(fields, TARGET_FIELD)?)?,
            host: one(fields, HOST_FIELD).and_then(|host| short(HOST_FIELD, host, NAME_BYTES_MAX)).or_else(
                |problem| {
                    if request.headers().contains_key(HOST_FIELD) { Err(problem) } else { Ok("") }
                },
            )?,
        })
    }
}

/// The method, if it is one. Its case is the client's, as on the wire.
fn method(said: &str) -> Result<&str, Problem> {
    match said {
        "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS" => Ok(said),
        _ => match DescribedRequest::method_named(said) {
            Ok(_) => Ok(said),
            Err(cure) => {
                let detail = format!("`{METHOD_FIELD}` is '{}'; {cure}", shown(said));
                Err(Problem::field(METHOD_FIELD, detail))
            }
        },
    }
}

/// The target, if it is one of RFC 9112: a path, a whole address, or the asterisk.
fn target(said: &str) -> Result<&str, Problem> {
    let scheme = |scheme: &str| said.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme));
    if said.starts_with('/') || said == "*" || scheme("http://") || scheme("https://") {
        return short(TARGET_FIELD, said, TARGET_BYTES_MAX);
    }
    let detail = format!(
        "`{TARGET_FIELD}` is '{}'; let the proxy set it to path and query as the client sent them, with the slash before them",
        shown(said)
    );
    Err(Problem::field(TARGET_FIELD, detail))
}

fn short<'r>(field: &str, said: &'r str, bytes_max: usize) -> Result<&'r str, Problem> {
    if said.len() > bytes_max {
        let detail = format!("`{field}` has {} bytes; let the proxy refuse above {bytes_max}", said.len());
        return Err(Problem::field(field, detail));
    }
    Ok(said)
}

/// Returns the value of a field that occurs once.
fn one<'r>(fields: HeaderFields<'r>, name: &str) -> Result<&'r str, Problem> {
    let detail = match fields.only(name) {
        Some(said) => return Ok(said),
        None if fields.0.contains_key(name) => {
            format!(
                "`{name}` occurs twice or is no text; let the proxy set it once, in place of the client's"
            )
        }
        None => format!("`{name}` is missing; configure the proxy to set it from the client's request"),
    };
    Err(Problem::field(name, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, fields: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method(method);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    #[track_caller]
    fn refused(method: &str, fields: &[(&str, &str)], suffix: &str) -> String {
        Original::of(&request(method, fields), suffix).unwrap_err().json()
    }

    const FIELDS: [(&str, &str); 3] =
        [(METHOD_FIELD, "POST"), (TARGET_FIELD, "/upload?a=1"), (HOST_FIELD, "shop.example")];

    #[test]
    fn the_fields_of_the_proxy_say_what_was_asked() {
        let expected = Original { method: "POST", target: "/upload?a=1", host: "shop.example" };
        assert_eq!(Original::of(&request("GET", &FIELDS), "").unwrap(), expected);
        assert_eq!(Original::of(&request("GET", &FIELDS), "?x").unwrap(), expected);
    }

    #[test]
    fn a_path_suffix_is_the_clients_own_request_line() {
        let request = request("PUT", &[]);
        let expected = Original { method: "PUT", target: "/a?b", host: "" };
        assert_eq!(Original::of(&request, "/a?b").unwrap(), expected);
    }

    #[test]
    fn what_is_missing_is_named_and_not_guessed() {
        for (left_out, name) in [(0, METHOD_FIELD), (1, TARGET_FIELD)] {
            let mut fields = FIELDS.to_vec();
            fields.remove(left_out);
            let refusal = refused("GET", &fields, "");
            assert!(
                refusal.contains(&format!("`{name}` is missing; configure the proxy to set it")),
                "{refusal}"
            );
        }
    }

    #[test]
    fn a_field_that_the_client_sent_beside_the_proxys_is_refused() {
        for (name, value) in FIELDS {
            let refusal = refused("GET", &[&FIELDS[..], &[(name, value)]].concat(), "");
            assert!(refusal.contains(&format!("`{name}` occurs twice")), "{refusal}");
        }
    }

    #[test]
    fn other_names_for_the_same_are_not_believed() {
        let others = [("X-Original-Method", "GET"), ("X-Original-URI", "/free"), ("X-Original-URL", "/free")];
        assert!(refused("GET", &others, "").contains("`X-Forwarded-Method` is missing"));
    }

    #[test]
    fn path_suffix_ignores_forwarding_fields() {
        let sent = [(METHOD_FIELD, "GET"), (TARGET_FIELD, "/free"), (HOST_FIELD, "free.example")];
        let twice = [&sent[..], &sent[..]].concat();
        let malformed = [(METHOD_FIELD, "G ET"), (TARGET_FIELD, "free"), (HOST_FIELD, "")];
        for fields in [&sent[..], &twice, &malformed] {
            let request = request("POST", fields);
            let expected = Original { method: "POST", target: "/upload", host: "" };
            assert_eq!(Original::of(&request, "/upload").unwrap(), expected, "{fields:?}");
        }
        // The target of HTTP/2 and of the absolute form names the host, whatever the fields say.
        let mut request = request("POST", &sent);
        *request.uri_mut() = "http://admin.example/v1/forward-auth/haproxy/upload".parse().unwrap();
        assert_eq!(Original::of(&request, "/upload").unwrap().host, "admin.example");
    }

    #[test]
    fn a_field_that_no_request_could_have_is_refused_with_its_cure() {
        let with = |at: usize, value: &str| {
            let mut fields = FIELDS.to_vec();
            fields[at].1 = value;
            match Original::of(&request("GET", &fields), "") {
                Ok(_) => String::new(),
                Err(problem) => problem.json(),
            }
        };
        for method in ["", "G ET", "GET,", "M\u{e4}", &"A".repeat(65)] {
            let refusal = with(0, method);
            assert!(
                refusal.contains("`X-Forwarded-Method` is '") && refusal.contains("; write"),
                "{refusal}"
            );
        }
        for target in ["", "noslash", "?q", "ftp://a/", "a/b", "httpx://"] {
            let refusal = with(1, target);
            assert!(refusal.contains("`X-Forwarded-Uri` is '") && refusal.contains("; let the"), "{refusal}");
        }
        let long = |bytes: usize| format!("/{}", "a".repeat(bytes - 1));
        assert!(
            with(1, &long(TARGET_BYTES_MAX + 1)).contains("`X-Forwarded-Uri` has 16385 bytes; let the proxy")
        );
        assert!(
            with(2, &long(NAME_BYTES_MAX + 1)).contains("`X-Forwarded-Host` has 4097 bytes; let the proxy")
        );
        let sound = [(0, "PURGE"), (0, "m-search"), (1, "*"), (1, "HTTP://a/b"), (1, "https://a"), (2, "")];
        for (at, value) in sound {
            assert_eq!(with(at, value), "", "{value}");
        }
        assert_eq!(with(1, &long(TARGET_BYTES_MAX)), "");
    }
}
