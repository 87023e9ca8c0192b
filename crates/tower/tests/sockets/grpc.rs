//! gRPC (H6): a real tonic server and a real tonic client.

use std::net::SocketAddr;

use tollgate_tower::TollgateLayer;
use tonic::Code;
use tonic::transport::{Channel, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::served::limiter;

async fn serve(layer: TollgateLayer) -> HealthClient<Channel> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let (_reporter, service) = tonic_health::server::health_reporter();
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    let server = Server::builder().layer(layer).add_service(service).serve_with_incoming(incoming);
    tokio::spawn(async move { server.await.unwrap() });
    let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
    HealthClient::new(endpoint.connect().await.unwrap())
}

#[tokio::test]
async fn a_denied_call_is_resource_exhausted_with_the_exact_retry_info() {
    let (limiter, clock) = limiter("{name: calls, limit_keys: [\"ip:address\"], rate: 1/s, burst: 2}");
    let layer = TollgateLayer::new(limiter).on_warning(|warning| panic!("{warning}"));
    let mut client = serve(layer.clone()).await;
    let call = async |client: &mut HealthClient<Channel>| {
        client.check(HealthCheckRequest { service: String::new() }).await
    };
    for left in ["r=1", "r=0"] {
        let response = call(&mut client).await.unwrap();
        let told = response.metadata().get("ratelimit").unwrap().to_str().unwrap();
        assert_eq!(told.split(';').nth(1), Some(left));
    }
    let denial = call(&mut client).await.unwrap_err();
    assert_eq!(denial.code(), Code::ResourceExhausted);
    assert!(denial.message().contains("calls"), "{}", denial.message());
    assert_eq!(denial.metadata().get("tollgate-reason").unwrap(), "token_bucket_exceeded");
    let details = String::from_utf8_lossy(denial.details()).into_owned();
    assert!(details.contains("type.googleapis.com/google.rpc.RetryInfo"), "{details}");
    clock.advance(tollgate::Span::from_secs(1));
    call(&mut client).await.unwrap();
    assert_eq!(layer.stats().without_peer, 0, "the peer is known from tonic");
}

#[tokio::test]
async fn the_path_of_a_call_is_a_path_like_any_other() {
    let policy = "{name: health, path: /grpc.health.v1.Health/Check, limit_keys: [\"ip:address\"], rate: 1/s, burst: 1}";
    let (limiter, _clock) = limiter(policy);
    let mut client = serve(TollgateLayer::new(limiter)).await;
    let check = HealthCheckRequest { service: String::new() };
    client.check(check.clone()).await.unwrap();
    assert_eq!(client.check(check.clone()).await.unwrap_err().code(), Code::ResourceExhausted);
    client.watch(check).await.unwrap();
}
