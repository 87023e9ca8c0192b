//! The same described request is decided alike, over JSON and over the Redis protocol.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::http_client::Answer;
use crate::resp_client::RespClient;
use crate::server::Server;

/// So slow that next to nothing refills while the test runs; and as costs are halves, no two bursts ever leave the same, so that
/// which rule is tightest does not depend on the moment.
const POLICY: &str = r#"
rules:
  - {name: bad, match: {"ip:address": 192.0.2.9}, action: block}
  - {name: keyed, limit_keys: ["header:x-api-key"], missing: deny, path: /keyed, rate: 1/h, burst: 30.01}
  - {name: paid, scope: user, path: /paid, cost_source: "header:x-cost", rate: 1/h, burst: 80.05}
  - {name: asked, scope: user, path: /asked, cost_source: "query:n", rate: 1/h, burst: 80.09}
  - {name: client, scope: ip, rate: 1/h, burst: 90.13}
  - {name: free, scope: user, plan: free, rate: 1/h, burst: 50.17}
  - {name: writes, scope: user, method: [POST, PUT], rate: 1/h, burst: 30.21}
  - {name: elsewhere, limit_keys: [host], rate: 1/h, burst: 400.25}
  - {name: watched, scope: ip, mode: shadow, rate: 1/h, burst: 1}
"#;

/// One request, as both doors have it described.
#[derive(Debug)]
struct Request {
    json: Value,
    words: Vec<String>,
}

impl Request {
    fn any(rng: &mut Rng) -> Request {
        let mut request = Request { json: json!({}), words: vec!["TOLLGATE.CHECK".to_owned()] };
        let long = "u".repeat(5_000);
        for (field, values) in [
            ("method", ["GET", "POST", "put", "G T"]),
            ("path", ["/", "/keyed", "/paid", "nowhere"]),
            ("path", ["/asked", "/asked?x=1", "/keyed?y", "*"]),
            ("host", ["a.example", "b.example", "A.EXAMPLE:80", ""]),
            ("ip", ["192.0.2.7", "192.0.2.9", "2001:db8::7", "home"]),
            ("user", ["ann", "bob", "cy", &long]),
            ("plan", ["free", "pro", "free", ""]),
            ("idempotency_key", ["one", "two", "three", ""]),
        ] {
            // The last of the values makes little sense, and is rarely asked for.
            let value = values[if rng.u32(0..12) == 0 { 3 } else { rng.usize(0..3) }];
            let is_rare = field == "idempotency_key";
            if rng.bool() && !(is_rare && rng.u32(0..4) > 0) && request.json.get(field).is_none() {
                request.json[field] = value.into();
                request.words.extend([field.to_owned(), value.to_owned()]);
            }
        }
        if rng.u32(0..4) == 0 {
            let cost = ["1", "2", "2.5", "0", "100", "-1", "0.0000001"][rng.usize(0..7)];
            request.json["cost"] = serde_json::from_str(cost).unwrap();
            request.words.extend(["cost".to_owned(), cost.to_owned()]);
        }
        if rng.u32(0..4) == 0 {
            request.json["peek"] = true.into();
            request.words.extend(["peek".to_owned(), "1".to_owned()]);
        }
        for (name, value) in [("X-Api-Key", "k1"), ("x-cost", "3"), ("accept", "*/*"), ("x-cost", "nonsense")]
        {
            if rng.u32(0..3) == 0 {
                let values = request.json["headers"][name].take();
                let mut values = values.as_array().cloned().unwrap_or_default();
                values.push(value.into());
                request.json["headers"][name] = values.into();
                request.words.extend([format!("header:{name}"), value.to_owned()]);
            }
        }
        if request.words.len() == 1 {
            // A command without arguments is a mistake, while an empty object says that nothing is known.
            request.json["path"] = "/".into();
            request.words.extend(["path", "/"].map(str::to_owned));
        }
        request
    }
}

/// What HTTP said, as the other door would say it.
fn as_map(answer: &Answer) -> Result<Value, String> {
    let told = answer.json();
    if answer.status == 400 {
        return Err(format!("ERR {}", told["detail"].as_str().unwrap()));
    }
    let standing = answer.header("ratelimit").and_then(|field| field.split('"').nth(1));
    Ok(json!({
        "admitted": i64::from(told["admitted"].as_bool().unwrap()),
        "status": answer.status,
        "remaining": told["remaining"],
        "reason": told["reason"],
        "rule": standing,
        "waits": told["retry_after_ms"].is_number(),
        "delay_ms": told["delay_ms"].as_u64().unwrap_or(0),
        "mode": told["mode"],
    }))
}

/// The same of the other door's map; how long to wait depends on when it was asked.
fn comparable(mut told: Value) -> Value {
    let map = told.as_object_mut().unwrap();
    let waits = map.remove("retry_after_ms").unwrap().is_number();
    assert!(map.remove("reset_after_ms").is_some() && map.remove("limit").is_some());
    map.insert("waits".to_owned(), waits.into());
    if map["status"] == 403 {
        // Over HTTP, nobody is told which rule blocks.
        assert!(map["rule"] == "bad" || map["rule"] == "keyed", "{map:?}");
        map.insert("rule".to_owned(), Value::Null);
    }
    told
}

#[test]
fn the_same_request_is_decided_alike_over_json_and_over_the_redis_protocol() {
    let (over_http, _scratch) = Server::with_policy(POLICY);
    let (over_resp, _scratch) = Server::with_policy(POLICY);
    let (mut http, mut resp) = (over_http.http(), RespClient::to(over_resp.address("resp")));
    resp.ask(&["HELLO", "3"]).unwrap();
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    let mut rng = Rng::with_seed(4);
    for _ in 0..1_500 {
        let request = Request::any(&mut rng);
        let answer = http.post("/v1/check", &request.json.to_string());
        let told = resp.ask(&request.words).map(comparable);
        assert_eq!(told, as_map(&answer), "{request:?}: {answer:?}");
        *seen.entry(told.map_or("error".to_owned(), |told| told["status"].to_string())).or_default() += 1;
    }
    // Were all of them decided in one way, the comparison would say little.
    assert!(["200", "429", "403", "error"].iter().all(|kind| seen[*kind] > 50), "{seen:?}");
}

#[test]
fn both_doors_spend_from_the_same_buckets_and_count_for_themselves() {
    let (server, _scratch) = Server::with_policy("{name: client, scope: ip, rate: 1/h, burst: 3}");
    let mut resp = RespClient::to(server.address("resp"));
    let over_http = || server.post("/v1/check", r#"{"ip": "192.0.2.7"}"#).status;
    let mut over_resp = || resp.ask(&["TOLLGATE.CHECK", "ip", "192.0.2.7"]).unwrap()[3].clone();
    assert_eq!((over_http(), over_resp(), over_http(), over_resp()), (200, json!(200), 200, json!(429)));
    assert_eq!(over_http(), 429);
    resp.ask(&["TOLLGATE.CHECK", "ip", "192.0.2.7", "peek", "1"]).unwrap();
    let page = server.admin("/metrics").body;
    for (verdict, door, count) in
        [("admit", "http", 2), ("admit", "resp", 1), ("deny", "http", 1), ("deny", "resp", 1)]
    {
        let line = format!(
            "tollgate_checks_total{{rule=\"client\",verdict=\"{verdict}\",door=\"{door}\"}} {count}\n"
        );
        assert!(page.contains(&line), "{line}{page}");
    }
    assert!(page.contains("tollgate_check_duration_seconds_count{door=\"resp\"} 2\n"), "{page}");
}
