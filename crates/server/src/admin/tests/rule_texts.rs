//! What rules say: of the file, of the records, and what would be brought back; and the schema that editors complete by.

use serde_json::json;
use tollgate_records::Role;

use super::door::TestDoor;

#[tokio::test]
async fn a_rule_says_what_it_says_wherever_it_stands() {
    let door = TestDoor::open().await;
    let (admin, viewer) = (door.token(Role::Admin).await, door.token(Role::Viewer).await);
    let path = "/admin/v1/rules/per-user/text";
    let of_file = door.get(path).token(&viewer).expect(200).await.json();
    assert_eq!((&of_file["source"], &of_file["version"]), (&json!("file"), &json!(0)), "{of_file}");
    let text = of_file["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("name: per-user\n") && text.contains("burst: 10"), "{text}");

    // What was read can be put again, with a change.
    let put = json!({ "text": text.replace("burst: 10", "burst: 20"), "base_version": 0 });
    door.ask("PUT", "/admin/v1/rules/per-user").json(&put).token(&admin).expect(200).await;
    let on_record = door.get(path).token(&viewer).expect(200).await.json();
    assert_eq!((&on_record["source"], &on_record["version"]), (&json!("record"), &json!(1)), "{on_record}");
    assert_eq!((&on_record["file_text"], &on_record["in_file"]), (&json!(text), &json!(true)));
    assert!(on_record["text"].as_str().unwrap().contains("burst: 20"), "{on_record}");

    let unknown = door.get("/admin/v1/rules/nobody/text").token(&viewer).expect(404).await;
    assert_eq!(unknown.reason(), "unknown_rule");
}

#[tokio::test]
async fn groups_are_told_whole_and_rows_by_their_terms() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let tier = json!({ "name": "free", "scope": "user", "rate": "1/s", "burst": 5 });
    let group = json!({ "group": "plans", "combine": "first", "rules": [tier] });
    let row =
        json!({ "key_pattern": "global", "scope": "global", "rate_per_second": 5, "burst_capacity": 9 });
    let set = json!({ "rules": [{ "rule": group }], "rows": [row], "base_version": 0 });
    door.post("/admin/v1/rules/apply", &set).token(&token).expect(200).await;
    let told = door.get("/admin/v1/rules/plans/text").token(&token).expect(200).await.json();
    assert_eq!((&told["name"], &told["in_file"]), (&json!("plans"), &json!(false)), "{told}");
    assert!(told["text"].as_str().unwrap().contains("group: \"plans\"\n"), "{told}");
    let told = door.get("/admin/v1/rules/global-1/text").token(&token).expect(200).await.json();
    assert_eq!((&told["source"], &told["row"]["burst_capacity"]), (&json!("row"), &json!("9")), "{told}");
}

#[tokio::test]
async fn the_schema_is_the_one_of_policies() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Viewer).await;
    let answer = door.get("/admin/v1/schema").token(&token).expect(200).await;
    assert_eq!(answer.headers["content-type"], "application/schema+json");
    assert_eq!(answer.json(), tollgate::policy::schema());
}
