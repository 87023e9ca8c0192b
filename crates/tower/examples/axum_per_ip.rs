//! An axum server that lets each client address do five requests a second, and ten at once.
//!
//! `cargo run -p tollgate-tower --features axum --example axum_per_ip` serves on a free port, asks itself twelve times and ends:
//! ten times 200 with what is left in `RateLimit`, then 429 with `Retry-After` and a body that says why.
//! With `-- 127.0.0.1:3000` it serves there until it is stopped; try `curl -i http://127.0.0.1:3000/` a dozen times.

use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tollgate_tower::{Limiter, Policy, TollgateLayer};

const POLICY: &str = r#"
rules:
  - name: per-ip
    limit_keys: ["ip:address"]
    rate: 5/s
    burst: 10
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Limiter::from_policy(Policy::parse("per-ip.yaml", POLICY)?)?;
    let app = Router::new()
        .route("/", get(async || "hello\n"))
        // After the routes, so that rules see the route's template.
        .route_layer(TollgateLayer::new(limiter))
        // The peer's address: without it all clients would share one bucket.
        .into_make_service_with_connect_info::<SocketAddr>();

    let wanted = std::env::args().nth(1);
    let listener = tokio::net::TcpListener::bind(wanted.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let address = listener.local_addr()?;
    println!("serving on http://{address}/");
    let server = tokio::spawn(axum::serve(listener, app).into_future());
    if wanted.is_some() {
        return Ok(server.await??);
    }
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    for request in 1..=12 {
        let response = client.get(format!("http://{address}/").parse()?).await?;
        let told = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("-");
        println!(
            "{request:2}: {} RateLimit: {} Retry-After: {}",
            response.status(),
            told("ratelimit"),
            told("retry-after")
        );
        if response.status() == 429 {
            println!("    {}", String::from_utf8_lossy(&response.into_body().collect().await?.to_bytes()));
        }
    }
    Ok(())
}
