//! The steps by which clients evaded rules, block rules and the built-in policy: H3, H4, M1, M2 and L4 of the attack review.

use serde_json::json;

use crate::http_client::Connection;
use crate::mint::with_secret;
use crate::resp_client::RespClient;
use crate::server::Server;

/// Asks about a GET of `target` as a proxy does, with these header lines byte by byte, and returns the status.
fn forwarded(http: &mut Connection, method: &str, target: &str, lines: &[&[u8]]) -> u16 {
    let mut head =
        b"GET /v1/forward-auth/traefik HTTP/1.1\r\nhost: test\r\nx-forwarded-for: 192.0.2.7\r\n".to_vec();
    head.extend_from_slice(
        format!("x-forwarded-method: {method}\r\nx-forwarded-uri: {target}\r\n").as_bytes(),
    );
    for line in lines {
        head.extend_from_slice(line);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    http.send(head);
    http.answer().status
}

/// H3, K19.
#[test]
fn built_in_policy_counts_one_ipv6_network_as_one_client() {
    let server = Server::new(&[]);
    let mut http = server.http();
    let admitted = (0..100)
        .filter(|last| http.post("/v1/check", &format!(r#"{{"ip": "2001:db8::{last:x}"}}"#)).status == 200)
        .count();
    assert!((10..40).contains(&admitted), "{admitted} of 100 admitted, 10 at once and 5/s were allowed");
}

/// H4, K23 and P11.
#[test]
fn a_byte_that_is_not_utf8_hides_no_cookie() {
    let policy = r#"{name: session, limit_keys: ["cookie:session"], rate: 1/h, burst: 3}"#;
    let (server, _scratch) = Server::with_policy(policy);
    let mut http = server.http();
    let statuses: Vec<u16> = (0..10)
        .map(|fake| {
            let fake = format!("cookie: session=F{fake}");
            forwarded(&mut http, "GET", "/", &[b"cookie: session=REAL; x=\xff", fake.as_bytes()])
        })
        .collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
    let alone = forwarded(&mut http, "GET", "/", &[b"cookie: session=REAL; x=\xff"]);
    assert_eq!(alone, 200, "the cookie itself is readable, so it is the key");
}

const BLOCKS: &str = r#"
rules:
  - {name: leaked-key, action: block, match: {"header:x-api-key": leaked}}
  - {name: scrapers, action: block, match: {"header:user-agent": {regex: "^Scrapy"}}}
  - {name: bad-cookie, action: block, match: {"cookie:bad": "1"}}
  - {name: stolen, action: block, match: {"cookie:session": stolen}}
  - {name: debug, action: block, match: {"query:debug": {present: true}}}
"#;

/// M1, K37 to K39.
#[test]
fn block_rules_look_at_every_value_of_a_name() {
    let (server, _scratch) = Server::with_policy(BLOCKS);
    let mut http = server.http();
    let mut ask = |target: &str, lines: &[&[u8]]| forwarded(&mut http, "GET", target, lines);
    for lines in [
        &[&b"x-api-key: leaked"[..]][..],
        &[b"x-api-key: leaked", b"x-api-key: leaked"],
        &[b"x-api-key: leaked", b"x-api-key: other"],
        &[b"x-api-key: leaked", b"x-api-key:"],
        &[b"x-api-key: \xff", b"x-api-key: leaked"],
        &[b"user-agent: Scrapy/2.11"],
        &[b"user-agent: Scrapy/2.11", b"user-agent: Mozilla"],
        &[b"user-agent: Scrapy\xff"],
        &[b"cookie: bad=1"],
        &[b"cookie: bad=1; bad=1"],
        &[b"cookie: bad=1", b"cookie: bad=2"],
        &[b"cookie: session=stolen; x=\xff"],
        &[b"cookie: session=\"stolen\""],
        &[b"cookie: session=\"st\\157len\""],
        &[b"cookie: session=%73tolen"],
        &[b"cookie: x=1, session=stolen"],
        &[b"cookie: session=stolen x=1"],
        &[b"cookie: session=stolen\xa0"],
        &[b"cookie: \xa0session=stolen"],
        &[b"cookie: session\xa0=stolen"],
        &[b"cookie: session\xc2\x85=stolen"],
        &[b"cookie: Session=stolen"],
        &[b"x-api-key: leaked\xa0"],
        &[b"x_api_key: leaked"],
        &[b"x-api-key: other", b"X_Api_Key: leaked"],
    ] {
        let shown = String::from_utf8_lossy(&lines.join(&b" | "[..])).into_owned();
        assert_eq!(ask("/", lines), 403, "{shown}");
    }
    let long = format!("/?debug={}", "a".repeat(5_000));
    for target in [
        "/?debug=1",
        "/?+debug=1",
        "/?debug[]=1",
        "/?debug=1&debug=1",
        "/?debug=%ff",
        "/?debug=",
        "/?debug",
        &long,
    ] {
        assert_eq!(ask(target, &[]), 403, "{target}");
    }
    assert_eq!(ask("/?q=debug", &[b"x-api-key: other", b"user-agent: curl", b"cookie: session=mine"]), 200);
}

/// One client has one bucket, however it spells its cookie or the parameters of its path.
#[test]
fn encodings_of_a_cookie_or_a_path_give_no_second_bucket() {
    let policy = r#"
rules:
  - {name: session, limit_keys: ["cookie:sid"], missing: skip, rate: 1/h, burst: 1}
  - {name: path, limit_keys: [path], match: {"header:x-by": path}, rate: 1/h, burst: 1}
"#;
    let (server, _scratch) = Server::with_policy(policy);
    let mut http = server.http();
    for other in [&b"cookie: sid=s%3Aabc"[..], b"cookie: sid=s%3Aabd", b"cookie: sid=F0; sid\xa0=real"] {
        assert_eq!(forwarded(&mut http, "GET", "/", &[other]), 200, "{}", other.escape_ascii());
    }
    for line in [
        &b"cookie: sid=s%3Aabc"[..],
        b"cookie: sid=s:abc",
        b"cookie: sid=\"s:abc\"",
        b"cookie: sid=\"s%3aabc\"",
        b"cookie: sid=\"s\\072abc\"",
        b"cookie: sid=%73%3A%61bc",
        // White space that only some servers strip: all such cookies share one bucket.
        b"cookie: sid=F1; sid\xa0=real",
        b"cookie: sid=F2; \xa0sid=real",
        b"cookie: sid=F3; sid\x85=real",
        b"cookie: sid=real\xc2\xa0",
        b"cookie: sid=F4; Sid=real",
    ] {
        assert_eq!(forwarded(&mut http, "GET", "/", &[line]), 429, "{}", line.escape_ascii());
    }
    assert_eq!(forwarded(&mut http, "GET", "/login", &[b"x-by: path"]), 200);
    for target in
        ["/login", "/login;%2f1", "/login;%2f2", "/login;a%5cb", "/login;%00", "/login%0a", "/login%A0"]
    {
        assert_eq!(forwarded(&mut http, "GET", target, &[b"x-by: path"]), 429, "{target}");
    }
}

/// M1 at `/v1/check`, where header fields given as lists are several values.
#[test]
fn block_rules_look_at_every_value_of_a_json_list() {
    let (server, _scratch) = Server::with_policy(BLOCKS);
    for values in [r#""leaked""#, r#"["leaked", "other"]"#, r#"["other", "leaked"]"#, r#"["leaked", ""]"#] {
        let body = format!(r#"{{"headers": {{"x-api-key": {values}}}}}"#);
        assert_eq!(server.post("/v1/check", &body).status, 403, "{values}");
    }
    assert_eq!(server.post("/v1/check", r#"{"headers": {"x-api-key": ["a", "b"]}}"#).status, 200);
}

/// M2, P08.
#[test]
fn encoded_slashes_and_the_like_lead_past_no_limit() {
    let (server, _scratch) =
        Server::with_policy("{name: login, scope: ip, path: /api/login, rate: 1/h, burst: 1}");
    let mut http = server.http();
    let mut ask = |target: &str| forwarded(&mut http, "GET", target, &[]);
    assert_eq!((ask("/api/login"), ask("/api/login"), ask("/other")), (200, 429, 200));
    for target in [
        "/api%2flogin",
        "/api%2Flogin",
        "/api%5clogin",
        "/api\\login",
        "/api/login%20",
        "/api/login%2f",
        "/api/login%00",
        "/api/login%00.png",
        "/x%2f..%2fapi/login",
        "/api/login;%2f1",
        "/api%2fy%5cz%2f..%2flogin",
        "/api\\x%2fy\\..\\login",
        "/api/login%0a",
        "/api/login%0d%0a",
        "/api/login%85",
        "/api/login%c2%a0",
        "//x/api/login",
        "/\\x/api/login",
    ] {
        assert_eq!(ask(target), 429, "{target}");
    }
}

/// L4, P09 and P10.
#[test]
fn lower_case_methods_and_head_lead_past_no_limit() {
    let (server, _scratch) = Server::with_policy(
        "[{name: writes, scope: ip, method: POST, rate: 1/h, burst: 1}, {name: search, scope: ip, method: GET, rate: 1/h, burst: 1}]",
    );
    let mut http = server.http();
    let mut ask = |method: &str| forwarded(&mut http, method, "/", &[]);
    assert_eq!((ask("POST"), ask("post"), ask("Post")), (200, 429, 429));
    assert_eq!((ask("GET"), ask("HEAD"), ask("head")), (200, 429, 429));
}

/// M2: `path_encoded: refuse` at every listener.
#[test]
fn encoded_paths_are_refused_where_the_policy_says_so() {
    let policy = "{path_encoded: refuse, rules: [{name: all, scope: ip, rate: 1/h, burst: 100}]}";
    let (server, _scratch) = Server::with_policy(policy);
    let checked = server.post("/v1/check", r#"{"path": "/a%2fb"}"#);
    assert_eq!((checked.status, checked.header("tollgate-reason")), (400, Some("path_encoded")));
    assert_eq!(checked.json()["reason"], "path_encoded");
    assert_eq!(server.post("/v1/check", r#"{"path": "/a/b"}"#).status, 200);
    let mut http = server.http();
    for target in ["/a%5cb", "/a%0a", "//x/a"] {
        assert_eq!(forwarded(&mut http, "GET", target, &[]), 400, "{target}");
    }
    assert_eq!(forwarded(&mut http, "GET", "/a/b?x=%2f", &[]), 200);
    let mut resp = RespClient::to(server.address("resp"));
    resp.ask(&["HELLO", "3"]).unwrap();
    let told = resp.ask(&["TOLLGATE.CHECK", "path", "/a%00"]).unwrap();
    assert_eq!((&told["status"], &told["reason"]), (&400.into(), &"path_encoded".into()));
}

/// J02: a claim that occurs twice in its token chooses no tier. The usual parser keeps the last one.
#[test]
fn a_repeated_claim_chooses_no_tier() {
    let policy = r#"
rules:
  - group: plans
    combine: first
    rules:
      - {name: pro, limit_keys: ["jwt:sub"], match: {"jwt:plan": pro}, rate: 1/h, burst: 100}
      - {name: free, scope: ip, rate: 1/h, burst: 2}
jwt: {keys: [{algorithm: HS256, secret_env: BYPASS_SECRET}]}
"#;
    let scratch = crate::scratch::Scratch::new();
    let path = scratch.write("policy.yaml", policy);
    let secret = "an ordinary secret of thirty-two bytes or more";
    let server = Server::with(&["--policy", &path], |command| command.env("BYPASS_SECRET", secret));
    let ask = |claims: &str| {
        let token = with_secret(secret.as_bytes(), &json!({"alg": "HS256"}), claims);
        let body = format!(r#"{{"ip": "192.0.2.7", "headers": {{"authorization": "Bearer {token}"}}}}"#);
        server.post("/v1/check", &body)
    };
    assert_eq!(ask(r#"{"sub": "a", "plan": "pro", "exp": 9999999999}"#).json()["limit"], 100);
    assert_eq!(ask(r#"{"sub": "a", "plan": "free", "plan": "pro", "exp": 9999999999}"#).json()["limit"], 2);
}

/// Two `Authorization` lines: the service may read either.
#[test]
fn a_second_token_evades_no_rule() {
    let policy = r#"
rules:
  - {name: fired, action: block, match: {"jwt:sub": mallory}}
  - {name: free, scope: user, match: {plan: free}, rate: 1/h, burst: 2}
jwt: {keys: [{algorithm: HS256, secret_env: BYPASS_SECRET}]}
"#;
    let scratch = crate::scratch::Scratch::new();
    let path = scratch.write("policy.yaml", policy);
    let secret = "an ordinary secret of thirty-two bytes or more";
    let server = Server::with(&["--policy", &path], |command| command.env("BYPASS_SECRET", secret));
    let mut http = server.http();
    let line = |claims: &str| {
        let token = with_secret(secret.as_bytes(), &json!({"alg": "HS256"}), claims);
        format!("authorization: Bearer {token}")
    };
    let mallory = line(r#"{"sub": "mallory", "exp": 9999999999}"#);
    let ann = line(r#"{"sub": "ann", "exp": 9999999999}"#);
    let mut ask = |lines: &[&[u8]]| forwarded(&mut http, "GET", "/", lines);
    assert_eq!((ask(&[mallory.as_bytes()]), ask(&[ann.as_bytes()])), (403, 200));
    for second in [ann.as_bytes(), b"authorization: Basic eDp5", b"authorization:", b"authorization: \xff"] {
        assert_eq!(ask(&[mallory.as_bytes(), second]), 403, "{}", second.escape_ascii());
        assert_eq!(ask(&[second, mallory.as_bytes()]), 403, "{}", second.escape_ascii());
    }
}
