//! Buckets by rule and key.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tollgate::policy::{Entry, Facts, Order, StandingOrder, Who};
use tollgate_records::Role;

use super::door::{TestDoor, local_peer};
use crate::door::Door;
use crate::filed::{Filed, FiledRules};

/// Spends tokens of a user.
fn spend(door: &TestDoor, user: &str, times: usize) -> usize {
    let facts = Facts { user: Some(user), ..Facts::new("GET", "/") };
    let limiter = &door.gatehouse.engine.limiter;
    (0..times).filter(|_| limiter.check(&facts).is_admitted()).count()
}

#[tokio::test]
async fn a_bucket_is_looked_at_filled_and_given_tokens_with_and_without_records() {
    let token = "0123456789abcdef0123456789abcdef";
    let with_records = TestDoor::open().await;
    let operator = with_records.token(Role::Operator).await;
    for (door, token) in
        [(with_records, operator), (TestDoor::without_records(Some(token)).await, token.to_owned())]
    {
        // The rule for addresses asks for an address, and gives every request without one the same bucket.
        assert_eq!(spend(&door, "ann", 3), 3);
        let look = async || {
            let asking = door.get("/admin/v1/buckets?rule=per-user&key=user%3Aann").token(&token);
            asking.expect(200).await.json()["buckets"][0].clone()
        };
        let before = look().await;
        // It refills by one an hour meanwhile.
        let balance = before["balance"].as_f64().unwrap();
        assert!((7.0..7.1).contains(&balance) && before["exists"] == true, "{before}");
        assert_eq!(before["next_admit_ms"], 0);
        let grant = json!({ "rule": "per-user", "key": "user:ann", "tokens": 1.5, "reason": "an apology" });
        let granted = door.post("/admin/v1/buckets/grant", &grant).token(&token).expect(200).await.json();
        assert_eq!(granted["done"], true);
        let after = look().await["balance"].as_f64().unwrap();
        assert!((8.5..8.6).contains(&after), "{after}");
        let reset = json!({ "rule": "per-user", "key": "user:ann", "reason": "a mistake of ours" });
        door.post("/admin/v1/buckets/reset", &reset).token(&token).expect(200).await;
        assert_eq!(look().await["balance"], 10);
    }
}

#[tokio::test]
async fn what_is_done_to_buckets_after_the_file_of_the_records_was_removed_is_done() {
    let door = TestDoor::open().await;
    let reset = json!({ "rule": "per-user", "key": "user:ann", "reason": "a mistake of ours" });
    let token = door.token(Role::Operator).await;
    for _ in 0..3 {
        door.post("/admin/v1/buckets/reset", &reset).token(&token).expect(200).await;
    }
    let records = door.records.clone().unwrap();
    let mut status = records.watch_status();
    let url = records.url().to_string();
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(format!("{}{ending}", url.strip_prefix("sqlite:").unwrap())).unwrap();
    }
    status.wait_for(|status| !status.is_ready()).await.unwrap();
    records.ready().await;
    // Until it is known that numbers begin anew.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let token = door.token(Role::Operator).await;
    assert_eq!(spend(&door, "ann", 3), 3);
    door.post("/admin/v1/buckets/reset", &reset).token(&token).expect(200).await;
    let asking = door.get("/admin/v1/buckets?rule=per-user&key=user%3Aann").token(&token);
    assert_eq!(asking.expect(200).await.json()["buckets"][0]["balance"], 10);
}

#[tokio::test]
async fn who_looks_at_a_client_sees_what_became_of_its_last_checks() {
    let door = TestDoor::without_records(None).await;
    let engine = &door.gatehouse.engine;
    for address in 1..=12 {
        let address = Some([192, 0, 2, address].into());
        let facts = Facts { user: Some("ann"), address, ..Facts::new("GET", "/") };
        let decision = engine.limiter.check(&facts);
        engine.note_decision(Door::Http, &decision, engine.limiter.limiter().now());
    }
    let lately = async |user: &str| {
        let path = format!("/admin/v1/buckets?rule=per-user&key=user%3A{user}");
        door.get(&path).expect(200).await.json()["lately"].clone()
    };
    let of_ann = lately("ann").await;
    assert_eq!(of_ann["admitted"], json!({ "at_least": 10, "at_most": 10 }));
    assert_eq!(of_ann["denied"], json!({ "at_least": 2, "at_most": 2 }));
    assert_eq!(lately("bob").await, json!(null));
}

#[tokio::test]
async fn a_client_with_a_limit_of_its_own_is_looked_at_filled_and_given_tokens_under_that_limit() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let who = Who::Address([192, 0, 2, 7].into());
    let (rule, rate, burst) = ("per-client".to_owned(), "1".to_owned(), "500".to_owned());
    let order = Order::Override { rule, who, rate, burst };
    let (reason, author) = ("a launch".to_owned(), "test".to_owned());
    let orders = Arc::new(vec![StandingOrder { id: 7, order, reason, author, expires: None }]);
    let engine = &door.gatehouse.engine;
    // The policy that is read again is the embedded one.
    engine.file(Filed { orders, ..Filed::default() });
    engine.reload(true).unwrap();
    let look = async |key: &str| {
        let asking = door.get(&format!("/admin/v1/buckets?rule=per-client&key={key}")).token(&token);
        asking.expect(200).await.json()
    };
    let facts = Facts { address: Some([192, 0, 2, 7].into()), ..Facts::new("GET", "/") };
    for _ in 0..20 {
        let decision = engine.limiter.check(&facts);
        engine.note_decision(Door::Http, &decision, engine.limiter.limiter().now());
    }
    assert_eq!(look("192.0.2.7").await["lately"]["admitted"]["at_least"], 20, "they are counted there, too");
    let look = async |key: &str| look(key).await["buckets"][0].clone();
    let reset = json!({ "rule": "per-client", "key": "192.0.2.7", "reason": "a launch" });
    door.post("/admin/v1/buckets/reset", &reset).token(&token).expect(200).await;
    let (one, other) = (look("192.0.2.7").await, look("192.0.2.8").await);
    assert_eq!((&one["full"], &other["full"]), (&json!(500), &json!(10)), "{one} {other}");
    let grant = json!({ "rule": "per-client", "key": "192.0.2.7", "tokens": 100, "reason": "a launch" });
    door.post("/admin/v1/buckets/grant", &grant).token(&token).expect(200).await;
    let balance = look("192.0.2.7").await["balance"].as_f64().unwrap();
    assert!(balance > 10.0, "{balance} is more than the rule's own burst");
}

#[tokio::test]
async fn who_looks_at_a_client_sees_the_orders_about_it() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let look = async |key: &str| {
        let asking = door.get(&format!("/admin/v1/buckets?rule=per-client&key={key}")).token(&token);
        asking.expect(200).await.json()["orders"].clone()
    };
    let order = |id: i64, order: Order, expires: Option<i64>| StandingOrder {
        id,
        order,
        reason: "too loud".to_owned(),
        author: "ann".to_owned(),
        expires,
    };
    let network = Who::Network("192.0.2.0/24".parse().unwrap());
    let orders = vec![
        order(3, Order::Block { who: Who::Address([192, 0, 2, 7].into()) }, Some(4_000_000_000)),
        order(4, Order::Allow { who: network }, None),
    ];
    let engine = &door.gatehouse.engine;
    // The policy that is read again is the embedded one.
    engine.file(Filed { orders: Arc::new(orders), ..Filed::default() });
    engine.reload(true).unwrap();
    let block = json!({ "order_id": 3, "kind": "block", "reason": "too loud", "author": "ann",
                        "expires_at": "2096-10-02T07:06:40.000000Z" });
    let allow =
        json!({ "order_id": 4, "kind": "allow", "reason": "too loud", "author": "ann", "expires_at": null });
    assert_eq!(look("192.0.2.7").await, json!([allow, block]));
    assert_eq!(look("192.0.2.8").await, json!([allow]));
    assert_eq!(look("198.51.100.1").await, json!([]));
}

#[tokio::test]
async fn every_operation_is_written_down_with_who_what_before_after_and_why() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    assert_eq!(spend(&door, "ann", 4), 4);
    let operate = async |path: &str, tokens: Option<f64>| {
        let mut body = json!({ "rule": "per-user", "key": "user:ann", "reason": "a mistake of ours" });
        if let Some(tokens) = tokens {
            body["tokens"] = json!(tokens);
        }
        let asking = door.post(&format!("/admin/v1/buckets/{path}"), &body).from(Some(local_peer()));
        asking.token(&token).expect(200).await;
        let lines = door.get("/admin/v1/audit").token(&token).expect(200).await.json();
        lines["lines"][0].clone()
    };
    // It refills by one an hour meanwhile.
    let holds = |text: &str, whole: &str| {
        let (balance, rest) = text.split_once(' ').unwrap();
        let is_about = balance == whole || balance.starts_with(&format!("{whole}.0"));
        assert!(is_about && rest == "of 10 tokens", "{text} is not {whole}");
    };
    let text = |line: &serde_json::Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();

    let line = operate("grant", Some(2.0)).await;
    assert_eq!((&line["action"], &line["target"]), (&json!("bucket.grant"), &json!("per-user user:ann")));
    holds(&text(&line, "before"), "6");
    holds(text(&line, "after").strip_prefix("+2: ").unwrap(), "8");
    let line = operate("grant", Some(7.5)).await;
    holds(&text(&line, "before"), "8");
    assert_eq!(line["after"], "+7.5: 10 of 10 tokens", "no more than its burst");
    assert_eq!(spend(&door, "ann", 1), 1);
    let line = operate("reset", None).await;
    assert_eq!((&line["action"], &line["target"]), (&json!("bucket.reset"), &json!("per-user user:ann")));
    holds(&text(&line, "before"), "9");
    assert_eq!(line["after"], "10 of 10 tokens");

    assert_eq!(line["reason"], json!("a mistake of ours"));
    let who = door.get("/admin/v1/whoami").token(&token).expect(200).await.json();
    let signed = format!("some operator ({})", who["token"].as_str().unwrap());
    assert_eq!(line["who"], json!(signed));
    assert!(line["source_address"].as_str().unwrap().starts_with("127."));
}

#[tokio::test]
async fn a_grant_that_no_bucket_takes_is_refused_and_not_written_down() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let text = "{name: queue, scope: user, algorithm: leaky_bucket, rate: 1/h, queue: 5}".to_owned();
    let entries = vec![Entry { name: "queue".to_owned(), text, is_active: true }];
    let rules = Arc::new(FiledRules { entries, ..FiledRules::default() });
    let engine = &door.gatehouse.engine;
    engine.file(Filed { rules, ..Filed::default() });
    engine.reload(true).unwrap();
    let grant = json!({ "rule": "queue", "key": "user:ann", "tokens": 1, "reason": "an apology" });
    let answer = door.post("/admin/v1/buckets/grant", &grant).token(&token).expect(400).await;
    assert_eq!(answer.reason(), "cannot_grant");
    let lines = door.get("/admin/v1/audit?action=bucket.grant").token(&token).expect(200).await.json();
    assert_eq!(lines["lines"], json!([]));
}

#[tokio::test]
async fn what_names_no_bucket_is_said_with_the_field() {
    let token = "0123456789abcdef0123456789abcdef";
    let door = TestDoor::without_records(Some(token)).await;
    for (query, status) in [
        ("", 400),
        ("?rule=per-user", 400),
        ("?rule=per-user&key=", 400),
        ("?rule=per-address&key=nonsense", 400),
        ("?rule=nothing&key=user%3Aann", 404),
        ("?rule=per-user&key=user%3Aann&cost=x", 400),
        ("?rule=per-user&key=user%3Aann&cost=-1", 400),
        ("?rule=per-user&key=user%3Aann&other=1", 400),
    ] {
        door.get(&format!("/admin/v1/buckets{query}")).token(token).expect(status).await;
    }
    for body in [
        json!({ "rule": "per-user", "key": "user:ann", "reason": "x" }),
        json!({ "rule": "per-user", "key": "user:ann", "tokens": 1 }),
        json!({ "rule": "per-user", "key": "user:ann", "tokens": -1, "reason": "x" }),
        json!({ "rule": "per-user", "key": "user:ann", "tokens": 0, "reason": "x" }),
        json!({ "rule": "per-user", "key": "user:ann", "tokens": 1e300, "reason": "x" }),
    ] {
        door.post("/admin/v1/buckets/grant", &body).token(token).expect(400).await;
    }
    for tokens in [json!("ten"), json!(-1), json!(0), json!(0.000_000_1), json!(1e300), json!([1])] {
        let body = json!({ "rule": "per-user", "key": "user:ann", "tokens": tokens, "reason": "x" });
        let told = door.post("/admin/v1/buckets/grant", &body).token(token).expect(400).await.json();
        let detail = told["detail"].as_str().unwrap();
        assert!(told["field"] == "tokens" && detail.starts_with("`tokens` is "), "{told}");
        assert!(detail.contains("; ") && !detail.contains("cost") && !detail.contains("f64"), "{told}");
    }
}
