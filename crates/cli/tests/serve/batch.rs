//! `/v1/check/batch`.

use serde_json::json;

use crate::server::Server;

#[test]
fn every_check_of_a_batch_has_a_result_in_its_place() {
    let server = Server::new(&[]);
    let body = r#"{"checks": [
        {"key": "a", "rate": 0.001, "burst": 1},
        {"key": "a", "rate": 0.001, "burst": 1},
        {"key": "a", "rate": 0, "burst": 1},
        {"ip": "192.0.2.7"},
        {"key": "b", "rate": 1, "burst": 1, "cost": 2},
        {"key": "b", "rate": 1, "burst": 1, "peek": true}
    ]}"#;
    let answer = server.post("/v1/check/batch", body);
    assert_eq!(answer.status, 200);
    let results = answer.json()["results"].clone();
    let statuses: Vec<_> =
        results.as_array().unwrap().iter().map(|it| it["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [200, 429, 400, 200, 429, 200]);
    assert_eq!(results[0]["remaining"], 0);
    assert!(results[1]["retry_after_ms"].as_u64().unwrap() > 990_000);
    assert_eq!(results[2]["field"], "checks[2].rate");
    assert_eq!(results[3]["limit"], 10);
    assert_eq!(results[4]["reason"], json!("cost_exceeds_burst"));
}

#[test]
fn a_batch_has_at_most_a_thousand_checks() {
    let server = Server::new(&[]);
    let batch = |checks: usize| {
        let checks = vec![r#"{"key":"k","rate":1,"burst":1000}"#; checks].join(",");
        server.post("/v1/check/batch", &format!("{{\"checks\":[{checks}]}}"))
    };
    let full = batch(1_000);
    assert_eq!((full.status, full.json()["results"].as_array().unwrap().len()), (200, 1_000));
    assert_eq!(batch(1_001).fault(), (400, "checks".to_owned()));
    assert_eq!(batch(0).json()["results"], json!([]));
}

#[test]
fn a_check_that_does_not_fit_spoils_no_other_and_its_place_is_named() {
    let server = Server::new(&[]);
    let body = r#"{"checks": [
        {"key": "a", "rate": 0.001, "burst": 5},
        {"key": "a", "rate": 0.001, "burst": 5, "bad": 1},
        {"key": "a", "rate": "1", "burst": 5},
        {"key": "a", "key": "b", "rate": 1, "burst": 5},
        {"buckets": [{"key": "a", "rate": 1, "burst": true}]},
        7,
        {"key": "a", "rate": 0.001, "burst": 5}
    ]}"#;
    let answer = server.post("/v1/check/batch", body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let results = answer.json()["results"].clone();
    let told: Vec<_> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["status"].as_u64().unwrap(), it["field"].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (200, None),
            (400, Some("checks[1].bad")),
            (400, Some("checks[2].rate")),
            (400, Some("checks[3].key")),
            (400, Some("checks[4].buckets[0].burst")),
            (400, Some("checks[5]")),
            (200, None),
        ]
    );
    assert_eq!((results[0]["remaining"].as_u64(), results[6]["remaining"].as_u64()), (Some(4), Some(3)));
    assert_eq!(results[5]["detail"], "checks[5]: the check is the number 7; send a JSON object");
    assert_eq!(results[3]["detail"], "checks[3]: duplicate field `key`; give it once");
    // What is wrong beside the checks, or with the JSON, is wrong with all of it.
    for (body, field) in [
        (r#"{"checks": [{"bad": 1}], "more": 1}"#, "more"),
        (r#"{"checks": 5}"#, "checks"),
        (r#"{"checks": [{"bad": 1}"#, ""),
    ] {
        assert_eq!(server.post("/v1/check/batch", body).fault(), (400, field.to_owned()), "{body}");
    }
}
