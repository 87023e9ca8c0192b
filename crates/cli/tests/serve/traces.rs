//! Traces, as a collector of OpenTelemetry gets them (O1).

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

use crate::collector::{Collector, attributes, told};
use crate::http_client::Answer;
use crate::scratch::Scratch;
use crate::server::{PATIENCE, Server};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";
const EXPLICIT: &str = r#"{"key": "secret-key", "rate": 1, "burst": 1}"#;

/// A check with a `traceparent` of these flags.
fn check(server: &Server, flags: &str) -> Answer {
    let mut http = server.http();
    http.send(format!(
        "POST /v1/check HTTP/1.1\r\nhost: a\r\ntraceparent: 00-{TRACE}-{SPAN}-{flags}\r\ncontent-length: {}\r\n\r\n{EXPLICIT}",
        EXPLICIT.len()
    ));
    http.answer()
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A figure of the metrics page.
fn figure(server: &Server, name: &str) -> u64 {
    let page = server.admin("/metrics").body;
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name} in {page}")).trim().parse().unwrap()
}

/// Waits until a figure is what it should be.
#[track_caller]
fn wait_for_figure(server: &Server, name: &str, figure_then: u64) {
    let is_reached = (0..100_000).any(|_| figure(server, name) == figure_then);
    assert!(is_reached, "{name} {}", server.admin("/metrics").body);
}

#[test]
fn a_check_is_a_span_of_its_callers_trace_with_route_status_verdict_and_rule() {
    let collector = Collector::new();
    let server = Server::with(&[], |command| {
        let command = collector.set(command).env("OTEL_SERVICE_NAME", "gate");
        command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20abc")
    });
    assert_eq!(check(&server, "01").status, 200);
    let export = collector.export();
    assert_eq!(export.path, "/v1/traces");
    assert_eq!(export.headers["content-type"], "application/x-protobuf");
    assert_eq!(export.headers["authorization"], "Basic abc");
    let message = export.message();
    let resource = attributes(&message.resource_spans[0].resource.as_ref().unwrap().attributes);
    assert_eq!(resource["service.name"], "gate");
    let spans = export.spans();
    let [span] = &spans[..] else { panic!("{spans:#?}") };
    assert_eq!((span.name.as_str(), span.kind), ("/v1/check", SpanKind::Server as i32));
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.to_owned(), SPAN.to_owned()));
    assert!(span.start_time_unix_nano > 0 && span.end_time_unix_nano >= span.start_time_unix_nano);
    assert_eq!(
        told(span),
        "http.request.method=POST http.response.status_code=200 http.route=/v1/check \
         tollgate.rule=(explicit) tollgate.verdict=admit"
    );
    wait_for_figure(&server, "tollgate_spans_exported_total", 1);
}

#[test]
fn every_question_says_how_it_was_decided_and_nothing_of_who_asked_or_what_for() {
    let scratch = Scratch::new();
    let policy = "rules: [{name: user, scope: user, path: /secret-path, rate: 1/h, burst: 1}, {name: bad, match: {\"ip:address\": 192.0.2.9}, action: block}, {name: via, scope: ip, path: /secret/*, rate: 1/h, burst: 1}]";
    let policy = scratch.write("policy.yaml", policy);
    let collector = Collector::new();
    let server = Server::with(&["--policy", &policy], |command| collector.set(command));
    let facts = r#"{"user": "secret-user", "path": "/secret-path", "ip": "192.0.2.77"}"#;
    let batch = format!(r#"{{"checks": [{facts}, {EXPLICIT}, {EXPLICIT}, {{"key": "a"}}]}}"#);
    let proxied =
        [("x-forwarded-method", "GET"), ("x-forwarded-uri", "/secret/x"), ("x-forwarded-for", "192.0.2.77")];
    server.post("/v1/check", facts);
    server.post("/v1/check", facts);
    server.post("/v1/check", r#"{"ip": "192.0.2.9"}"#);
    server.post("/v1/check", r#"{"path": "/other"}"#);
    server.post("/v1/check/batch", &batch);
    server.post("/v1/reserve", facts);
    server.post("/v1/peek", facts);
    server.post("/v1/check", "no json, secret");
    for target in ["/v1/forward-auth/nginx/secret/x?q=secret", "/v1/forward-auth/nginx?q=secret"] {
        server.http().request("GET", target, if target.contains("/x?") { &proxied[2..] } else { &proxied });
    }
    server.http().get("/secret");
    server.http().request("SECRET", "/secret", &[]);
    for untraced in ["/livez", "/readyz", "/openapi.json"] {
        server.http().get(untraced);
    }
    assert_eq!(server.post("/v1/commit", "{}").status, 400);
    let (spans, bytes) = collector.spans(13);
    let said: Vec<String> = spans.iter().map(|span| format!("{}: {}", span.name, told(span))).collect();
    let post = |route: &str, rest: &str| {
        let (status, more) = rest.split_once(' ').unwrap_or((rest, ""));
        let line = format!(
            "{route}: http.request.method=POST http.response.status_code={status} http.route={route} {more}"
        );
        line.trim_end().to_owned()
    };
    let nginx = |status: u16, more: &str| {
        let route = "/v1/forward-auth/nginx";
        let line = format!(
            "{route}: http.request.method=GET http.response.status_code={status} http.route={route} {more}"
        );
        line.trim_end().to_owned()
    };
    let expected = [
        post("/v1/check", "200 tollgate.rule=user tollgate.verdict=admit"),
        post("/v1/check", "429 tollgate.rule=user tollgate.verdict=deny"),
        post("/v1/check", "403 tollgate.rule=bad tollgate.verdict=refuse"),
        post("/v1/check", "200 tollgate.rule=(none) tollgate.verdict=admit"),
        "/v1/check/batch: http.request.method=POST http.response.status_code=200 http.route=/v1/check/batch \
         tollgate.checks.admitted=1 tollgate.checks.denied=2"
            .to_owned(),
        post("/v1/reserve", "429 tollgate.rule=user tollgate.verdict=deny"),
        post("/v1/peek", "429"),
        post("/v1/check", "400"),
        nginx(200, "tollgate.rule=via tollgate.verdict=admit"),
        nginx(403, "tollgate.rule=via tollgate.verdict=deny"),
        "GET: http.request.method=GET http.response.status_code=404".to_owned(),
        "HTTP: http.request.method=_OTHER http.response.status_code=404".to_owned(),
        post("/v1/commit", "400"),
    ];
    assert_eq!(said, expected);
    let bytes = String::from_utf8_lossy(&bytes).to_lowercase();
    for secret in ["secret", "192.0.2", "127.0.0.1"] {
        assert!(!bytes.contains(secret), "{bytes}");
    }
    let has_parent = spans.iter().any(|span| !span.parent_span_id.is_empty());
    let is_error = |code| code == StatusCode::Error as i32;
    assert!(!has_parent && spans.iter().all(|span| !is_error(span.status.as_ref().unwrap().code)));
}

#[test]
fn what_the_caller_does_not_sample_is_not_traced_nor_what_the_sampler_leaves_out() {
    let collector = Collector::new();
    let server = Server::with(&[], |command| collector.set(command));
    check(&server, "00");
    check(&server, "01");
    assert_eq!(hex(&collector.spans(1).0[0].trace_id), TRACE);
    server.signal("TERM");
    assert_eq!(server.ended().0.code(), Some(0));
    assert_eq!(collector.spans_so_far(), []);

    let none = Server::with(&[], |command| {
        let command = collector.set(command).env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
        command.env("OTEL_TRACES_SAMPLER_ARG", "0")
    });
    none.post("/v1/check", EXPLICIT);
    check(&none, "01");
    assert_eq!(hex(&collector.spans(1).0[0].parent_span_id), SPAN);

    let roots = Server::with(&[], |command| collector.set(command).env("OTEL_PROPAGATORS", "none"));
    check(&roots, "00");
    assert_ne!(hex(&collector.spans(1).0[0].trace_id), TRACE);
}

#[test]
fn pipelines_of_the_redis_protocol_have_no_spans() {
    let collector = Collector::new();
    let server = Server::with(&[], |command| collector.set(command));
    let mut resp = TcpStream::connect(server.address("resp")).unwrap();
    resp.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut pipeline = "CL.THROTTLE a 9 1 60 1\r\n".repeat(64);
    pipeline.push_str("QUIT\r\n");
    resp.write_all(pipeline.as_bytes()).unwrap();
    resp.read_to_end(&mut Vec::new()).unwrap();
    server.post("/v1/check", EXPLICIT);
    server.signal("TERM");
    assert_eq!(server.ended().0.code(), Some(0));
    assert_eq!(collector.spans_so_far().len(), 1);
}

#[test]
fn told_to_end_it_sends_what_is_left() {
    let collector = Collector::new();
    let server = Server::with(&["--grace", "1h"], |command| {
        collector
            .set(command)
            .env("OTEL_BSP_SCHEDULE_DELAY", "300000")
            .env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
    });
    for _ in 0..7 {
        server.post("/v1/check", EXPLICIT);
    }
    server.signal("TERM");
    assert_eq!(server.ended().0.code(), Some(0));
    let exports: Vec<usize> = collector.exports.try_iter().map(|export| export.spans().len()).collect();
    assert_eq!((exports.iter().sum(), exports.iter().max()), (7, Some(&2)), "{exports:?}");
}

#[test]
fn a_collector_that_is_away_costs_spans_and_nothing_else() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut server = Server::with(&["--grace", "1h"], |command| {
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"))
            .env("OTEL_BSP_SCHEDULE_DELAY", "20")
    });
    let mut http = server.http();
    for _ in 0..100 {
        assert!([200, 429].contains(&http.post("/v1/check", EXPLICIT).status));
    }
    drop(http);
    server.signal("TERM");
    server.wait_for("spans are lost");
    let (status, said) = server.ended();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    let complaints: Vec<&String> = said.iter().filter(|line| line.contains("spans are lost")).collect();
    let [complaint] = &complaints[..] else { panic!("{said:#?}") };
    assert!(complaint.contains(&format!("http://{address}")) && complaint.contains("refused"), "{complaint}");
}

#[test]
fn a_collector_that_never_answers_holds_up_neither_requests_nor_the_end() {
    let collector = Collector::answering(|_| None);
    let mut server = Server::with(&["--grace", "300ms"], |command| {
        collector.set(command).env("OTEL_BSP_MAX_QUEUE_SIZE", "1").env("OTEL_EXPORTER_OTLP_TIMEOUT", "300000")
    });
    server.post("/v1/check", EXPLICIT);
    collector.export();
    let mut http = server.http();
    for _ in 0..100 {
        assert!([200, 429].contains(&http.post("/v1/check", EXPLICIT).status));
    }
    assert_eq!(figure(&server, "tollgate_spans_dropped_total{reason=\"queue_full\"}"), 99);
    drop(http);
    server.signal("TERM");
    server.wait_for("spans that were not sent yet are lost");
    assert_eq!(server.ended().0.code(), Some(0));
}

#[test]
fn a_batch_is_sent_again_if_the_collector_is_only_busy() {
    let busy = "503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0";
    let collector = Collector::answering(move |number| {
        Some(if number == 0 { busy.to_owned() } else { "200 OK\r\ncontent-length: 0".to_owned() })
    });
    let server = Server::with(&[], |command| collector.set(command));
    server.post("/v1/check", EXPLICIT);
    assert_eq!(collector.export().bytes, collector.export().bytes);
    wait_for_figure(&server, "tollgate_spans_exported_total", 1);

    let refusing = Collector::answering(|_| Some("400 Bad Request\r\ncontent-length: 0".to_owned()));
    let server = Server::with(&[], |command| refusing.set(command));
    server.post("/v1/check", EXPLICIT);
    wait_for_figure(&server, "tollgate_spans_dropped_total{reason=\"export_failed\"}", 1);
    assert_eq!(refusing.exports.try_iter().count(), 1);
}

#[test]
fn nobody_is_called_unless_a_collector_is_named_and_wanted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let asked = [
        vec![("OTEL_SERVICE_NAME", "gate")],
        vec![("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_SDK_DISABLED", "true")],
        vec![("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint), ("OTEL_TRACES_EXPORTER", "none")],
        vec![("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
    ];
    for variables in asked {
        let server = Server::with(&[], |command| command.envs(variables.iter().copied()));
        assert_eq!(check(&server, "01").status, 200);
        server.signal("TERM");
        let (status, said) = server.ended();
        assert_eq!(status.code(), Some(0));
        assert!(!said.iter().any(|line| line.contains("are traced")), "{said:#?}");
        let is_grpc = variables.iter().any(|(_, value)| *value == "grpc");
        let warnings: Vec<&String> = said.iter().filter(|line| line.contains("OTEL_")).collect();
        assert_eq!(warnings.len(), usize::from(is_grpc), "{said:#?}");
        assert!(warnings.iter().all(|line| line.contains("use http/protobuf")), "{said:#?}");
    }
    assert!(listener.accept().is_err());
}
