//! What the environment asks for: whether anything is traced, how much, and where to.

use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Uri, header};
use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::TelemetryResourceDetector;

use super::sampling::{self, Sampling};
use super::variables::Variables;
use super::{endpoint, pairs};

/// Longest time that an export or its delay may take, in milliseconds.
const MILLIS_MAX: u64 = 300_000;
/// Most spans that wait; a span has about a kilobyte.
const QUEUE_MAX: u64 = 65_536;
/// Most spans of one export.
const BATCH_MAX: u64 = 8_192;

/// What is to be traced, and where it is sent.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) endpoint: Uri,
    /// Of every export. Values are secrets.
    pub(super) headers: HeaderMap,
    /// The file of authorities to trust, instead of those of the machine, and who named it.
    pub(super) certificate: Option<(&'static str, String)>,
    /// What one export may take.
    pub(super) timeout: Duration,
    pub(super) sampling: Sampling,
    pub(super) resource: Resource,
    /// Spans that wait; further ones are dropped.
    pub(super) queue_max: usize,
    /// Spans of one export.
    pub(super) batch_max: usize,
    /// How long a span may wait for others.
    pub(super) delay: Duration,
    pub(super) takes_parents: bool,
}

impl Plan {
    /// What is asked for; nothing, if nothing is to be traced.
    pub(super) fn of(variables: &mut Variables) -> Option<Plan> {
        if variables.is_true("OTEL_SDK_DISABLED") || !exports(variables) {
            return None;
        }
        let endpoint = endpoint::read(variables)?;
        if !speaks_http(variables) {
            return None;
        }
        warn_of_unread(variables);
        let millis = |number| Duration::from_millis(number);
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let queue_max = variables.number(&["OTEL_BSP_MAX_QUEUE_SIZE"], 1..=QUEUE_MAX, 2_048);
        let batch_max = variables.number(&["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"], 1..=BATCH_MAX, 512);
        let timeouts = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
        let certificates = ["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"];
        Some(Plan {
            endpoint,
            headers: headers(variables),
            certificate: variables.first(&certificates),
            timeout: millis(variables.number(&timeouts, 1..=MILLIS_MAX, 10_000)),
            sampling: sampling::read(variables),
            resource: resource(variables),
            queue_max: size(queue_max),
            batch_max: size(batch_max.min(queue_max)),
            delay: millis(variables.number(&["OTEL_BSP_SCHEDULE_DELAY"], 1..=MILLIS_MAX, 5_000)),
            takes_parents: takes_parents(variables),
        })
    }
}

/// Whether spans are to go anywhere by OTLP.
fn exports(variables: &mut Variables) -> bool {
    const NAME: &str = "OTEL_TRACES_EXPORTER";
    let Some(typed) = variables.text(NAME) else { return true };
    let asked = |what: &str| typed.split(',').any(|one| one.trim() == what);
    if asked("none") {
        return false;
    }
    if !asked("otlp") {
        variables.warn(NAME, &typed, "nothing is traced; use otlp or none");
    } else if variables
        .first(&["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"])
        .is_none()
    {
        let why = "nothing is traced, as there is no collector; set OTEL_EXPORTER_OTLP_ENDPOINT, as in http://127.0.0.1:4318";
        variables.warn(NAME, &typed, why);
    }
    asked("otlp")
}

/// Whether the collector is asked in the one way that we know.
fn speaks_http(variables: &mut Variables) -> bool {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    let Some((name, typed)) = variables.first(&names) else { return true };
    match typed.as_str() {
        "http/protobuf" => true,
        "http/json" => {
            variables.warn(name, &typed, "http/protobuf counts instead; use that");
            true
        }
        _ => {
            let why = "nothing is traced; use http/protobuf, for which collectors listen on port 4318";
            variables.warn(name, &typed, why);
            false
        }
    }
}

/// Names what is asked for and not done, so that nobody relies on it.
fn warn_of_unread(variables: &mut Variables) {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"];
    if let Some((name, typed)) = variables.first(&names)
        && typed != "none"
    {
        variables.warn(name, &typed, "none counts instead; unset it");
    }
    for name in [
        "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
        "OTEL_EXPORTER_OTLP_CLIENT_KEY",
        "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
        "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
    ] {
        if let Some(typed) = variables.text(name) {
            variables.warn(name, &typed, "it is passed over: we show no certificate; unset it");
        }
    }
}

fn headers(variables: &mut Variables) -> HeaderMap {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
    let mut headers = HeaderMap::new();
    let Some((variable, list)) = variables.first(&names) else { return headers };
    let (pairs, mut bad) = pairs::read(&list);
    for (name, value) in pairs {
        let field = HeaderName::from_bytes(name.as_bytes()).ok().filter(|name| !is_ours(name));
        match field.zip(HeaderValue::from_str(&value).ok()) {
            Some((name, mut value)) => {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
            None => bad += 1,
        }
    }
    if bad > 0 {
        let why = format!(
            "{bad} of its entries are passed over; write name=value,name=value with every comma, equals sign \
             and space of a value percent-encoded"
        );
        variables.warn_of_secret(variable, &why);
    }
    headers
}

/// Fields that say how the message is framed, which only the sender knows.
fn is_ours(name: &HeaderName) -> bool {
    let framing = [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    framing.contains(name) || [header::CONNECTION, header::HOST, header::TE, header::UPGRADE].contains(name)
}

/// Who we are to the collector.
fn resource(variables: &mut Variables) -> Resource {
    const NAME: &str = "OTEL_RESOURCE_ATTRIBUTES";
    let list = variables.text(NAME).unwrap_or_default();
    let (pairs, bad) = pairs::read(&list);
    if bad > 0 {
        let why = format!("{bad} of its entries are passed over; write name=value,name=value");
        variables.warn(NAME, &list, &why);
    }
    let resource = Resource::builder_empty()
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_service_name("tollgate")
        .with_attributes(pairs.into_iter().map(|(name, value)| KeyValue::new(name, value)));
    match variables.text("OTEL_SERVICE_NAME") {
        Some(name) => resource.with_service_name(name).build(),
        None => resource.build(),
    }
}

/// Whether a request's `traceparent` counts.
fn takes_parents(variables: &mut Variables) -> bool {
    const NAME: &str = "OTEL_PROPAGATORS";
    let Some(typed) = variables.text(NAME) else { return true };
    let asked = |what: &str| typed.split(',').any(|one| one.trim() == what);
    let is_known = |one: &str| ["tracecontext", "baggage", "none"].contains(&one.trim());
    if !typed.split(',').all(is_known) {
        let why =
            "the others are passed over; use tracecontext, or none, for which every request begins a trace";
        variables.warn(NAME, &typed, why);
    }
    asked("tracecontext") && !asked("none")
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
