//! Standing orders, through the API.

use serde_json::{Value, json};
use tollgate_records::Role;

use super::door::TestDoor;

#[tokio::test]
async fn orders_are_listed_page_by_page_each_once() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    for number in 0..5 {
        let order = json!({ "kind": "block", "who": format!("user:{number}"), "reason": "abuse" });
        door.post("/admin/v1/orders", &order).token(&token).expect(201).await;
    }
    door.ask("DELETE", "/admin/v1/orders/2?reason=over").token(&token).expect(200).await;
    for (past, expected) in [("false", vec![5, 4, 3, 1]), ("true", vec![5, 4, 3, 2, 1])] {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/admin/v1/orders?past={past}&limit=2{cursor}");
            let page = door.get(&path).token(&token).expect(200).await.json();
            let orders = page["orders"].as_array().unwrap();
            assert!(orders.len() <= 2, "{page}");
            found.extend(orders.iter().map(|order| order["order_id"].as_i64().unwrap()));
            if page["cursor"] == Value::Null {
                break;
            }
            cursor = format!("&cursor={}", page["cursor"]);
        }
        assert_eq!(found, expected, "past={past}");
    }
    for query in ["limit=0", "limit=1001", "cursor=x"] {
        door.get(&format!("/admin/v1/orders?{query}")).token(&token).expect(400).await;
    }
}

#[tokio::test]
async fn whatever_is_no_text_on_record_keeps_nobody_from_blocking_or_mending() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let block = |who: &str| json!({ "kind": "block", "who": who, "reason": "abuse" });
    door.post("/admin/v1/orders", &block("user:1")).token(&token).expect(201).await;
    door.sql("INSERT INTO tollgate_entries (name, text, is_active) VALUES ('x', x'ff00', TRUE)").await;
    door.sql("UPDATE tollgate_orders SET reason = x'ff'").await;
    door.post("/admin/v1/orders", &block("user:2")).token(&token).expect(201).await;
    let orders = door.get("/admin/v1/orders").token(&token).expect(200).await.json();
    assert_eq!(orders["orders"].as_array().unwrap().len(), 2, "{orders}");
    door.ask("DELETE", "/admin/v1/rules/x?comment=broken")
        .token(&token)
        .field("if-match", "*")
        .expect(200)
        .await;
}

#[tokio::test]
async fn a_reason_that_is_too_long_is_refused_at_its_field() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let order = |bytes: usize| json!({ "kind": "block", "who": "user:1", "reason": "x".repeat(bytes) });
    door.post("/admin/v1/orders", &order(512)).token(&token).expect(201).await;
    let told = door.post("/admin/v1/orders", &order(513)).token(&token).expect(400).await.json();
    assert_eq!(told["field"], "reason", "{told}");
    assert_eq!(told["detail"], "`reason` has 513 bytes, 512 at most; shorten it");
}
