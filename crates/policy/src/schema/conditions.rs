//! The schema of `match` and its short spellings.

use serde_json::{Value, json};

use super::{mapping, of, told};

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
const SOURCE: &str = "^(ip:address|ip:prefix(/[0-9]+(,[0-9]+)?)?|(header|query|cookie|jwt|constant):.+|path|method|host|user|plan|fingerprint)$";
const TESTED: &str =
    "^(ip:address|ip:prefix(/[0-9]+(,[0-9]+)?)?|(header|query|cookie|jwt):.+|user|plan|fingerprint)$";

/// The fields of a rule that say which requests it governs.
pub(super) fn short_forms() -> Value {
    json!({
        "match": told("match", "Which requests; every field must hold."),
        "plan": told("test", "The caller's plan."),
        "path": of("path"),
        "method": of("methods"),
        "host": of("hosts"),
        "case_sensitive": {"type": "boolean", "description": "`/A` and `/a` are two paths."},
        "strict_slash": {"type": "boolean", "description": "`/a` and `/a/` are two paths."},
        "strict_method": {"type": "boolean", "description": "`GET` matches `GET` alone. Default: false (`GET` also matches `HEAD`)."}
    })
}

pub(super) fn definitions() -> Vec<(&'static str, Value)> {
    vec![
        (
            "keys",
            one_or_more(
                &json!({"type": "string", "pattern": SOURCE, "examples": ["user", "ip:prefix", "header:x-api-key", "jwt:sub"]}),
                0,
            ),
        ),
        ("match", condition()),
        ("test", test()),
        ("path", path()),
        ("methods", one_or_more(&method(), 1)),
        ("hosts", one_or_more(&json!({"type": "string", "minLength": 1}), 1)),
        ("networks", one_or_more(&json!({"type": "string", "minLength": 1, "examples": ["10.0.0.0/8"]}), 1)),
    ]
}

/// A value, or a list of them.
pub(super) fn one_or_more(item: &Value, least: usize) -> Value {
    json!({"anyOf": [item, {"type": "array", "minItems": least, "items": item}]})
}

fn method() -> Value {
    json!({"anyOf": [{"enum": METHODS}, {"type": "string", "pattern": "^[A-Za-z]+$"}]})
}

fn condition() -> Value {
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": {
            "path": of("path"),
            "method": of("methods"),
            "host": of("hosts"),
            "any": {"type": "array", "minItems": 1, "items": of("match"), "description": "At least one of them."},
            "all": {"type": "array", "minItems": 1, "items": of("match"), "description": "All of them."},
            "not": of("match"),
            "user": of("test"),
            "plan": of("test"),
            "ip:address": of("test"),
            "fingerprint": of("test")
        },
        "patternProperties": {TESTED: of("test")}
    })
}

fn test() -> Value {
    let value = json!({"type": ["string", "number", "boolean"], "minLength": 1});
    let spelt_out = mapping(
        "A regex, networks, or whether it is there.",
        &[],
        &json!({
            "regex": {"type": "string", "minLength": 1, "description": "Regex. Matches anywhere unless anchored. Works on bytes; prefix `(?u)` for Unicode."},
            "cidr": told("networks", "It is an address in one of these networks."),
            "present": {"type": "boolean", "description": "It is there."}
        }),
    );
    json!({"anyOf": [value, {"type": "array", "minItems": 1, "items": value}, spelt_out]})
}

fn path() -> Value {
    let plain = json!({"type": "string", "pattern": "^/", "description": "`/api/search`, `/api/*`, `/files/**/*.png` or `/users/{id}`."});
    let texts = one_or_more(&json!({"type": "string", "pattern": "^/"}), 1);
    let spelt_out = mapping(
        "One kind of pattern.",
        &[],
        &json!({"exact": texts, "prefix": texts, "glob": texts, "template": texts}),
    );
    let one = json!({"anyOf": [plain, spelt_out]});
    one_or_more(&one, 1)
}
