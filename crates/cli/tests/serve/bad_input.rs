//! What makes no sense is refused with the field and the cure, and the connection goes on.

use crate::server::Server;

#[test]
fn a_bad_field_is_named() {
    let server = Server::new(&[]);
    let mut http = server.http();
    for (body, field) in [
        (r#"{"rate": 1, "burst": 1}"#, "key"),
        (r#"{"key": "a", "burst": 1}"#, "rate"),
        (r#"{"key": "a", "rate": 1}"#, "burst"),
        (r#"{"key": "a", "rate": 0, "burst": 1}"#, "rate"),
        (r#"{"key": "a", "rate": -1, "burst": 1}"#, "rate"),
        (r#"{"key": "a", "rate": 1e10, "burst": 1}"#, "rate"),
        (r#"{"key": "a", "rate": "1", "burst": 1}"#, "rate"),
        (r#"{"key": "a", "rate": 1, "burst": 0.0000001}"#, "burst"),
        (r#"{"key": "a", "rate": 1, "burst": 1e13}"#, "burst"),
        (r#"{"key": "a", "rate": 1, "burst": 1, "cost": 0}"#, "cost"),
        (r#"{"key": "a", "rate": 1, "burst": 1, "cost": -1}"#, "cost"),
        (r#"{"key": "a", "rate": 1, "burst": 1, "cost": true}"#, "cost"),
        (r#"{"key": "", "rate": 1, "burst": 1}"#, "key"),
        (r#"{"key": 5, "rate": 1, "burst": 1}"#, "key"),
        (r#"{"key": "a", "rate": 1, "burst": 1, "user": "ann"}"#, "user"),
        (r#"{"key": "a", "rate": 1, "burst": 1, "brust": 1}"#, "brust"),
        (r#"{"key": "a", "key": "b", "rate": 1, "burst": 1}"#, "key"),
        (r#"{"key": "a", "rate": 1, "burst": 1, "idempotency_key": ""}"#, "idempotency_key"),
        (r#"{"buckets": []}"#, "buckets"),
        (
            r#"{"buckets": [{"key": "a", "rate": 1, "burst": 1}, {"key": "b", "rate": 0, "burst": 1}]}"#,
            "buckets[1].rate",
        ),
        (r#"{"buckets": [{"key": "a", "rate": [], "burst": 1}]}"#, "buckets[0].rate"),
        (r#"{"buckets": [{"key": "a", "rate": 1, "burst": 1}], "cost": 2}"#, "cost"),
        (r#"{"buckets": 5}"#, "buckets"),
        (r#"{"ip": "localhost"}"#, "ip"),
        (r#"{"ip": 127}"#, "ip"),
        (r#"{"method": "GE T"}"#, "method"),
        (r#"{"path": "search"}"#, "path"),
        (r#"{"headers": ["x"]}"#, "headers"),
        (r#"{"headers": {"a": 1}}"#, "headers"),
        (r#"{"peek": "yes"}"#, "peek"),
    ] {
        let answer = http.post("/v1/check", body);
        assert_eq!(answer.fault(), (400, field.to_owned()), "{body}: {answer:?}");
    }
    let long = format!(r#"{{"key": "{}", "rate": 1, "burst": 1}}"#, "k".repeat(513));
    assert_eq!(http.post("/v1/check", &long).fault(), (400, "key".to_owned()));
    assert_eq!(
        http.post("/v1/check", r#"{"key": "a", "rate": 1, "burst": 1}"#).status,
        200,
        "and it goes on"
    );
}

#[test]
fn the_cure_is_one_that_the_caller_has() {
    let server = Server::new(&[]);
    for (body, detail) in [
        (
            r#"{"key": "", "rate": 1, "burst": 1}"#,
            "`key` is empty; give the client's identity, as in \"user:42\"",
        ),
        (
            r#"{"key": "a", "rate": 1, "burst": 1, "idempotency_key": ""}"#,
            "`idempotency_key` is empty; give one for each thing that is to be charged once, or leave it out",
        ),
        (r#"{"key": "a", "rate": 1, "burst": 1, "rate": 2}"#, "duplicate field `rate`; give it once"),
    ] {
        assert_eq!(server.post("/v1/check", body).json()["detail"], detail, "{body}");
    }
}

#[test]
fn what_is_no_json_object_is_400() {
    let server = Server::new(&[]);
    let mut http = server.http();
    for body in [
        "",
        "{",
        "nonsense",
        "[]",
        "5",
        "null",
        "\"x\"",
        "{\"key\": \"\\ud800\"}",
        &"[".repeat(10_000),
        "{\"cost\": 1e999}",
        r#"{"buckets": [["a", 1, 5, 1]]}"#,
    ] {
        let answer = http.post("/v1/check", body);
        assert_eq!(answer.fault().0, 400, "{body}: {answer:?}");
    }
    http.send(b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n\xff\xfe");
    assert_eq!(http.answer().status, 400);
}

#[test]
fn paths_and_methods_that_are_not_there_are_404_and_405() {
    let server = Server::new(&[]);
    let mut http = server.http();
    for path in
        ["/", "/v1", "/v1/checks", "/v1/check/", "/v1/forward-auth/apache", "/v1/forward-auth/", "/admin"]
    {
        assert_eq!(http.get(path).fault().0, 404, "{path}");
    }
    let answer = http.get("/v1/check");
    assert_eq!((answer.fault().0, answer.header("allow")), (405, Some("POST")));
    let answer = http.request("DELETE", "/readyz", &[]);
    assert_eq!((answer.fault().0, answer.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(server.admin("/v1/check").fault().0, 404, "the admin door decides nothing");
}

#[test]
fn what_is_too_large_is_413_and_ends_the_connection() {
    let server = Server::new(&[]);
    for head in ["content-length: 65537", "content-length: 1073741824"] {
        let mut http = server.http();
        http.send(format!("POST /v1/check HTTP/1.1\r\nhost: a\r\n{head}\r\n\r\n"));
        assert_eq!(http.answer().fault().0, 413, "{head}");
    }
    let mut http = server.http();
    http.send("POST /v1/check HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n");
    http.send(format!("10001\r\n{}\r\n", "a".repeat(0x10001)));
    assert_eq!(http.answer().fault().0, 413);
    let fits = format!(r#"{{"key": "a", "rate": 1, "burst": 1{}}}"#, " ".repeat(65_000));
    assert_eq!(server.post("/v1/check", &fits).status, 200);
}

#[test]
fn requests_that_are_no_http_are_refused_and_the_server_goes_on() {
    let server = Server::new(&[]);
    for bytes in [
        &b"GET\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nno preface",
    ] {
        // Once with more to come, once without.
        for is_over in [false, true] {
            let mut http = server.http();
            http.send(bytes);
            if is_over {
                http.stream.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
            }
            let answer = http.answer();
            assert_eq!(answer.status, 400, "{:?}", String::from_utf8_lossy(bytes));
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.starts_with("the head is no request of HTTP/1.1; look at"), "{detail}");
            assert!(http.is_closed());
        }
    }
    let mut nothing = server.http();
    nothing.send("\r\n\r\n");
    nothing.stream.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    assert!(nothing.maybe_answer().is_none(), "nothing was asked");
    assert_eq!(server.http().get("/livez").status, 200);
}

#[test]
fn a_request_of_http_1_1_names_one_host() {
    let server = Server::new(&[]);
    let mut http = server.http();
    for hosts in ["", "host: a\r\nhost: a\r\n", "host: a b\r\n", "host: a/../b\r\n"] {
        http.send(format!("GET /livez HTTP/1.1\r\n{hosts}\r\n"));
        assert_eq!(http.answer().fault(), (400, "Host".to_owned()), "{hosts}");
    }
    http.send("GET /livez HTTP/1.1\r\nhost:\r\n\r\n");
    assert_eq!(http.answer().status, 200, "an empty one is one");
    http.send("GET /livez HTTP/1.0\r\n\r\n");
    assert_eq!(http.answer().status, 200, "HTTP/1.0 knows none");
}

#[test]
fn a_head_that_is_too_large_is_431_though_not_all_of_it_was_read() {
    let server = Server::new(&[]);
    for _ in 0..20 {
        let mut http = server.http();
        http.send(format!("GET /livez HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "a".repeat(300_000)));
        let answer = http.answer();
        assert_eq!(answer.status, 431);
        assert!(answer.json()["detail"].as_str().unwrap().contains("send fewer or shorter ones"));
        let mut http = server.http();
        http.send(format!("GET /livez HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(200)));
        assert_eq!(http.answer().status, 431);
    }
    assert_eq!(server.http().get("/livez").status, 200);
}

#[test]
fn whoever_sends_a_body_that_is_refused_hears_so_though_not_all_of_it_was_read() {
    let server = Server::new(&[]);
    for _ in 0..20 {
        let mut http = server.http();
        http.send("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 500000\r\n\r\n");
        http.send("a".repeat(500_000));
        assert_eq!(http.answer().fault().0, 413);
        let mut http = server.http();
        http.send("POST /nowhere HTTP/1.1\r\nhost: a\r\ncontent-length: 500000\r\n\r\n");
        http.send("a".repeat(500_000));
        assert_eq!(http.answer().fault().0, 404);
    }
}

#[test]
fn generated_bodies_never_take_the_server_down() {
    let server = Server::new(&[]);
    let mut random = fastrand::Rng::with_seed(20_261_115);
    let words = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"key\"",
        "\"rate\"",
        "\"burst\"",
        "\"cost\"",
        "\"buckets\"",
        "\"ip\"",
        "\"headers\"",
        "\"checks\"",
        "\"a\"",
        "1",
        "0",
        "-1",
        "1e309",
        "0.5",
        "true",
        "null",
        "\"\\u0000\"",
        " ",
        "\"",
    ];
    let mut http = server.http();
    for _ in 0..2_000 {
        let body: String = (0..random.usize(0..12)).map(|_| words[random.usize(0..words.len())]).collect();
        let path = ["/v1/check", "/v1/check/batch", "/v1/peek", "/v1/reserve", "/v1/refund", "/v1/commit"];
        let answer = http.post(path[random.usize(0..path.len())], &body);
        assert!([200, 400, 404, 429].contains(&answer.status), "{body}: {answer:?}");
        answer.json();
    }
}
