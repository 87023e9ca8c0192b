//! Every reply of the http listener carries `Tollgate-Status`, also those that no request was read for.

use http::Request;

use crate::http_client::{Answer, Connection};
use crate::http2::{connect, run};
use crate::server::Server;

/// Checks the status of a reply, and that its field names the status that was decided.
#[track_caller]
fn assert_status(answer: &Answer, status: u16, decided: u16) {
    let field = answer.header("tollgate-status").map(str::to_owned);
    assert_eq!((answer.status, field), (status, Some(decided.to_string())), "{answer:?}");
}

/// The reply to these bytes on a connection of their own.
fn reply_to(server: &Server, bytes: impl AsRef<[u8]>) -> Answer {
    let mut http: Connection = server.http();
    http.send(bytes);
    http.answer()
}

#[test]
fn replies_to_requests_carry_the_status_field() {
    let (server, _scratch) = Server::with_policy("{name: client, scope: ip, rate: 1/h, burst: 1}\n");
    let mut http = server.http();
    // The fast path first; everything else goes to hyper.
    let client = r#"{"ip": "192.0.2.1"}"#;
    assert_status(&http.post("/v1/check", client), 200, 200);
    assert_status(&http.post("/v1/check", client), 429, 429);
    assert_status(&http.post("/v1/check?status=200", client), 200, 429);
    assert_status(&http.post("/v1/check", "{"), 400, 400);
    assert_status(&http.post("/v1/check?status=200&a", client), 200, 429);
    for (path, status) in
        [("/livez", 200), ("/readyz", 200), ("/openapi.json", 200), ("/", 404), ("/v1/check", 405)]
    {
        assert_status(&http.get(path), status, status);
    }
    assert_status(&http.request("DELETE", "/livez", &[]), 405, 405);
    let described =
        [("x-forwarded-method", "GET"), ("x-forwarded-uri", "/"), ("x-forwarded-for", "192.0.2.2")];
    for (proxy, refusal) in [("caddy", 429), ("traefik", 429), ("haproxy", 429), ("nginx", 403)] {
        let path = format!("/v1/forward-auth/{proxy}");
        let decided = if proxy == "caddy" { (200, 200) } else { (refusal, 429) };
        assert_status(&http.request("GET", &path, &described), decided.0, decided.1);
        assert_status(&http.request("GET", &path, &described), refusal, 429);
        let status = if proxy == "nginx" { 403 } else { 400 };
        assert_status(&http.request("GET", &path, &[]), status, 400);
    }
    assert_status(&http.get("/v1/forward-auth/apache"), 404, 404);
    let long = "POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 65537\r\n\r\n";
    assert_status(&reply_to(&server, long), 413, 413);
}

#[test]
fn refusals_of_the_connection_carry_the_status_field() {
    let server = Server::new(&[]);
    let head = "GET /v1/forward-auth/haproxy HTTP/1.1\r\nhost: a\r\n";
    for byte in [0x00_u8, 0x01, 0x0b, 0x1f, 0x7f] {
        assert_status(
            &reply_to(&server, [head.as_bytes(), b"x: a", &[byte], b"b\r\n\r\n"].concat()),
            400,
            400,
        );
    }
    for line in ["GET /a\x7fb HTTP/1.1", "GET / HTTP/3.0", "G@T / HTTP/1.1", "nonsense"] {
        assert_status(&reply_to(&server, format!("{line}\r\nhost: a\r\n\r\n")), 400, 400);
    }
    for fields in ["", "host: a\r\nhost: a\r\n", "host: a b\r\n"] {
        assert_status(&reply_to(&server, format!("GET / HTTP/1.1\r\n{fields}\r\n")), 400, 400);
    }
    let both = "content-length: 1\r\ntransfer-encoding: xchunked\r\n";
    assert_status(&reply_to(&server, format!("{head}{both}\r\n")), 400, 400);
    assert_status(&reply_to(&server, format!("{head}{}\r\n", "x: 1\r\n".repeat(101))), 431, 431);
    assert_status(&reply_to(&server, format!("{head}x: {}\r\n\r\n", "a".repeat(70_000))), 431, 431);
    // Behind a request that was answered, on the same connection.
    let mut http = server.http();
    assert_status(&http.get("/livez"), 200, 200);
    http.send("GET / HTTP/1.1\r\nx: \x01\r\n\r\n");
    assert_status(&http.answer(), 400, 400);
}

#[test]
fn refusals_of_slow_requests_carry_the_status_field() {
    let server = Server::new(&["--idle-timeout", "1500ms"]);
    for begun in [
        "P",
        "GET /livez HTTP/1.1\r\nhost: ",
        "POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n{",
        "PRI * HTTP/2.0\r\n\r\nSM",
    ] {
        assert_status(&reply_to(&server, begun), 408, 408);
    }
}

#[test]
fn a_connection_above_the_limit_gets_the_status_field() {
    let server = Server::new(&["--max-connections", "1"]);
    let mut held = server.http();
    assert_status(&held.get("/livez"), 200, 200);
    assert_status(&server.http().answer(), 503, 503);
}

#[test]
fn http_2_replies_carry_the_status_field() {
    let server = Server::new(&[]);
    run(async {
        let (client, _) = connect(server.address("http")).await;
        let many = (0..101).map(|number| (format!("x{number}"), "1".to_owned())).collect();
        let long = vec![("x".to_owned(), "a".repeat(100_000))];
        let wide = (0..90).map(|number| (format!("x{number}"), "a".repeat(1_000))).collect();
        let none = Vec::new();
        for (path, fields, status) in [
            ("/livez", &none, 200),
            ("/nowhere", &none, 404),
            ("/v1/check", &none, 405),
            ("/livez", &many, 431),
            ("/livez", &long, 431),
            ("/livez", &long, 431),
            ("/livez", &wide, 431),
            ("/livez", &none, 200),
        ] {
            let mut request = Request::get(format!("http://test{path}"));
            for (name, value) in fields {
                request = request.header(name, value);
            }
            let mut ready = client.clone().ready().await.unwrap();
            let (response, _) = ready.send_request(request.body(()).unwrap(), true).unwrap();
            let response = response.await.unwrap();
            let told =
                response.headers().get("tollgate-status").map(|value| value.to_str().unwrap().to_owned());
            assert_eq!((response.status().as_u16(), told), (status, Some(status.to_string())), "{path}");
        }
        // A head that is too long, before a body that has not come yet.
        let request =
            Request::post("http://test/v1/check").header("x", "a".repeat(100_000)).body(()).unwrap();
        let mut ready = client.clone().ready().await.unwrap();
        let (response, _body) = ready.send_request(request, false).unwrap();
        let response = response.await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.headers()["tollgate-status"].as_bytes()),
            (431, &b"431"[..])
        );
    });
}
