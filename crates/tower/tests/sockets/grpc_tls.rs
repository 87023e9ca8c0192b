//! gRPC over TLS, where tonic says in another way who the peer is.

use std::io;
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};
use tokio_stream::StreamExt as _;
use tollgate_tower::TollgateLayer;
use tonic::Code;
use tonic::transport::{Endpoint, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::served::limiter;

/// Of `localhost`, signed by itself, for 2020 to 2120; nobody but this test trusts it. Made with `openssl ca -selfsign`.
const CERTIFICATE: &[u8] = include_bytes!("localhost.certificate.der");
/// Its key, PKCS #8.
const KEY: &[u8] = include_bytes!("localhost.key.der");

/// Both ends of a connection of which each side has seen the other's handshake.
async fn connection() -> (server::TlsStream<TcpStream>, client::TlsStream<TcpStream>) {
    let certificate = CertificateDer::from(CERTIFICATE);
    let key = PrivateKeyDer::try_from(KEY).unwrap();
    let server = ServerConfig::builder().with_no_client_auth();
    let server = server.with_single_cert(vec![certificate.clone()], key).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let outgoing = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (incoming, _) = listener.accept().await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    tokio::try_join!(
        TlsAcceptor::from(Arc::new(server)).accept(incoming),
        TlsConnector::from(Arc::new(client)).connect(name, outgoing)
    )
    .unwrap()
}

#[tokio::test]
async fn the_peer_of_a_call_over_tls_is_known() {
    let (limiter, _clock) = limiter("{name: calls, limit_keys: [\"ip:address\"], rate: 1/s, burst: 2}");
    let layer = TollgateLayer::new(limiter).on_warning(|warning| panic!("{warning}"));
    let (server_end, client_end) = connection().await;
    let (_reporter, service) = tonic_health::server::health_reporter();
    let incoming = tokio_stream::once(Ok::<_, io::Error>(server_end)).chain(tokio_stream::pending());
    let server = Server::builder().layer(layer.clone()).add_service(service).serve_with_incoming(incoming);
    tokio::spawn(async move { server.await.unwrap() });

    let mut only = Some(client_end);
    let connector = tower::service_fn(move |_| {
        let stream = only.take().map(TokioIo::new).ok_or(io::ErrorKind::NotConnected);
        async move { stream.map_err(io::Error::from) }
    });
    let channel = Endpoint::from_static("http://localhost").connect_with_connector(connector).await.unwrap();
    let mut client = HealthClient::new(channel);
    let check = HealthCheckRequest { service: String::new() };
    for _ in 0..2 {
        client.check(check.clone()).await.unwrap();
    }
    assert_eq!(client.check(check).await.unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(layer.stats().without_peer, 0, "the peer is known from tonic");
}
