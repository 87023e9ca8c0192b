//! The end of an instance (F4).

use serde_json::json;

use crate::databases::Place;
use crate::instance::{Instance, POLICY};

on_both!(whoever_is_told_to_end_stores_every_denial_first);

const DENIALS: i64 = 300;

async fn whoever_is_told_to_end_stores_every_denial_first(place: Place) {
    let instance = Instance::start(&place, POLICY).await;
    let mut connection = instance.server.http();
    for user in 0..DENIALS {
        let check = json!({ "method": "GET", "path": "/dear?cost=2", "user": user.to_string() });
        let answer = connection.post("/v1/check", &check.to_string());
        assert_eq!(answer.status, 429, "{answer:?}");
    }
    instance.server.signal("TERM");
    drop(connection);
    let (status, said) = instance.server.ended();
    assert!(status.success(), "{said:#?}");
    let mut hand = place.hand().await;
    assert_eq!(hand.number("SELECT COUNT(*) FROM rate_limit_violations").await, DENIALS, "{said:#?}");
    let counted = "SELECT CAST(SUM(stored) AS BIGINT) FROM tollgate_violation_totals WHERE rule = 'dear'";
    assert_eq!(hand.number(counted).await, DENIALS);
}
