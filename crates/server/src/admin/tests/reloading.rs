//! A reload that was asked for, and its lines in the trail.

use serde_json::{Value, json};
use tollgate_records::{Records, RecordsOptions, RecordsUrl, Role};

use super::door::TestDoor;
use crate::filed::Filed;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The version and hash in force, as the trail has them.
fn in_force(door: &TestDoor) -> String {
    let loaded = door.gatehouse.engine.loaded();
    format!("version {}, {}", loaded.version, loaded.hash)
}

/// The last two lines, the older one first.
async fn last_two(door: &TestDoor, token: &str) -> [Value; 2] {
    let lines = door.get("/admin/v1/audit?limit=2").token(token).expect(200).await.json();
    [lines["lines"][1].clone(), lines["lines"][0].clone()]
}

#[tokio::test]
async fn a_reload_is_written_down_before_it_is_done_and_then_what_became_of_it() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let reload = async || {
        let asking = door.post("/admin/v1/reload", &json!({ "reason": "as planned" })).token(&token);
        (in_force(&door), asking.answer().await.status, in_force(&door))
    };
    // The policy that is read again is the embedded one.
    let (before, status, after) = reload().await;
    assert_eq!(status, 200);
    assert!(before.starts_with("version 1, ") && after.starts_with("version 2, "), "{before} {after}");
    let [asked, became] = last_two(&door, &token).await;
    for (line, action) in [(&asked, "policy.reload"), (&became, "policy.reloaded")] {
        assert_eq!((&line["action"], &line["target"]), (&json!(action), &json!("the policy")), "{line}");
        assert_eq!((&line["before"], &line["reason"]), (&json!(before), &json!("as planned")), "{line}");
        assert!(line["who"].as_str().unwrap().starts_with("some operator ("), "{line}");
    }
    assert_eq!((&asked["after"], &became["after"]), (&json!(null), &json!(after)));

    let (_, status, _) = reload().await;
    let [_, became] = last_two(&door, &token).await;
    assert_eq!(
        (status, &became["before"], &became["after"]),
        (200, &json!(after), &json!(after)),
        "unchanged"
    );

    let why = "order 7 cannot be read: it is torn\nand more of that";
    door.gatehouse.engine.file(Filed { unread: Some(why.to_owned()), ..Filed::default() });
    let (_, status, _) = reload().await;
    let [_, became] = last_two(&door, &token).await;
    let refused = format!("refused: order 7 cannot be read: it is torn; {after} is in force");
    assert_eq!((status, &became["before"], &became["after"]), (422, &json!(after), &json!(refused)));
}

#[tokio::test]
async fn a_reload_that_cannot_be_written_down_is_not_done() {
    // Nobody listens there.
    let url = RecordsUrl::parse("postgres://nobody@127.0.0.1:1/nothing").unwrap();
    let records = Records::open(&url, RecordsOptions::default());
    let door = TestDoor::with(records, Some(TOKEN), None).await;
    let before = in_force(&door);
    let answer = door.post("/admin/v1/reload", &json!({})).token(TOKEN).expect(503).await;
    assert_eq!(answer.reason(), "records_unavailable");
    assert_eq!(in_force(&door), before);
}
