//! Whether an answer is a problem document as it is promised (RFC 9457): which one, and of what.

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::Value;
use tollgate_server::desk::Answer;

/// The statuses that the description of the API lists for a path.
pub(crate) fn is_described(path: &str, status: u16) -> bool {
    static LISTED: OnceLock<HashSet<(String, u16)>> = OnceLock::new();
    let listed = LISTED.get_or_init(|| {
        let document: Value = serde_json::from_str(include_str!("../../src/http/openapi.json")).unwrap();
        let mut listed = HashSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                let statuses = operation["responses"].as_object().unwrap().keys();
                listed.extend(statuses.map(|status| (path.clone(), status.parse().unwrap())));
            }
        }
        listed
    });
    listed.contains(&(path.to_owned(), status))
}

/// The body, which is a JSON object.
pub(crate) fn object(body: &[u8]) -> Value {
    let json: Value = serde_json::from_slice(body)
        .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(body)));
    assert!(json.is_object(), "{json}");
    json
}

/// The document of a refusal: the media type, the members that everybody relies on, and what is at fault.
pub(crate) fn problem(answer: &Answer) -> Value {
    assert_eq!(answer.field("content-type"), Some(&b"application/problem+json"[..]), "{answer:?}");
    let json = object(&answer.body);
    is_problem(&json, answer.status);
    if answer.status == 503 {
        assert!(answer.field("retry-after").is_some(), "{answer:?}");
    }
    json
}

/// The same of a document that stands in a list.
pub(crate) fn is_problem(json: &Value, status: u16) {
    let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(json["status"], status, "{json}");
    assert!(!text("type").is_empty() && !text("title").is_empty(), "{json}");
    match status {
        // A verdict.
        403 | 429 | 503 if json["admitted"] == false => {
            assert!(!text("reason").is_empty() && json["mode"] == "exact", "{json}");
        }
        // Something is wrong with the request: which field, unless it is the whole of it, and what to do.
        400 | 404 => {
            let detail = text("detail");
            assert!(!text("field").is_empty() || detail.starts_with("the body "), "{json}");
            assert!(!detail.is_empty() && detail.len() < 4_096, "{json}");
        }
        503 => assert!(!text("detail").is_empty(), "{json}"),
        _ => panic!("{status} is no status of a problem: {json}"),
    }
}
