//! The schema of what a policy says besides its rules.

use serde_json::{Value, json};

use crate::store_settings::INSTANCES_MAX;

use super::conditions::{one_or_more, short_forms};
use super::{joined, mapping, of, text, told, words};

pub(super) fn definitions() -> Vec<(&'static str, Value)> {
    vec![
        ("kill_switch", kill_switch()),
        ("answers", answers()),
        ("client_address", client_address()),
        ("jwt", jwt()),
        ("jwt_key", jwt_key()),
        ("store", store()),
    ]
}

fn kill_switch() -> Value {
    let fields = json!({
        "name": text("Its name."),
        "reason": text("Why, for those who are refused."),
        "until": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer", "minimum": 0}], "description": "`2026-12-24T18:00:00Z`, or seconds since 1970."}
    });
    mapping("Refuses what it governs.", &["name", "reason"], &joined(fields, short_forms()))
}

fn answers() -> Value {
    let profile = json!({"enum": ["draft", "legacy", "x", "none"]});
    let fields = json!({
        "headers": one_or_more(&profile, 1),
        "body": words(&["problem", "simple"], "RFC 9457, or a small object."),
        "jitter_percent": told("percent", "By up to so much waits are lengthened."),
        "reason_header": text("The header field that holds the reason of a denial.")
    });
    mapping("How answers look.", &[], &fields)
}

fn store() -> Value {
    let fields = json!({
        "deadline": told("span", "Maximum time to wait for the store's reply: 1ms to 1s. Default: 15ms."),
        "away_after": told("span", "The time without any reply after which the store counts as unreachable: 10ms to 10s, at least `deadline`. Default: 250ms, or `deadline` if that is longer."),
        "instances_max": {"type": "integer", "minimum": 1, "maximum": INSTANCES_MAX, "description": "The most instances that ever run at a time."},
        "local_start": words(&["full", "empty"], "What an unknown bucket holds when the store fails; `full` unless told otherwise."),
        "lease": told("span", "So long a lease lasts: 100ms to 10s, 400ms unless told otherwise."),
        "hash_tag": {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,64}$", "description": "Puts every key of the policy into one slot of a cluster."}
    });
    mapping("What a store needs to know that several instances share.", &[], &fields)
}

fn client_address() -> Value {
    let fields = json!({
        "trusted_proxies": told("networks", "Which peers are proxies of ours."),
        "hops": {"type": "integer", "minimum": 1, "maximum": 32, "description": "Instead: so many proxies stand before us."},
        "header": text("The one header in which they name the client; `x-forwarded-for` unless told otherwise.")
    });
    mapping("Whose word is taken for the client's address.", &[], &fields)
}

fn jwt() -> Value {
    let fields = json!({
        "keys": {"type": "array", "minItems": 1, "items": of("jwt_key")},
        "header": text("The header that holds the token; `authorization` unless told otherwise."),
        "issuer": text("Who must have issued it."),
        "audience": text("Whom it must be for."),
        "user_claim": text("The claim that names the user; `sub` unless told otherwise."),
        "plan_claim": text("The claim that names the plan; `plan` unless told otherwise."),
        "leeway": told("span", "By so much clocks may differ.")
    });
    mapping("How tokens are verified.", &["keys"], &fields)
}

fn jwt_key() -> Value {
    let fields = json!({
        "algorithm": text("`HS256`, `RS256`, `ES256`, `EdDSA`, ….")
        ,
        "secret_env": text("The environment variable that holds a shared secret."),
        "pem_file": text("The file that holds a public key."),
        "jwks_file": text("The file that holds a key set."),
        "jwks_url": text("The address of a key set.")
    });
    mapping("One key, or a set of them.", &[], &fields)
}
