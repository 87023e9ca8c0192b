//! A client that keeps to the limit of the service it calls: before each request it awaits its turn, first come, first served.
//!
//! `cargo run -p tollgate-tower --example outbound` starts an upstream on a free port that denies whoever does more than twenty
//! requests a second, sends twelve requests at once through a limiter of the same figures, and ends: none is denied, and the
//! last waits about half a second. Nothing is retried, since nothing fails.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Empty, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tollgate_tower::{Burst, Cost, Limit, Limiter, Policy, Rate, Span, TollgateLayer};
use tower::{Layer, service_fn};

const UPSTREAM: &str = "{name: everyone, scope: global, rate: 20/s, burst: 2}";

/// An upstream on bare hyper, behind a turnstile of its own.
async fn upstream() -> Result<SocketAddr, Box<dyn std::error::Error>> {
    let hello = service_fn(async |_: Request<Incoming>| {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello\n"))))
    });
    let limiter = Limiter::from_policy(Policy::parse("upstream.yaml", UPSTREAM)?)?;
    // Nobody's address matters to its one rule, so it need not be known.
    let service = TollgateLayer::new(limiter).on_warning(|_| {}).layer(hello);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let http = hyper::server::conn::http1::Builder::new();
            tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
        }
    });
    Ok(address)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = upstream().await?;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    // A little below what is allowed: the upstream's clock is not ours.
    let limiter = Limiter::new(Limit::new(Rate::per_second(19), Burst::tokens(1))?);
    let requests = (1..=12).map(|request| {
        let (limiter, client) = (limiter.clone(), client.clone());
        tokio::spawn(async move {
            let turn = limiter.acquire("upstream", Cost::ONE).within(Span::from_secs(5)).await;
            let waited = turn.map_err(|error| error.to_string())?.waited;
            let uri = format!("http://{address}/").parse().map_err(|error| format!("{error}"))?;
            let response = client.get(uri).await.map_err(|error| error.to_string())?;
            Ok::<_, String>(format!("request {request:2}: {} after {waited}", response.status()))
        })
    });
    for request in requests.collect::<Vec<_>>() {
        println!("{}", request.await??);
    }
    Ok(())
}
