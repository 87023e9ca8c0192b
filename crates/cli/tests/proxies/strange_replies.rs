//! The HAProxy recipe lets a request through without a verdict only on a 503 or 504 that HAProxy itself makes for Tollgate.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use crate::process::eventually;
use crate::recipe::{Contrary, HAPROXY, docs};
use crate::stack::{Folder, Stack};

/// Most requests until HAProxy has no connection left.
const TRIES_MAX: usize = 10;

/// A server in Tollgate's place that replies with this status, without the field `Tollgate-Status`. Health checks get 200.
fn replace_tollgate(port: u16) -> Arc<AtomicU16> {
    let status = Arc::new(AtomicU16::new(200));
    let replied = Arc::clone(&status);
    serve(port, move |stream| reply(stream, replied.load(Ordering::SeqCst), ""));
    status
}

/// A server in Tollgate's place that denies every check after this time.
fn deny_late(port: u16, delay: Duration) {
    serve(port, move |stream| {
        std::thread::park_timeout(delay);
        reply(stream, 429, "Tollgate-Status: 429\r\n")
    });
}

/// Replies to each connection on a thread of its own.
fn serve(port: u16, reply: impl Fn(TcpStream) -> Option<()> + Clone + Send + 'static) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let reply = reply.clone();
            std::thread::spawn(move || reply(stream));
        }
    });
}

fn reply(stream: TcpStream, status: u16, fields: &str) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let status = if head.starts_with("GET /livez ") { 200 } else { status };
    let reply =
        format!("HTTP/1.1 {status} Strange\r\n{fields}Content-Length: 0\r\nConnection: close\r\n\r\n");
    stream.get_mut().write_all(reply.as_bytes()).ok()
}

#[test]
fn haproxy_refuses_after_replies_that_are_not_tollgates() {
    if !HAPROXY.is_wanted() {
        return;
    }
    let stack = Stack::without_tollgate(&HAPROXY, None);
    let status = replace_tollgate(stack.tollgate_port);
    assert!(eventually(|| stack.get(2, "/").status == 503), "the health check has noticed the server");
    for strange in [200, 204, 400, 403, 408, 429, 431, 500, 502, 503, 504] {
        status.store(strange, Ordering::SeqCst);
        let asked = stack.application.asked();
        let answer = stack.get(2, "/");
        let passed = stack.application.asked() - asked;
        let found = (answer.status, answer.field("retry-after"), passed);
        assert_eq!(found, (503, Some("1"), 0), "{strange}: {answer:#?}");
    }
}

#[test]
fn haproxy_refuses_heads_that_its_lua_client_cannot_carry() {
    if !HAPROXY.is_wanted() {
        return;
    }
    let mut stack = Stack::start(&HAPROXY);
    let asked = stack.application.asked();
    for fields in [81, 91, 94, 96, 97] {
        let names = (0..fields).map(|number| format!("X{number}"));
        let ask = names.fold(stack.ask(2, "GET", "/"), |ask, name| ask.field(&name, "1"));
        assert_eq!(ask.send().status, 431, "{fields} fields");
    }
    for bytes in [12_300, 14_800, 15_100] {
        assert_eq!(
            stack.ask(2, "GET", "/").field("Cookie", &"a".repeat(bytes)).send().status,
            431,
            "{bytes} bytes"
        );
    }
    assert_eq!(stack.application.asked(), asked, "the application was asked");
    assert!(stack.proxy.is_running());
    let ask = stack.ask(2, "GET", "/").field("Cookie", &"a".repeat(8_000));
    assert_eq!(ask.send().status, 200, "a long cookie is no reason");
}

#[test]
fn haproxy_refuses_while_its_own_connections_run_out() {
    if !HAPROXY.is_wanted() {
        return;
    }
    let few = Contrary { replace: "global\n", by: "global\n    maxconn 20\n", away: 200 };
    let policy = docs().join("policy.yaml");
    let stack = Stack::new(&HAPROXY, Folder::new("haproxy"), &policy, Some(&few), true);
    assert_eq!([(); 4].map(|()| stack.get(1, "/").status), [200, 200, 200, 429]);
    let asked = stack.application.asked();
    // More than HAProxy accepts: its own checks find no connection.
    let mut streams: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, stack.port)).unwrap()).collect();
    let mut lines = streams.iter_mut().take(TRIES_MAX).map(|stream| {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    });
    // Until HAProxy has accepted as many as it may, checks find a connection.
    let refused = lines.find(|line| !line.starts_with("HTTP/1.1 429 "));
    assert!(refused.as_deref().is_some_and(|line| line.starts_with("HTTP/1.1 503 ")), "{refused:?}");
    assert_eq!(stack.application.asked(), asked, "the application was asked");
}

#[test]
fn haproxy_refuses_requests_whose_lua_action_was_stopped() {
    if !HAPROXY.is_wanted() {
        return;
    }
    // With this option, HAProxy stops the action if the client sends no more. It is on by default from HAProxy 3.3.
    let abort =
        Contrary { replace: "    mode http\n", by: "    mode http\n    option abortonclose\n", away: 200 };
    let stack = Stack::without_tollgate(&HAPROXY, Some(&abort));
    deny_late(stack.tollgate_port, Duration::from_millis(50));
    assert!(eventually(|| stack.get(2, "/").status == 429), "the health check has noticed the server");
    let asked = stack.application.asked();
    for _ in 0..60 {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, stack.port)).unwrap();
        stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        _ = BufReader::new(stream).read_line(&mut String::new());
    }
    assert_eq!(stack.application.asked(), asked, "the application was asked");
}

#[test]
fn haproxy_refuses_requests_without_a_verdict() {
    if !HAPROXY.is_wanted() {
        return;
    }
    let none = Contrary {
        replace: "    http-request lua.tollgate\n",
        by: "    http-request lua.tollgate if { always_false }\n",
        away: 503,
    };
    let stack = Stack::without_tollgate(&HAPROXY, Some(&none));
    let answer = stack.get(2, "/");
    assert_eq!((answer.status, answer.field("retry-after")), (503, Some("1")));
    assert_eq!(stack.application.asked(), 0);
}
