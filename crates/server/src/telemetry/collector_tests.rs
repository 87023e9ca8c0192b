use std::sync::Arc;
use tokio_rustls::rustls;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::super::variables::Variables;
use super::*;

/// A collector over TLS, of a certificate that it signed itself: where it is, and the certificate in PEM. It rejects two of
/// the spans that it is sent.
async fn collector() -> (u16, String) {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth();
    let config = config.with_single_cert(vec![certified.cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let partial = ExportTracePartialSuccess { rejected_spans: 2, error_message: String::new() };
            let body = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
            let _ = stream.read(&mut [0; 4_096]).await;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
        }
    });
    (port, certified.cert.pem())
}

fn plan(port: u16, certificate: &str) -> Plan {
    let pairs = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("https://127.0.0.1:{port}")),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", certificate.to_owned()),
    ];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
    Plan::of(&mut Variables::new(pairs)).unwrap()
}

#[tokio::test]
async fn a_collector_over_tls_is_believed_by_the_authorities_of_the_file_alone() {
    let (port, trusted) = collector().await;
    let (_, other) = collector().await;
    let folder = std::env::temp_dir().join(format!("tollgate-collector-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let written = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let collector = Collector::new(&plan(port, &written("trusted.pem", &trusted))).unwrap();
    assert_eq!(collector.send(Bytes::from_static(b"spans")).await.unwrap(), 2, "of which two were rejected");
    let stranger = Collector::new(&plan(port, &written("other.pem", &other))).unwrap();
    let fault = stranger.send(Bytes::from_static(b"spans")).await.unwrap_err();
    assert!(fault.passes && fault.why.contains("certificate"), "{}", fault.why);
    for (name, text) in [("empty.pem", ""), ("none.pem", "no certificate")] {
        let path = written(name, text);
        let why = Collector::new(&plan(port, &path)).unwrap_err();
        let whole = format!(
            "OTEL_EXPORTER_OTLP_CERTIFICATE is '{path}': it holds none; name a file of certificates in PEM"
        );
        assert_eq!(why, whole);
    }
    assert!(Collector::new(&plan(port, "/nowhere.pem")).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_collector_may_ask_for_a_wait_of_half_a_minute_at_most() {
    let wait = |text: &'static str| seconds(&HeaderValue::from_static(text));
    assert_eq!(wait("7"), Some(Duration::from_secs(7)));
    assert_eq!(wait("86400"), Some(RETRY_AFTER_MAX));
    assert_eq!(wait("Sun, 15 Nov 2026 16:00:00 GMT"), None);
}
