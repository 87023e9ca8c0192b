//! The schema of buckets and costs.

use serde_json::{Value, json};

use super::conditions::one_or_more;
use super::{mapping, of, told, words};

/// What `algorithm_config` holds, and a rule itself may hold.
pub(super) fn fields() -> Value {
    json!({
        "rate": told("rate", "How fast it refills: tokens per second, or `10/s`, `600/m`, `5/h`, `1/d`, `100/15m`."),
        "rps": told("amount", "Tokens per second."),
        "tokens_per_second": told("amount", "Tokens per second."),
        "burst": told("amount", "How many tokens a full bucket holds."),
        "burst_hint": words(
            &["interactive", "strict", "batch", "llm-tools", "burst-credit"],
            "The burst as a multiple of the rate: 5, 1, 10, 1 (with a cost header) or 300 seconds of it."
        ),
        "queue": told("amount", "Of a leaky_bucket: how many may be on their way out."),
        "max_wait": told("span", "Of a leaky_bucket: who would wait longer is denied."),
        "quota": told("amount", "Of a window: what it admits."),
        "window": {"type": "string", "description": "How far a sliding_window looks back (`1h`), or how a fixed_window cuts the calendar (`month`, `3 months`, `15m`)."},
        "variant": words(&["log", "counter"], "Of a sliding_window: exact, or in one word and approximate."),
        "utc_offset": {"type": "string", "pattern": "^[+-][0-9]{2}:[0-9]{2}$", "description": "Of a fixed_window: `+01:00`."},
        "places": {"type": "integer", "minimum": 1, "maximum": tollgate_core::PLACES_MAX, "description": "Of concurrency: how many may be at work."},
        "timeout": told("span", "Of concurrency: after this a place is free again."),
        "cost_source": {"type": "string", "pattern": "^(fixed|request_bytes|method|(header|query):.+)$", "description": "Where a request's cost comes from."},
        "fixed_cost": told("amount", "What every request costs; 1 unless told otherwise."),
        "default_cost": told("amount", "What is charged when the source gives no number."),
        "min_cost": told("amount", "No request costs less; `default_cost` unless told otherwise."),
        "max_cost": told("amount", "No request costs more; `burst` unless told otherwise."),
        "cost_per_method": {"type": "object", "minProperties": 1, "additionalProperties": of("amount"), "description": "`{GET: 1, POST: 5}`."},
        "bytes_per_token": {"type": "integer", "minimum": 1, "description": "With `cost_source: request_bytes`."}
    })
}

pub(super) fn definitions() -> Vec<(&'static str, Value)> {
    let status = json!({"anyOf": [{"type": "integer", "minimum": 100, "maximum": 599}, {"enum": ["2xx", "3xx", "4xx", "5xx"]}]});
    vec![
        ("limit", mapping("The figures of the algorithm.", &[], &fields())),
        ("amount", json!({"type": "number", "exclusiveMinimum": 0})),
        (
            "rate",
            json!({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": "^[0-9][0-9.eE-]* */ *([0-9.]+ *)?(ms|s|m|h|d)$"}], "examples": ["10/s"]}),
        ),
        ("span", json!({"type": "string", "pattern": "^[0-9][0-9.]* *(ms|s|m|h|d)$", "examples": ["10s"]})),
        (
            "percent",
            json!({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 100}, {"type": "string", "pattern": "^[0-9]{1,3} *%$"}]}),
        ),
        ("statuses", one_or_more(&status, 1)),
    ]
}
