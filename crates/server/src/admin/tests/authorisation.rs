//! Every route × every role × every way not to have a token: derived from the table of routes.

use std::net::IpAddr;
use std::time::Duration;

use http::Method;
use serde_json::json;
use tollgate_records::{Author, Role, Timestamp};

use super::door::{Answer, TestDoor, local_peer, other_peer};
use crate::admin::route::{Route, Strangers};
use crate::admin::routes::ROUTES;
use crate::settings::Playground;

/// The address of a client at a Unix socket.
const UNIX_SOCKET: Option<IpAddr> = None;

/// A request to a route that changes nothing even if it is let in: there is nothing of that name, and the body says nothing.
async fn knock(
    door: &TestDoor,
    route: &Route,
    token: Option<&str>,
    peer: impl Into<Option<IpAddr>>,
) -> Answer {
    let fields = token.map(|token| ("authorization", format!("Bearer {token}")));
    knock_with(door, route, fields.as_slice(), peer).await
}

/// The same with these fields.
async fn knock_with(
    door: &TestDoor,
    route: &Route,
    fields: &[(&str, String)],
    peer: impl Into<Option<IpAddr>>,
) -> Answer {
    let path = route.path.replace("{name}", "nothing").replace("{n}", "0").replace("{id}", "0");
    let method = match route.method {
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "GET",
    };
    let mut asking = door.ask(method, &path).from(peer.into());
    if route.method != Method::GET {
        asking = asking.json(&json!({}));
    }
    for (name, value) in fields {
        asking = asking.field(name, value);
    }
    // A stream of events has no end; that it begins is enough.
    if route.path.ends_with("/events") { asking.head().await } else { asking.answer().await }
}

#[track_caller]
fn refused(route: &Route, answer: &Answer, status: u16, reason: &str, what: &str) {
    let place = format!("{} {} {what}", route.method, route.path);
    assert_eq!(answer.status, status, "{place}: {}", answer.text);
    assert_eq!(answer.reason(), reason, "{place}");
    assert_eq!(answer.headers.contains_key("www-authenticate"), status == 401, "{place}");
}

#[track_caller]
fn let_in(route: &Route, answer: &Answer, what: &str) {
    let is_in = ![401, 403, 405, 415, 429, 503].contains(&answer.status);
    assert!(is_in, "{} {} {what}: {answer:?}", route.method, route.path);
}

#[tokio::test]
async fn each_role_opens_just_the_routes_that_take_it_or_less() {
    let door = TestDoor::open().await;
    for role in Role::ALL {
        let token = door.token(role).await;
        for route in &ROUTES {
            // From this machine and from any other alike.
            for peer in [local_peer(), other_peer()] {
                let answer = knock(&door, route, Some(&token), peer).await;
                if role < route.role {
                    refused(route, &answer, 403, "role_too_low", role.as_str());
                } else {
                    let_in(route, &answer, role.as_str());
                }
            }
        }
    }
}

#[tokio::test]
async fn a_session_opens_just_what_its_token_opens() {
    let door = TestDoor::open().await;
    for role in Role::ALL {
        let token = door.token(role).await;
        for route in &ROUTES {
            // One of the routes ends it.
            let cookie = door.sign_in(&token).await;
            let fields = [("cookie", cookie), ("sec-fetch-site", "same-origin".to_owned())];
            let answer = knock_with(&door, route, &fields, other_peer()).await;
            let is_sign_in = route.path.ends_with("/session") && route.method == Method::POST;
            if is_sign_in {
                assert_eq!((answer.status, answer.reason().as_str()), (400, "token_needed"));
            } else if role < route.role {
                refused(route, &answer, 403, "role_too_low", role.as_str());
            } else {
                let_in(route, &answer, role.as_str());
            }
        }
    }
}

#[tokio::test]
async fn no_route_opens_to_a_cookie_that_is_nobodys() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let good = door.sign_in(&token).await;
    let ended = door.sign_in(&token).await;
    let ours = ("sec-fetch-site", "same-origin");
    door.ask("DELETE", "/admin/v1/session").field("cookie", &ended).field(ours.0, ours.1).expect(204).await;
    let unknown = format!("tollgate_session_8082={}", "0".repeat(64));
    let twice = format!("{good}; {good}");
    let cut = good[..good.len() - 1].to_owned();
    for route in &ROUTES {
        for cookie in
            [&ended, &unknown, &twice, &cut, "tollgate_session_8082=", "tollgate_session_8082=' OR 1=1 --"]
        {
            let fields = [("cookie", cookie.to_owned()), (ours.0, ours.1.to_owned())];
            let answer = knock_with(&door, route, &fields, local_peer()).await;
            if route.strangers == Strangers::Always {
                let_in(route, &answer, cookie);
                continue;
            }
            refused(route, &answer, 401, "token_needed", cookie);
            assert!(answer.headers["set-cookie"].to_str().unwrap().ends_with("Max-Age=0"), "{cookie}");
        }
        // A token that is sent is what counts, and no cookie mends a wrong one.
        let fields = [("cookie", good.clone()), ("authorization", "Bearer tg_0123456789abcdef_x".to_owned())];
        let answer = knock_with(&door, route, &fields, local_peer()).await;
        refused(route, &answer, 401, "unknown_token", "a wrong token beside a cookie");
    }
}

#[tokio::test]
async fn no_route_that_changes_something_opens_to_a_cookie_that_another_page_has_sent() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let cookie = door.sign_in(&token).await;
    let changing = ROUTES.iter().filter(|route| !route.method.is_safe());
    for route in changing {
        for (fields, reason) in [
            (&[][..], "origin_needed"),
            // Somebody who typed an address sends no change.
            (&[("sec-fetch-site", "none")], "origin_needed"),
            (&[("sec-fetch-site", "same-site")], "foreign_origin"),
            (&[("sec-fetch-site", "cross-site")], "foreign_origin"),
            (&[("origin", "http://evil.example")], "foreign_origin"),
            // Cookies know no ports.
            (&[("origin", "http://127.0.0.1:3000")], "foreign_origin"),
            (&[("origin", "null")], "foreign_origin"),
            (&[("origin", "http://127.0.0.1:8082"), ("sec-fetch-site", "cross-site")], "foreign_origin"),
        ] {
            let mut all = vec![("cookie", cookie.clone())];
            all.extend(fields.iter().map(|(name, value)| (*name, (*value).to_owned())));
            let answer = knock_with(&door, route, &all, local_peer()).await;
            refused(route, &answer, 403, reason, &format!("{fields:?}"));
        }
    }
    // Nothing was changed by all that, and the session stands.
    assert_eq!(
        door.get("/admin/v1/whoami").field("cookie", &cookie).expect(200).await.json()["session"],
        true
    );
}

#[tokio::test]
async fn no_route_opens_to_who_has_no_good_token() {
    let door = TestDoor::open().await;
    let author = Author::new("test");
    let good = door.token(Role::Admin).await;
    // The right id, and a wrong secret: its last letter is another.
    let mut wrong = good.clone();
    let last = if wrong.pop() == Some('A') { 'B' } else { 'A' };
    wrong.push(last);
    let soon = Timestamp::from_unix_micros(Timestamp::now().unix_micros() + 50_000);
    let expired = door.token_until(Role::Admin, Some(soon)).await;
    let revoked = door.token(Role::Admin).await;
    let id = revoked.split('_').nth(1).unwrap();
    door.records.as_ref().unwrap().revoke_token(id, &author, None).await.unwrap();
    while Timestamp::now() <= soon {
        tokio::task::yield_now().await;
    }
    let unknown = "tg_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let ways = [
        ("none", None, "token_needed"),
        ("malformed", Some("a b"), "malformed_token"),
        ("unknown", Some(unknown), "unknown_token"),
        ("no token at all", Some("x"), "unknown_token"),
        ("a wrong secret", Some(wrong.as_str()), "unknown_token"),
        ("expired", Some(expired.as_str()), "expired_token"),
        ("revoked", Some(revoked.as_str()), "revoked_token"),
    ];
    for route in &ROUTES {
        for (what, token, reason) in ways {
            for peer in [local_peer(), other_peer()] {
                let answer = knock(&door, route, token, peer).await;
                if token.is_none() && route.strangers == Strangers::Always {
                    let_in(route, &answer, what);
                    continue;
                }
                refused(route, &answer, 401, reason, what);
                if let Some(token) = token.filter(|token| token.len() > 20) {
                    assert!(!answer.text.contains(token) && !format!("{:?}", answer.headers).contains(token));
                }
            }
        }
    }
    // Nothing was changed by all that.
    assert_eq!(door.records.as_ref().unwrap().rule_set().await.unwrap().version, 0);
}

#[tokio::test]
async fn without_tokens_only_socket_and_start_token_read() {
    for door in [TestDoor::open().await, TestDoor::without_records(None).await] {
        for route in &ROUTES {
            let answer = knock(&door, route, None, UNIX_SOCKET).await;
            if route.role == Role::Viewer {
                // Without records some of it is nowhere.
                let_in(route, &answer, "a Unix socket");
            } else {
                refused(route, &answer, 401, "no_token_configured", "a Unix socket");
            }
            for peer in [local_peer(), other_peer()] {
                let answer = knock(&door, route, None, peer).await;
                if route.strangers == Strangers::Always {
                    let_in(route, &answer, "no token");
                } else {
                    refused(route, &answer, 401, "no_token_configured", "no token");
                }
                let answer = knock(&door, route, Some(door.start_token()), peer).await;
                if route.role == Role::Viewer {
                    let_in(route, &answer, "the start's token");
                } else {
                    refused(route, &answer, 403, "role_too_low", "the start's token");
                }
                let guess = format!("{}0", door.start_token());
                for token in ["tg_0123456789abcdef_x", "tg_start_x", &guess] {
                    let answer = knock(&door, route, Some(token), peer).await;
                    refused(route, &answer, 401, "unknown_token", "a wrong token");
                }
            }
        }
    }
}

#[tokio::test]
async fn start_token_ends_with_the_first_token() {
    let door = TestDoor::open().await;
    let start = door.start_token();
    let ask = || door.get("/admin/v1/whoami").from(Some(local_peer()));
    let who = ask().token(start).expect(200).await.json();
    assert_eq!(
        who,
        json!({ "name": "start", "token": "start", "role": "viewer", "session": false, "open": false })
    );
    let cookie = door.sign_in(start).await;
    ask().field("cookie", &cookie).expect(200).await;
    assert!(until(|| door.has_start_token_file()).await);

    // Made beside the service, as `tollgate token create` does.
    let token = door.token(Role::Viewer).await;
    assert_eq!(ask().field("cookie", &cookie).expect(401).await.reason(), "session_over");
    assert_eq!(ask().token(start).expect(401).await.reason(), "revoked_token");
    assert!(!door.has_start_token_file());
    ask().token(&token).expect(200).await;

    door.sql("DELETE FROM tollgate_tokens").await;
    assert_eq!(ask().token(start).expect(401).await.reason(), "revoked_token");
    assert!(!door.has_start_token_file());
}

#[tokio::test]
async fn start_token_file_goes_without_any_request() {
    let door = TestDoor::open().await;
    assert!(until(|| door.has_start_token_file()).await);
    door.token(Role::Viewer).await;
    assert!(until(|| !door.has_start_token_file()).await);
}

#[tokio::test]
async fn start_token_is_not_made_beside_a_configured_token() {
    let door = TestDoor::without_records(Some("0123456789abcdef0123456789abcdef")).await;
    assert_eq!(door.start_token(), "");
}

/// Waits for something; returns whether it came to be.
async fn until(is_so: impl Fn() -> bool) -> bool {
    for _ in 0..200 {
        if is_so() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

#[tokio::test]
async fn an_open_playground_lets_strangers_play_and_nothing_else() {
    for playground in [Playground::Open, Playground::SignedIn] {
        let door = &TestDoor::open_with(playground).await;
        door.token(Role::Admin).await;
        let takes = |path: &str| match path {
            "/admin/v1/playground" => true,
            "/admin/v1/simulate" => playground == Playground::Open,
            _ => false,
        };
        for route in &ROUTES {
            for peer in [local_peer(), other_peer()] {
                let answer = knock(door, route, None, peer).await;
                if takes(route.path) {
                    let_in(route, &answer, "a stranger");
                } else {
                    refused(route, &answer, 401, "token_needed", "a stranger");
                }
                let answer = knock(door, route, Some("tg_0123456789abcdef_x"), peer).await;
                refused(route, &answer, 401, "unknown_token", "a token of elsewhere");
                // A cookie that is nobody's makes nobody of whoever sends it, and no worse.
                let cookie = [("cookie", format!("tollgate_session_8082={}", "0".repeat(64)))];
                let answer = knock_with(door, route, &cookie, peer).await;
                if takes(route.path) {
                    let_in(route, &answer, "an old cookie");
                } else {
                    refused(route, &answer, 401, "token_needed", "an old cookie");
                }
            }
        }
    }
}

#[tokio::test]
async fn who_forwards_for_somebody_else_is_not_this_machine() {
    let door = TestDoor::open().await;
    for field in ["forwarded", "x-forwarded-for", "x-real-ip", "via"] {
        let answer = door.get("/admin/v1/status").field(field, "192.0.2.7").expect(401).await;
        assert_eq!(answer.reason(), "no_token_configured");
    }
}

#[tokio::test]
async fn a_socket_of_this_machine_is_this_machine() {
    let door = TestDoor::open().await;
    door.get("/admin/v1/status").from(None).expect(200).await;
}

#[tokio::test]
async fn deleted_tokens_do_not_open_the_listener() {
    for was_used in [true, false] {
        let door = TestDoor::open().await;
        assert!(until(|| door.has_start_token_file()).await);
        let token = door.token(Role::Viewer).await;
        if was_used {
            door.get("/admin/v1/whoami").token(&token).expect(200).await;
        } else {
            // The background task sees tokens that are never used.
            assert!(until(|| !door.has_start_token_file()).await);
        }
        door.sql("DELETE FROM tollgate_tokens").await;
        assert_eq!(door.get("/admin/v1/status").expect(401).await.reason(), "token_needed");
        let by_tcp = door.get("/admin/v1/status").from(Some(local_peer()));
        assert_eq!(by_tcp.expect(401).await.reason(), "token_needed");
    }
}

#[tokio::test]
async fn the_token_of_the_settings_opens_everything_and_is_never_shown() {
    let token = "0123456789abcdef0123456789abcdef";
    let door = TestDoor::without_records(Some(token)).await;
    let who = door.get("/admin/v1/whoami").token(token).expect(200).await;
    assert_eq!(who.json()["role"], "admin");
    assert!(!who.text.contains(token));
    door.get("/admin/v1/whoami").expect(401).await;
    let guess = door.get("/admin/v1/whoami").token("0123456789abcdef0123456789abcdeX").expect(401).await;
    assert_eq!(guess.reason(), "unknown_token");
}

#[tokio::test]
async fn a_token_that_is_revoked_opens_nothing_from_that_moment() {
    let door = TestDoor::open().await;
    let (admin, viewer) = (door.token(Role::Admin).await, door.token(Role::Viewer).await);
    door.get("/admin/v1/whoami").token(&viewer).expect(200).await;
    let id = viewer.split('_').nth(1).unwrap();
    door.ask("DELETE", &format!("/admin/v1/tokens/{id}")).token(&admin).expect(200).await;
    assert_eq!(door.get("/admin/v1/whoami").token(&viewer).expect(401).await.reason(), "revoked_token");
}
