use std::time::Duration;

use opentelemetry::Key;

use super::*;

const COLLECTOR: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");

fn plan(pairs: &[(&str, &str)]) -> (Option<Plan>, Vec<String>) {
    let owned = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut variables = Variables::new(owned);
    (Plan::of(&mut variables), variables.into_warnings())
}

/// The plan with a collector and this, and the one warning.
fn with(name: &str, value: &str) -> (Option<Plan>, String) {
    let (plan, warnings) = plan(&[COLLECTOR, (name, value)]);
    assert!(warnings.len() <= 1, "{warnings:?}");
    (plan, warnings.into_iter().next().unwrap_or_default())
}

#[test]
fn nothing_is_traced_unless_a_collector_is_named_and_nobody_is_against_it() {
    assert!(plan(&[]).0.is_none());
    assert!(plan(&[("OTEL_SERVICE_NAME", "a"), ("OTEL_TRACES_SAMPLER", "always_on")]).0.is_none());
    assert!(plan(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "  ")]).0.is_none());
    assert!(plan(&[COLLECTOR]).0.is_some());
    for (name, value, is_traced) in [
        ("OTEL_SDK_DISABLED", "true", false),
        ("OTEL_SDK_DISABLED", "TRUE", false),
        ("OTEL_SDK_DISABLED", "false", true),
        ("OTEL_TRACES_EXPORTER", "none", false),
        ("OTEL_TRACES_EXPORTER", "console, otlp", true),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", true),
    ] {
        let (plan, warning) = with(name, value);
        assert_eq!((plan.is_some(), warning.as_str()), (is_traced, ""), "{name}={value}");
    }
}

#[test]
fn a_bad_value_is_one_line_with_variable_value_and_cure() {
    for (name, value, is_traced, line) in [
        (
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            "grpc",
            false,
            "OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'; nothing is traced; use http/protobuf, for which collectors listen on port 4318",
        ),
        (
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            "http/json",
            true,
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is 'http/json'; http/protobuf counts instead; use that",
        ),
        (
            "OTEL_TRACES_EXPORTER",
            "zipkin",
            false,
            "OTEL_TRACES_EXPORTER is 'zipkin'; nothing is traced; use otlp or none",
        ),
        ("OTEL_SDK_DISABLED", "1", true, "OTEL_SDK_DISABLED is '1'; false counts instead; use true or false"),
        (
            "OTEL_BSP_MAX_QUEUE_SIZE",
            "0",
            true,
            "OTEL_BSP_MAX_QUEUE_SIZE is '0'; 2048 counts instead; use a whole number from 1 to 65536",
        ),
        (
            "OTEL_EXPORTER_OTLP_TIMEOUT",
            "10s",
            true,
            "OTEL_EXPORTER_OTLP_TIMEOUT is '10s'; 10000 counts instead; use a whole number from 1 to 300000",
        ),
        (
            "OTEL_EXPORTER_OTLP_COMPRESSION",
            "gzip",
            true,
            "OTEL_EXPORTER_OTLP_COMPRESSION is 'gzip'; none counts instead; unset it",
        ),
        (
            "OTEL_EXPORTER_OTLP_CLIENT_KEY",
            "key.pem",
            true,
            "OTEL_EXPORTER_OTLP_CLIENT_KEY is 'key.pem'; it is passed over: we show no certificate; unset it",
        ),
        (
            "OTEL_PROPAGATORS",
            "b3",
            true,
            "OTEL_PROPAGATORS is 'b3'; the others are passed over; use tracecontext, or none, for which every request begins a trace",
        ),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "novalue",
            true,
            "OTEL_RESOURCE_ATTRIBUTES is 'novalue'; 1 of its entries are passed over; write name=value,name=value",
        ),
    ] {
        let (plan, warning) = with(name, value);
        assert_eq!((plan.is_some(), warning.as_str()), (is_traced, line));
    }
    let (_, warnings) = plan(&[("OTEL_TRACES_EXPORTER", "otlp")]);
    assert!(warnings[0].contains("set OTEL_EXPORTER_OTLP_ENDPOINT"), "{warnings:?}");
    let (_, warning) = with("OTEL_BSP_SCHEDULE_DELAY", &"9".repeat(1_000));
    assert!(warning.contains(&format!("'{}…'", "9".repeat(64))), "{warning}");
}

#[test]
fn header_fields_are_decoded_and_never_shown() {
    let (planned, warning) = with("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20c2VjcmV0,x-tenant=a");
    let headers = planned.unwrap().headers;
    assert_eq!(headers["authorization"], "Basic c2VjcmV0");
    assert_eq!((headers.len(), warning.as_str()), (2, ""));
    assert!(!format!("{headers:?}").contains("c2VjcmV0"));
    for bad in ["secret", "a b=secret", "content-length=secret", "a=secret%0a", "host=secret"] {
        let (planned, warning) = with("OTEL_EXPORTER_OTLP_TRACES_HEADERS", bad);
        assert!(planned.unwrap().headers.is_empty(), "{bad}");
        assert!(warning.starts_with("OTEL_EXPORTER_OTLP_TRACES_HEADERS is '********'; 1 of its entries"));
        assert!(!warning.contains("secret"), "{warning}");
    }
}

#[test]
fn who_we_are_is_said_by_the_service_name_before_the_attributes_before_the_default() {
    let name_of = |pairs: &[(&str, &str)]| {
        let resource = plan(&[&[COLLECTOR], pairs].concat()).0.unwrap().resource;
        resource.get(&Key::new("service.name")).unwrap().to_string()
    };
    let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=edge%201,deployment.environment=test");
    assert_eq!(name_of(&[]), "tollgate");
    assert_eq!(name_of(&[attributes]), "edge 1");
    assert_eq!(name_of(&[attributes, ("OTEL_SERVICE_NAME", "gate")]), "gate");
    let resource = with(attributes.0, attributes.1).0.unwrap().resource;
    assert_eq!(resource.get(&Key::new("deployment.environment")).unwrap().to_string(), "test");
    assert_eq!(resource.get(&Key::new("telemetry.sdk.language")).unwrap().to_string(), "rust");
}

#[test]
fn what_is_for_traces_beats_what_is_for_all_and_a_batch_fits_the_queue() {
    let (planned, warnings) = plan(&[
        COLLECTOR,
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "5000"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "700"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "100"),
        ("OTEL_BSP_SCHEDULE_DELAY", "20"),
        ("OTEL_PROPAGATORS", "none"),
    ]);
    let planned = planned.unwrap();
    assert_eq!((planned.timeout, planned.delay), (Duration::from_millis(700), Duration::from_millis(20)));
    assert_eq!((planned.queue_max, planned.batch_max), (100, 100));
    assert!(!planned.takes_parents && warnings.is_empty());
}
