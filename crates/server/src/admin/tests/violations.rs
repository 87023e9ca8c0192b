//! Violations on record, through the API.

use serde_json::json;
use tollgate_records::{MicroTokens, Timestamp, Violation};

use super::door::TestDoor;

/// Texts that would be something else to SQL, a terminal or a spreadsheet.
const TEXTS: [&str; 4] =
    ["'; DROP TABLE rate_limit_violations; --", "\u{1b}[2J", "=1+1", "a\r\nset-cookie: b=c"];

async fn note(door: &TestDoor, users: &[&str]) {
    let log = door.violations.as_ref().unwrap();
    for (at, user) in (1..).zip(users) {
        log.note(Violation {
            rule: "per-user",
            key: "user",
            user: Some(user),
            address: Some([192, 0, 2, 7].into()),
            endpoint: Some("/api/search"),
            at: Timestamp::from_unix_seconds(Timestamp::now().unix_seconds() - 60 + at),
            tokens: MicroTokens(0),
            cost: MicroTokens::whole(1),
            reason: "token_bucket_exceeded",
            door: "http",
        });
    }
    log.flush().await.unwrap();
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[tokio::test]
async fn violations_are_found_page_by_page_by_every_filter_and_by_any_text() {
    let door = TestDoor::open().await;
    note(&door, &TEXTS).await;
    for text in TEXTS {
        let path = format!("/admin/v1/violations?user={}", encoded(text));
        let found = door.get(&path).expect(200).await;
        assert_eq!(found.json()["violations"].as_array().unwrap().len(), 1, "{}", found.text);
        assert!(!found.text.contains('\u{1b}') && !found.headers.contains_key("set-cookie"));
        for filter in ["rule", "endpoint", "endpoint_prefix"] {
            let path = format!("/admin/v1/violations?{filter}={}", encoded(text));
            assert_eq!(door.get(&path).expect(200).await.json()["violations"], json!([]), "{filter}");
        }
        for filter in ["address", "since", "until", "cursor", "limit"] {
            let path = format!("/admin/v1/violations?{filter}={}", encoded(text));
            door.get(&path).expect(400).await;
        }
    }
    for filter in
        ["rule=per-user", "address=192.0.2.7", "endpoint=/api/search", "endpoint_prefix=/api", "since=2m"]
    {
        let found = door.get(&format!("/admin/v1/violations?{filter}")).expect(200).await.json();
        assert_eq!(found["violations"].as_array().unwrap().len(), TEXTS.len(), "{filter}");
    }
    let mut path = "/admin/v1/violations?limit=3".to_owned();
    let first = door.get(&path).expect(200).await.json();
    path.extend(["&cursor=", first["cursor"].as_str().unwrap()]);
    let last = door.get(&path).expect(200).await.json();
    assert_eq!((last["violations"].as_array().unwrap().len(), &last["cursor"]), (1, &json!(null)));
    let totals = door.get("/admin/v1/violations/totals?rule=per-user").expect(200).await.json();
    assert_eq!(totals["of_this_instance"]["counts"]["denied"], TEXTS.len(), "{totals}");
}

#[tokio::test]
async fn an_export_is_whole_and_no_formula_stands_in_it() {
    let door = TestDoor::open().await;
    note(&door, &TEXTS).await;
    let csv = door.get("/admin/v1/violations/export").expect(200).await;
    assert!(csv.headers["content-type"].to_str().unwrap().starts_with("text/csv"));
    assert!(csv.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
    assert!(csv.text.contains("'=1+1") && !csv.text.contains(",=1+1"), "{}", csv.text);
    let lines = door.get("/admin/v1/violations/export?format=jsonl").expect(200).await;
    let users: Vec<String> = lines
        .text
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["user"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(users, TEXTS.iter().rev().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    door.get("/admin/v1/violations/export?format=xls").expect(400).await;
}

#[tokio::test]
async fn an_address_is_found_by_every_spelling() {
    let door = TestDoor::open().await;
    note(&door, &["ann"]).await;
    for address in ["192.0.2.7", "::ffff:192.0.2.7", "::FFFF:c000:207"] {
        let found = door.get(&format!("/admin/v1/violations?address={address}")).expect(200).await.json();
        assert_eq!(found["violations"].as_array().unwrap().len(), 1, "{address}");
    }
}

#[tokio::test]
async fn a_filter_that_can_find_nothing_is_refused_with_field_value_and_cure() {
    let door = TestDoor::open().await;
    note(&door, &["ann"]).await;
    let pseudonym = format!("hashed:{}", "0a".repeat(16));
    for (query, field) in [
        ("address=192.0.2.0/24", "address"),
        ("address=notanip", "address"),
        ("address=", "address"),
        ("address=hashed:0a", "address"),
        ("since=1m&until=5m", "since"),
        ("since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "since"),
    ] {
        for path in ["violations", "violations/export"] {
            let told = door.get(&format!("/admin/v1/{path}?{query}")).expect(400).await.json();
            let (is, value) = (&told["field"], query.split('&').next().unwrap().split_once('=').unwrap().1);
            assert!(is == field && told["reason"] == "bad_query", "{query}: {told}");
            assert!(
                told["detail"].as_str().unwrap().starts_with(&format!("`{field}` is '{value}'")),
                "{told}"
            );
        }
    }
    door.get("/admin/v1/violations/totals?since=1m&until=5m").expect(400).await;
    for query in ["since=5m&until=1m", "since=1m&until=1m", &format!("address={pseudonym}")] {
        door.get(&format!("/admin/v1/violations?{query}")).expect(200).await;
    }
}
