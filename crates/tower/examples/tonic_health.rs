//! A tonic server that lets each client make two calls a second, and three at once. The service is gRPC's own health check.
//!
//! `cargo run -p tollgate-tower --features tonic --example tonic_health` serves on a free port, calls itself four times and ends:
//! three answers, then `RESOURCE_EXHAUSTED` with `google.rpc.RetryInfo` among its details, which clients that retry obey.

use tollgate_tower::{Limiter, Policy, TollgateLayer};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

const POLICY: &str = r#"
rules:
  - name: calls
    limit_keys: ["ip:address"]
    match: {path: /grpc.health.v1.Health/*}
    rate: 2/s
    burst: 3
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Limiter::from_policy(Policy::parse("calls.yaml", POLICY)?)?;
    let (_reporter, health) = tonic_health::server::health_reporter();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = Server::builder().layer(TollgateLayer::new(limiter)).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));

    let channel = Channel::from_shared(format!("http://{address}"))?.connect().await?;
    let mut client = HealthClient::new(channel);
    for call in 1..=4 {
        match client.check(HealthCheckRequest { service: String::new() }).await {
            Ok(response) => println!("{call}: {:?}", response.into_inner().status()),
            Err(status) => println!(
                "{call}: {:?}: {} ({} bytes of details)",
                status.code(),
                status.message(),
                status.details().len()
            ),
        }
    }
    Ok(())
}
