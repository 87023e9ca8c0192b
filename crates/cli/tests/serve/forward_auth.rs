//! Forward-auth, as proxies ask.

use crate::server::Server;

const PER_IP: &str = "{name: api, scope: ip, path: /api, rate: 1/h, burst: 2}";

#[test]
fn the_original_request_is_what_the_proxy_says() {
    let (server, _scratch) = Server::with_policy(PER_IP);
    let mut http = server.http();
    let mut ask = |proxy: &str, fields: &[(&str, &str)]| {
        http.request("GET", &format!("/v1/forward-auth/{proxy}"), fields)
    };
    for (last, proxy) in ["traefik", "caddy", "haproxy"].into_iter().enumerate() {
        let client = format!("192.0.2.{last}");
        let fields = [
            ("x-forwarded-method", "POST"),
            ("x-forwarded-uri", "/api/?q=1"),
            ("x-forwarded-for", client.as_str()),
        ];
        let admitted = ask(proxy, &fields);
        assert_eq!((admitted.status, admitted.body.as_str()), (200, ""));
        assert_eq!(admitted.header("ratelimit-policy"), Some("\"api\";q=2;w=7200"));
        assert_eq!(ask(proxy, &fields).status, 200);
        let denied = ask(proxy, &fields);
        assert_eq!((denied.status, denied.header("tollgate-reason")), (429, Some("token_bucket_exceeded")));
        assert!(denied.header("retry-after").is_some() && denied.json()["violated"][0]["rule"] == "api");
        let other = [fields[0], ("x-forwarded-uri", "/other"), fields[2]];
        assert_eq!(ask(proxy, &other).status, 200, "another path");
    }
}

#[test]
fn nginx_takes_no_429_and_is_told_403_with_the_true_status_beside_it() {
    let (server, _scratch) = Server::with_policy(PER_IP);
    let mut http = server.http();
    let fields =
        [("x-forwarded-uri", "/api"), ("x-forwarded-method", "GET"), ("x-forwarded-for", "203.0.113.1")];
    let mut ask = || http.request("GET", "/v1/forward-auth/nginx", &fields);
    assert_eq!((ask().status, ask().status), (200, 200));
    let denied = ask();
    assert_eq!((denied.status, denied.header("tollgate-status")), (403, Some("429")));
    assert!(denied.header("retry-after").is_some());
    assert_eq!(denied.header("tollgate-body"), Some(denied.body.as_str()));
}

#[test]
fn what_the_client_itself_wrote_into_the_field_counts_for_nothing() {
    let (server, _scratch) = Server::with_policy(PER_IP);
    let mut http = server.http();
    let mut ask = |forwarded: &str| {
        http.request("GET", "/v1/forward-auth/traefik/api", &[("x-forwarded-for", forwarded)]).status
    };
    assert_eq!(
        [ask("1.1.1.1, 203.0.113.7"), ask("2.2.2.2, 203.0.113.7"), ask("3.3.3.3, 203.0.113.7")],
        [200, 200, 429]
    );
    assert_eq!(ask("203.0.113.8"), 200, "the path is the one after the proxy's name");
}

#[test]
fn any_method_and_any_path_behind_the_name_are_taken() {
    let (server, _scratch) = Server::with_policy(PER_IP);
    let mut http = server.http();
    for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE"] {
        let fields = [("x-forwarded-for", "192.0.2.1"), ("content-length", "0")];
        assert_eq!(
            http.request(method, "/v1/forward-auth/caddy/free/of/limits?x=%zz", &fields).status,
            200,
            "{method}"
        );
    }
}

#[test]
fn behind_trusted_proxies_the_policy_says_who_the_client_is() {
    let policy = "client_address: {trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]}\nrules: [{name: api, scope: ip, rate: 1/h, burst: 1}]";
    let (server, _scratch) = Server::with_policy(policy);
    let mut http = server.http();
    let mut ask = |forwarded: &str| {
        let fields =
            [("x-forwarded-uri", "/"), ("x-forwarded-method", "GET"), ("x-forwarded-for", forwarded)];
        http.request("GET", "/v1/forward-auth/traefik", &fields).status
    };
    assert_eq!(
        [
            ask("198.51.100.1, 10.0.0.5"),
            ask("9.9.9.9, 198.51.100.1, 10.0.0.6"),
            ask("198.51.100.2, 10.0.0.5")
        ],
        [200, 429, 200]
    );
}

#[test]
fn what_a_proxy_does_not_say_is_not_guessed() {
    let (server, _scratch) = Server::with_policy(PER_IP);
    let mut http = server.http();
    let (method, target) = (("x-forwarded-method", "GET"), ("x-forwarded-uri", "/api"));
    for (fields, at_fault) in [
        (vec![target], "X-Forwarded-Method"),
        (vec![method], "X-Forwarded-Uri"),
        (vec![method, ("x-original-uri", "/api")], "X-Forwarded-Uri"),
        (vec![method, target, ("x-forwarded-uri", "/free")], "X-Forwarded-Uri"),
        (vec![("x-forwarded-method", "G ET"), target], "X-Forwarded-Method"),
        (vec![("x-forwarded-method", ""), target], "X-Forwarded-Method"),
        (vec![method, ("x-forwarded-uri", "noslash")], "X-Forwarded-Uri"),
    ] {
        let refusal = http.request("GET", "/v1/forward-auth/caddy", &fields);
        assert_eq!(refusal.fault(), (400, at_fault.to_owned()));
    }
}

#[test]
fn path_suffix_ignores_forwarding_fields() {
    let policy = "rules:\n  - {name: closed, host: admin.example, action: block}\n  - {name: api, scope: ip, path: /api, rate: 1/h, burst: 1}\n";
    let (server, _scratch) = Server::with_policy(policy);
    let mut http = server.http();
    let forged =
        "x-forwarded-host: free.example\r\nx-forwarded-uri: /free\r\nx-forwarded-method: OPTIONS\r\n";
    let mut ask = |method: &str, host: &str, fields: &str| {
        let line = format!("{method} /v1/forward-auth/haproxy/api HTTP/1.1\r\nhost: {host}\r\n");
        http.send(format!("{line}{fields}content-length: 0\r\n\r\n"));
        http.answer().status
    };
    assert_eq!(ask("GET", "admin.example", ""), 403);
    assert_eq!(ask("GET", "admin.example", forged), 403);
    assert_eq!(ask("GET", "shop.example", forged), 200);
    assert_eq!(ask("POST", "shop.example", forged), 429, "the path is that of the request line");
}
