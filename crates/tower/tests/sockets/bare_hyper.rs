//! Without a framework: hyper serves, over HTTP/1.1 and HTTP/2, and requests are written by hand where it matters.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{Empty, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tollgate_tower::{PeerAddress, TollgateLayer};
use tower::util::MapRequest;
use tower::{Layer, service_fn};

use crate::served::limiter;

const PER_IP: &str = "{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 3}";

/// Serves behind a turnstile, and says who the peer is.
async fn serve(policy: &str) -> SocketAddr {
    let (limiter, _clock) = limiter(policy);
    let layer = TollgateLayer::new(limiter).on_warning(|_| {});
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, peer)) = listener.accept().await {
            let hello = service_fn(async |_: Request<Incoming>| {
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello"))))
            });
            let service = MapRequest::new(layer.layer(hello), move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(PeerAddress(peer.ip()));
                request
            });
            let server = auto::Builder::new(TokioExecutor::new());
            let service = TowerToHyperService::new(service);
            tokio::spawn(async move { server.serve_connection(TokioIo::new(stream), service).await });
        }
    });
    address
}

#[tokio::test]
async fn both_versions_of_http_share_the_clients_bucket() {
    let address = serve(PER_IP).await;
    let uri: http::Uri = format!("http://{address}/").parse().unwrap();
    let one = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let two = Client::builder(TokioExecutor::new()).http2_only(true).build_http::<Empty<Bytes>>();
    let mut statuses = Vec::new();
    for _ in 0..2 {
        for (client, version) in [(&one, Version::HTTP_11), (&two, Version::HTTP_2)] {
            let response = client.get(uri.clone()).await.unwrap();
            assert_eq!(response.version(), version);
            assert!(response.headers().contains_key("ratelimit"));
            statuses.push(response.status().as_u16());
        }
    }
    assert_eq!(statuses, [200, 200, 200, 429]);
}

/// The status of a request that is sent as it is typed.
async fn raw(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_target_in_absolute_form_is_the_same_path_of_the_same_client() {
    let address = serve("{name: a, path: /api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 2}").await;
    let targets = ["/api", "http://elsewhere.example/api", "http://elsewhere.example//api/?q", "/api"];
    let mut statuses = Vec::new();
    for target in targets {
        let request = format!("GET {target} HTTP/1.1\r\nhost: here.example\r\nconnection: close\r\n\r\n");
        statuses.push(raw(address, request.as_bytes()).await);
    }
    assert_eq!(statuses, ["200", "200", "429", "429"]);
}

#[tokio::test]
async fn lines_that_are_no_text_hide_nobody() {
    let policy = format!("client_address: {{trusted_proxies: [127.0.0.0/8]}}\nrules: [{PER_IP}]");
    let address = serve(&policy).await;
    let mut statuses = Vec::new();
    for forged in [&b"1.1.1.1"[..], b"\xff\xfe", b"\x80, 2.2.2.2, \xff", b"3.3.3.3"] {
        let mut request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-forwarded-for: ".to_vec();
        request.extend_from_slice(forged);
        request.extend_from_slice(b"\r\nx-forwarded-for: 203.0.113.7\r\n\r\n");
        statuses.push(raw(address, &request).await);
    }
    assert_eq!(statuses, ["200", "200", "200", "429"], "the proxy named one client");
}

#[tokio::test]
async fn a_body_in_chunks_cannot_announce_a_lower_price() {
    let policy = "{name: upload, limit_keys: [\"ip:address\"], rate: 1/s, burst: 10, cost_source: request_bytes, \
                  bytes_per_token: 1, default_cost: 5}";
    let address = serve(policy).await;
    let request = b"POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(raw(address, request).await);
    }
    assert_eq!(statuses, ["200", "200", "429"], "the default, since nobody knows the length");
}
