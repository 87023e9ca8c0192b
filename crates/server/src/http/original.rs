//! The request that a proxy asks about, as it describes it to `/v1/forward-auth/{proxy}`.
//!
//! One set of fields counts, and the proxy has to set all of it: where several names will do, a client sends the one that its
//! proxy does not know, and chooses its own path. What is missing, twice there or contradictory is refused, never guessed.

use http::Request;

use super::header_fields::HeaderFields;
use super::problem::{Problem, shown};

/// What the client asked of the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Original<'r> {
    pub(super) method: &'r str,
    /// Path and query.
    pub(super) target: &'r str,
    /// Empty if the proxy does not say.
    pub(super) host: &'r str,
}

const METHOD_FIELD: &str = "X-Forwarded-Method";
const TARGET_FIELD: &str = "X-Forwarded-Uri";
const HOST_FIELD: &str = "X-Forwarded-Host";

impl<'r> Original<'r> {
    /// What is asked about. `suffix` is the target after the proxy's name: if it is not empty, the proxy passes on the client's
    /// own request line, and the fields have to agree with it.
    pub(super) fn of<B>(request: &'r Request<B>, suffix: &'r str) -> Result<Original<'r>, Problem> {
        let fields = HeaderFields(request.headers());
        let line = suffix.starts_with('/').then(|| (request.method().as_str(), suffix));
        Ok(Original {
            method: one(fields, METHOD_FIELD, line.map(|(method, _)| method))?,
            target: one(fields, TARGET_FIELD, line.map(|(_, target)| target))?,
            host: one(fields, HOST_FIELD, None).or_else(|problem| {
                if request.headers().contains_key(HOST_FIELD) { Err(problem) } else { Ok("") }
            })?,
        })
    }
}

/// The value of a field, or what the request line says where it does.
fn one<'r>(fields: HeaderFields<'r>, name: &str, of_line: Option<&'r str>) -> Result<&'r str, Problem> {
    let detail = match (of_line, fields.only(name)) {
        (Some(of_line), None) if !fields.0.contains_key(name) => return Ok(of_line),
        (None, Some(said)) => return Ok(said),
        (Some(of_line), Some(said)) if said == of_line => return Ok(said),
        (Some(of_line), Some(said)) => format!(
            "`{name}` is '{}' and the request line says '{}'; let the proxy remove the field, or ask without a path suffix",
            shown(said),
            shown(of_line)
        ),
        (_, None) if fields.0.contains_key(name) => {
            format!(
                "`{name}` occurs twice or is no text; let the proxy set it once, in place of the client's"
            )
        }
        (_, None) => format!("`{name}` is missing; let the proxy set it to what the client sent"),
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
            assert!(refusal.contains(&format!("`{name}` is missing; let the proxy set it")), "{refusal}");
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
    fn a_field_that_contradicts_the_request_line_is_refused() {
        let refusal = refused("GET", &[(TARGET_FIELD, "/free")], "/upload");
        assert!(
            refusal.contains("`X-Forwarded-Uri` is '/free' and the request line says '/upload'"),
            "{refusal}"
        );
        let refusal = refused("POST", &[(METHOD_FIELD, "GET")], "/upload");
        assert!(refusal.contains("`X-Forwarded-Method` is 'GET' and"), "{refusal}");
        let agreeing = request("POST", &FIELDS);
        assert_eq!(Original::of(&agreeing, "/upload?a=1").unwrap().target, "/upload?a=1");
    }
}
