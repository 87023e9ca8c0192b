//! Texts that would be something else to SQL, to a header, a log or a terminal are texts here.

use serde_json::json;
use tollgate_records::Role;

use super::door::TestDoor;

/// One of each kind; every one is a name, a key, a reason and a filter somewhere below.
const TEXTS: [&str; 10] = [
    "'; DROP TABLE tollgate_tokens; --",
    "\" OR 1=1 --",
    "%' OR '1'='1",
    "a\r\nset-cookie: b=c",
    "a\nb ERROR forged line",
    "\u{1b}]0;title\u{7}\u{1b}[2J",
    "=HYPERLINK(\"http://evil.example\")",
    "\u{202e}gnp.exe",
    "{{7*7}}${7*7}",
    "../../etc/passwd",
];

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[tokio::test]
async fn a_key_is_a_key_whatever_stands_in_it() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    for text in TEXTS {
        let key = format!("user:{text}");
        let path = format!("/admin/v1/buckets?rule=per-user&key={}", encoded(&key));
        let looked = door.get(&path).token(&token).answer().await;
        assert!([200, 400].contains(&looked.status), "{text:?}: {}", looked.text);
        if looked.status == 200 {
            assert_eq!(looked.json()["key"], key);
            let reset = json!({ "rule": "per-user", "key": key, "reason": text });
            door.post("/admin/v1/buckets/reset", &reset).token(&token).expect(200).await;
        }
        assert!(!looked.headers.contains_key("set-cookie"));
        assert!(!looked.text.contains('\u{1b}'), "JSON has no bare control characters: {:?}", looked.text);
        for path in ["/admin/v1/rules/", "/admin/v1/versions/", "/admin/v1/tokens/", "/admin/v1/orders/"] {
            let asking = door.ask(
                if path.contains("rules") || path.contains("versions") { "GET" } else { "DELETE" },
                &format!("{path}{}?", encoded(text)),
            );
            let answer = asking.token(&token).answer().await;
            assert!([400, 404].contains(&answer.status), "{path}{text:?}: {}", answer.text);
            assert!(!answer.headers.contains_key("set-cookie") && !answer.text.contains('\u{1b}'));
        }
    }
    // All tables are still there, with what is in them.
    let tokens = door.get("/admin/v1/tokens").token(&token).expect(200).await.json();
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_filter_finds_just_what_it_says() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    for text in TEXTS {
        let order = json!({ "kind": "block", "who": format!("user:{text}"), "reason": text });
        let given = door.post("/admin/v1/orders", &order).token(&token).answer().await;
        assert!([201, 400, 422].contains(&given.status), "{text:?}: {}", given.text);
        if given.status == 201 {
            assert_eq!((&given.json()["who"], &given.json()["reason"]), (&json!(text), &json!(text)));
        }
        for filter in ["who", "action", "target"] {
            let path = format!("/admin/v1/audit?{filter}={}", encoded(text));
            let lines = door.get(&path).token(&token).expect(200).await.json();
            assert_eq!(lines["lines"], json!([]), "{filter}={text:?}");
        }
        for query in ["cursor", "limit"] {
            let path = format!("/admin/v1/audit?{query}={}", encoded(text));
            door.get(&path).token(&token).expect(400).await;
        }
    }
    let lines = door.get("/admin/v1/audit?who=some%20admin").token(&token).expect(200).await.json();
    assert!(!lines["lines"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_name_of_a_token_is_a_name() {
    let door = TestDoor::open().await;
    let admin = door.token(Role::Admin).await;
    for text in TEXTS {
        let new = json!({ "name": text, "role": "viewer" });
        let made = door.post("/admin/v1/tokens", &new).token(&admin).answer().await;
        assert!([201, 400].contains(&made.status), "{text:?}: {}", made.text);
        if made.status == 201 {
            let secret = made.json()["secret"].as_str().unwrap().to_owned();
            let who = door.get("/admin/v1/whoami").token(&secret).expect(200).await;
            assert_eq!(who.json()["name"], text);
            // In words of a refusal, too.
            door.get("/admin/v1/tokens").token(&secret).expect(403).await;
        }
    }
}

#[tokio::test]
async fn no_database_is_asked_for_a_text_that_it_cannot_hold() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    for path in
        ["audit?who=%00", "audit?target=a%00b", "violations?user=%00", "buckets?rule=per-user&key=user:%00"]
    {
        let answer = door.get(&format!("/admin/v1/{path}")).token(&token).expect(400).await;
        assert_eq!(answer.reason(), "bad_query", "{path}");
    }
    for path in ["tokens/%00", "orders/%00"] {
        door.ask("DELETE", &format!("/admin/v1/{path}")).token(&token).expect(404).await;
    }
}
