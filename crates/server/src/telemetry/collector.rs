//! The collector, as OTLP over HTTP has it: a batch of spans is one POST, and its answer says what became of them.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use super::plan::Plan;
use crate::trust;

/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;
/// How long a connection that is not used is kept.
const IDLE_MAX: Duration = Duration::from_mins(1);
/// Longest wait that a collector may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

type Connections = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Who takes spans.
#[derive(Debug)]
pub(super) struct Collector {
    client: Connections,
    endpoint: Uri,
    headers: HeaderMap,
    timeout: Duration,
}

/// Why a batch was not taken.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) why: String,
    /// Whether the same batch may be taken later.
    pub(super) passes: bool,
    /// How long the collector asks to wait.
    pub(super) retry_after: Option<Duration>,
}

impl Collector {
    /// Does not connect yet. Says what is wrong with the authorities that are to be trusted.
    pub(super) fn new(plan: &Plan) -> Result<Collector, String> {
        let is_tls = plan.endpoint.scheme_str() == Some("https");
        // Nobody is trusted where nobody needs to be: the machine's authorities are a thousand objects.
        let roots = if is_tls { authorities(plan.certificate.as_ref())? } else { RootCertStore::empty() };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(trust::config(roots)?)
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .pool_max_idle_per_host(1)
            .build(connector);
        let mut headers = plan.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let ourselves = HeaderValue::from_static(concat!("tollgate/", env!("CARGO_PKG_VERSION")));
        headers.entry(USER_AGENT).or_insert(ourselves);
        Ok(Collector { client, endpoint: plan.endpoint.clone(), headers, timeout: plan.timeout })
    }

    /// Sends a batch, once. Of those that arrived, says how many were rejected for good.
    pub(super) async fn send(&self, batch: Bytes) -> Result<u64, Fault> {
        match tokio::time::timeout(self.timeout, self.post(batch)).await {
            Ok(result) => result,
            Err(_) => Err(Fault::passing(format!("no answer within {} ms", self.timeout.as_millis()))),
        }
    }

    async fn post(&self, batch: Bytes) -> Result<u64, Fault> {
        let mut request = Request::new(Full::new(batch));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.clone();
        request.headers_mut().clone_from(&self.headers);
        let answer =
            self.client.request(request).await.map_err(|error| Fault::passing(with_causes(&error)))?;
        let status = answer.status();
        let wait = answer.headers().get(RETRY_AFTER).and_then(seconds);
        if !status.is_success() {
            return Err(Fault { why: format!("status {status}"), passes: passes(status), retry_after: wait });
        }
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        // It was taken, whatever else was said.
        let said = body.ok().and_then(|body| ExportTraceServiceResponse::decode(body.to_bytes()).ok());
        let rejected = said.and_then(|said| said.partial_success).map_or(0, |partial| partial.rejected_spans);
        Ok(u64::try_from(rejected).unwrap_or(0))
    }
}

impl Fault {
    fn passing(why: String) -> Fault {
        Fault { why, passes: true, retry_after: None }
    }
}

/// Whether the specification lets the same be sent again.
fn passes(status: StatusCode) -> bool {
    [429, 502, 503, 504].contains(&status.as_u16())
}

/// Whole seconds; a date is passed over.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    let seconds = value.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

/// Whom to believe: those in the file, or those whom the machine believes (`SSL_CERT_FILE`, else its store).
fn authorities(file: Option<&(&'static str, String)>) -> Result<RootCertStore, String> {
    let Some((variable, file)) = file else {
        return trust::of_machine();
    };
    let mut roots = RootCertStore::empty();
    let why = |error: &dyn fmt::Display| {
        format!("{variable} is '{file}': {error}; name a file of certificates in PEM")
    };
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| why(&error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| why(&error))?;
        roots.add(certificate).map_err(|error| why(&error))?;
    }
    if roots.is_empty() { Err(why(&"it holds none")) } else { Ok(roots) }
}

/// What happened, and why, and why that.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl fmt::Display for Collector {
    /// Without path and query, in which some have a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.endpoint.scheme_str().unwrap_or_default();
        let authority = self.endpoint.authority().map_or("", http::uri::Authority::as_str);
        write!(f, "{scheme}://{authority}")
    }
}

#[cfg(test)]
#[path = "collector_tests.rs"]
mod tests;
