//! The JSON schema of policies (2020-12), for editors that complete and underline.
//!
//! Says which fields there are and what they look like. What figures make sense together only [`crate::Policy::parse`] knows.

mod conditions;
mod limits;
mod settings;

use serde_json::{Map, Value, json};

/// The schema of policy files.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    definitions.insert("policy".to_owned(), policy());
    definitions.insert("rule".to_owned(), rule());
    definitions.insert("group".to_owned(), group());
    definitions.insert("rules".to_owned(), rules());
    for (name, definition) in
        conditions::definitions().into_iter().chain(limits::definitions()).chain(settings::definitions())
    {
        definitions.insert(name.to_owned(), definition);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Tollgate policy",
        "description": "A mapping with `rules`, a list of rules, or one rule.",
        "if": {"type": "array"},
        "then": {"$ref": "#/$defs/rules"},
        "else": {
            "if": {"type": "object", "required": ["rules"]},
            "then": {"$ref": "#/$defs/policy"},
            "else": {"$ref": "#/$defs/rule"}
        },
        "$defs": definitions
    })
}

/// Refers to a definition.
fn of(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// Refers to a definition and says what it is for here.
fn told(name: &str, description: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}"), "description": description})
}

/// One of a few words.
fn words(words: &[&str], description: &str) -> Value {
    json!({"enum": words, "description": description})
}

/// Some text.
fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

/// A mapping of these fields and no others.
fn mapping(description: &str, required: &[&str], fields: &Value) -> Value {
    json!({"type": "object", "description": description, "required": required, "additionalProperties": false, "properties": fields})
}

/// Both mappings in one.
fn joined(fields: Value, more: Value) -> Value {
    match (fields, more) {
        (Value::Object(mut fields), Value::Object(more)) => {
            fields.extend(more);
            Value::Object(fields)
        }
        (fields, _) => fields,
    }
}

fn policy() -> Value {
    let fields = json!({
        "$schema": {"type": "string"},
        "version": {"const": 1, "description": "The version of this format."},
        "name": text("What the policy is called in metrics and keys; `default` unless told otherwise."),
        "mode": words(&["enforce", "shadow", "off"], "Bounds the mode of every rule."),
        "rules": of("rules"),
        "kill_switches": {"type": "array", "items": of("kill_switch"), "description": "What is refused until further notice."},
        "path_encoded": words(
            &["fold", "refuse"],
            "Paths with an encoded slash, a backslash, white space at the end of a segment, a NUL byte, or `//` at the beginning. `fold`: rules look at the path as sent and at its decoded forms; `refuse`: 400. Default: `fold`."
        ),
        "answers": of("answers"),
        "client_address": of("client_address"),
        "jwt": of("jwt"),
        "store": of("store")
    });
    mapping("A policy.", &["rules"], &fields)
}

fn rules() -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "description": "Rules and groups of rules. Every rule that matches applies; of a group with `combine: first`, the first.",
        "items": {
            "if": {"type": "object", "required": ["group"]},
            "then": of("group"),
            "else": of("rule")
        }
    })
}

fn group() -> Value {
    let fields = json!({
        "group": text("The group's name."),
        "combine": words(&["first", "all"], "`first`: only the first rule that matches applies (tiers). `all`: every one does."),
        "rules": {"type": "array", "minItems": 1, "items": of("rule")}
    });
    mapping("Rules that belong together.", &["group", "combine", "rules"], &fields)
}

fn rule() -> Value {
    let fields = json!({
        "name": text("Unique within the policy: balances and reports go by it."),
        "description": text("What it is for, for people."),
        "scope": words(
            &["user", "ip", "network", "organisation", "endpoint", "global"],
            "What it is about. Without `limit_keys` it says whose bucket it is, too."
        ),
        "limit_keys": told("keys", "What picks the bucket, in order, as in `[header:x-api-key]`."),
        "algorithm": words(
            &["token_bucket", "leaky_bucket", "sliding_window", "fixed_window", "concurrency"],
            "How it limits; `token_bucket` unless told otherwise."
        ),
        "algorithm_config": of("limit"),
        "preset": words(&crate::presets::NAMES, "A limit by name; what stands beside it takes its place."),
        "action": words(&["limit", "allow", "block"], "`limit` unless told otherwise."),
        "mode": words(&["enforce", "shadow", "off"], "`shadow`: counted and reported, never seen by clients."),
        "rollout_percent": told("percent", "Of so many percent of the keys it is enforced, of the others it is a shadow."),
        "missing": words(&["anonymous", "skip", "deny"], "What becomes of a request that lacks a part of the key; `anonymous`: they share one bucket."),
        "jwt_trust": words(&["verified", "upstream_verified"], "Whose word is taken for a token's claims."),
        "consistency": words(&["exact", "leased"], "With a shared store: `exact` asks it each time, `leased` takes tokens ahead; the bound is the same. `exact` unless told otherwise."),
        "on_store_failure": words(
            &["open", "closed", "local"],
            "While a shared store does not answer: `open` limits nothing, `closed` refuses, `local` limits by this instance's share. `local` unless told otherwise."
        ),
        "table_full": words(
            &["inherit", "deny_new", "shared_overflow"],
            "Memory only. New clients of the rule when the table is full: `inherit` evicts a bucket, and the new client starts with at most the balance of the fullest bucket of its rule in that part of the table; `deny_new` denies them; `shared_overflow` lets them share one bucket. Default: the setting `table_full` of the service."
        ),
        "log_entries_max": {"type": "integer", "minimum": 1, "maximum": 100_000_000, "description": "Memory only. Maximum number of charges in the logs of an exact sliding window. Default: an equal share of the setting `log_entries_max` of the service."},
        "refund_on": told("statuses", "Responses for which the charge is given back."),
        "settle_header": text("The response header that holds the true cost."),
        "reason": {"type": "string", "pattern": "^[a-z0-9_]+$", "description": "What a denial is called, for programs."},
        "message": text("What people are told when it denies.")
    });
    let fields = joined(joined(fields, conditions::short_forms()), limits::fields());
    mapping("A rule: whom it limits, to what, and when.", &[], &fields)
}
