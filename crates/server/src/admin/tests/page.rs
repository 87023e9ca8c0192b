//! The page, with files that stand for a build, and without one.

use bytes::Bytes;

use super::door::{Answer, TestDoor, local_peer, other_peer};
use crate::admin::page::{File, Files};

const INDEX: &str = "<!doctype html><title>a page</title>";

/// A build: of the script there is a compressed one, too.
fn built() -> Files {
    Files::by(|name| {
        let (bytes, tag): (&'static [u8], _) = match name {
            "index.html" => (INDEX.as_bytes(), "00"),
            "assets/app-1a2B_x.js" => (b"let plain", "01"),
            "assets/app-1a2B_x.js.gz" => (b"as if compressed", "02"),
            "assets/app-1.css" => (b"a{}", "03"),
            "favicon.svg" => (b"<svg/>", "04"),
            _ => return None,
        };
        Some(File { bytes: Bytes::from_static(bytes), tag: tag.to_owned() })
    })
}

#[track_caller]
fn is_closed(answer: &Answer) {
    let policy = answer.headers["content-security-policy"].to_str().unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ] {
        assert!(policy.split("; ").any(|directive| directive == part), "{part}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(answer.headers[name], value, "{name}");
    }
    assert!(answer.headers["permissions-policy"].to_str().unwrap().contains("camera=()"));
}

#[tokio::test]
async fn every_screen_is_the_page_and_needs_no_token() {
    let token = "0123456789abcdef0123456789abcdef";
    let door = TestDoor::with_page(built(), Some(token)).await;
    for path in [
        "/",
        "/rules",
        "/rules/per-user/edit",
        "/clients",
        "/clients/user%3Aann",
        "/playground",
        "/sign-in",
        "/?a=b",
    ] {
        let page = door.get(path).from(Some(other_peer())).expect(200).await;
        assert_eq!(page.text, INDEX, "{path}");
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
        assert_eq!(page.headers["cache-control"], "no-cache");
        assert_eq!(page.headers["etag"], "\"00\"");
        assert!(!page.headers.contains_key("set-cookie"));
        is_closed(&page);
    }
}

#[tokio::test]
async fn files_are_sent_as_what_they_are_and_kept_as_long_as_they_may_be() {
    let door = TestDoor::with_page(built(), None).await;
    let script = door.get("/assets/app-1a2B_x.js").expect(200).await;
    assert_eq!(
        (script.text.as_str(), &script.headers["cache-control"]),
        ("let plain", &"public, max-age=31536000, immutable".parse().unwrap())
    );
    assert_eq!(script.headers["content-type"], "text/javascript; charset=utf-8");
    is_closed(&script);
    let pressed = door.get("/assets/app-1a2B_x.js").field("accept-encoding", "br, gzip").expect(200).await;
    assert_eq!(
        (pressed.text.as_str(), &pressed.headers["content-encoding"]),
        ("as if compressed", &"gzip".parse().unwrap())
    );
    assert_eq!(pressed.headers["content-type"], "text/javascript; charset=utf-8");
    assert_ne!(pressed.headers["etag"], script.headers["etag"]);
    for answer in [&script, &pressed] {
        assert_eq!(answer.headers["vary"], "accept-encoding");
    }
    // There is no compressed one.
    let sheet = door.get("/assets/app-1.css").field("accept-encoding", "gzip").expect(200).await;
    assert!(!sheet.headers.contains_key("content-encoding"));
    let icon = door.get("/favicon.svg").expect(200).await;
    assert_eq!(
        (&icon.headers["content-type"], &icon.headers["cache-control"]),
        (&"image/svg+xml".parse().unwrap(), &"no-cache".parse().unwrap())
    );
}

#[tokio::test]
async fn who_has_the_page_already_is_not_sent_it_again() {
    let door = TestDoor::with_page(built(), None).await;
    for known in ["\"00\"", "W/\"00\"", "\"x\", \"00\"", "*"] {
        let same = door.get("/rules").field("if-none-match", known).expect(304).await;
        assert!(same.text.is_empty() && same.headers["etag"] == "\"00\"", "{same:?}");
        assert_eq!(same.headers["cache-control"], "no-cache");
        is_closed(&same);
    }
    for other in ["\"01\"", "00", ""] {
        assert_eq!(door.get("/").field("if-none-match", other).expect(200).await.text, INDEX);
    }
    let pressed = door.get("/assets/app-1a2B_x.js").field("accept-encoding", "gzip");
    pressed.field("if-none-match", "\"01\"").expect(200).await;
}

#[tokio::test]
async fn a_look_at_the_head_has_everything_but_the_body() {
    let door = TestDoor::with_page(built(), None).await;
    let (get, head) = (door.get("/").expect(200).await, door.ask("HEAD", "/").expect(200).await);
    assert!(head.text.is_empty());
    let length = INDEX.len().to_string();
    for answer in [&get, &head] {
        assert_eq!(answer.headers["content-length"].to_str().unwrap(), length);
        is_closed(answer);
    }
    assert_eq!(get.headers["etag"], head.headers["etag"]);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = door.ask(method, "/rules").expect(405).await;
        assert_eq!(answer.headers["allow"], "GET, HEAD", "{method}");
        is_closed(&answer);
    }
}

#[tokio::test]
async fn nothing_but_files_of_the_page_is_found() {
    let door = TestDoor::with_page(built(), None).await;
    for path in [
        "/assets/nothing.js",
        "/assets/app-1a2B_x.js.gz",
        "/assets/../index.html",
        "/assets/..%2findex.html",
        "/assets/%2e%2e/%2e%2e/Cargo.toml",
        "/../Cargo.toml",
        "//favicon.svg",
        "/nothing.txt",
        "/nothing",
        "/.env",
        "/admin",
        "/openapi.json",
    ] {
        let answer = door.get(path).expect(404).await;
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{path}");
        assert!(answer.headers.get("cache-control").is_none_or(|field| field == "no-store"), "{path}");
    }
    // What others answer, they go on answering.
    door.get("/livez").expect(200).await;
    assert!(door.get("/metrics").expect(200).await.text.contains("tollgate_"));
    assert!(door.get("/admin/v1/rules").expect(200).await.json()["rules"].is_array());
}

#[tokio::test]
async fn a_program_without_the_page_says_how_to_get_it() {
    let door = TestDoor::with_page(Files::by(|_| None), None).await;
    for path in ["/", "/playground"] {
        let page = door.get(path).expect(200).await;
        assert!(page.text.contains("cargo xtask web") && page.text.contains("20.19"), "{}", page.text);
        assert!(
            !page.text.contains("<script") && !page.text.contains("<style") && !page.text.contains("style=")
        );
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
        assert_eq!(page.headers["cache-control"], "no-cache");
        is_closed(&page);
    }
    door.get("/favicon.svg").expect(404).await;
    door.get("/assets/app-1.css").expect(404).await;
}

#[tokio::test]
async fn the_page_is_for_this_host_and_strangers_have_their_allowance() {
    let token = "0123456789abcdef0123456789abcdef";
    let door = TestDoor::with_page(built(), Some(token)).await;
    let answer = door.get("/").field("host", "evil.example").expect(403).await;
    assert_eq!(answer.reason(), "host_not_allowed");
    is_closed(&answer);
    // A link on another site leads here; what that site may do with the page, its fields say.
    door.get("/").field("sec-fetch-site", "cross-site").expect(200).await;
    let (peer, allowance) = (Some(local_peer()), &door.gatehouse.operations.allowance);
    let cookie = door.sign_in(token).await;
    let mut is_denied = false;
    for _ in 0..100 {
        while allowance.ask(peer).is_none() {}
        is_denied |= door.get("/").from(peer).answer().await.status == 429;
        while allowance.ask(peer).is_none() {}
        // Whoever has signed in is no stranger.
        door.get("/").from(peer).field("cookie", &cookie).expect(200).await;
        if is_denied {
            return;
        }
    }
    panic!("strangers have the page as often as they like");
}
