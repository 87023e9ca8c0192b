//! Whom the program has authenticated.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{Next, from_fn};
use axum::routing::any;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tollgate_tower::{PeerAddress, Principal, TollgateLayer, Warning};

use crate::served::{Served, limiter, serve};

const PLANS: &str = "{rules: [{name: pro, limit_keys: [user], plan: pro, rate: 1/s, burst: 5}, \
                     {name: any, limit_keys: [user], rate: 1/s, burst: 7}]}";

#[tokio::test]
async fn a_principal_in_the_extensions_is_the_user_and_its_plan_counts() {
    // An authentication of the program's own: the field is its business, not the policy's.
    let authenticate = async |mut request: Request, next: Next| {
        if let Some(user) = request.headers().get("x-session").and_then(|it| it.to_str().ok()) {
            let principal = Principal::user(user);
            let principal = if user.starts_with("pro") { principal.on_plan("pro") } else { principal };
            request.extensions_mut().insert(principal);
        }
        next.run(request).await
    };
    let (limiter, _clock) = limiter(PLANS);
    let app = Router::new().fallback(any(async || "hello")).layer(TollgateLayer::new(limiter));
    let address = serve(app.layer(from_fn(authenticate))).await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    for (user, expected) in [("ann", 7), ("bob", 7), ("pro-cyd", 5)] {
        let mut admitted = 0;
        for _ in 0..9 {
            let request = http::Request::get(format!("http://{address}/")).header("x-session", user);
            let body = http_body_util::Full::<bytes::Bytes>::default();
            let response = client.request(request.body(body).unwrap()).await.unwrap();
            admitted += usize::from(response.status() == 200);
        }
        assert_eq!(admitted, expected, "{user}");
    }
}

#[tokio::test]
async fn the_programs_own_facts_overrule_the_rest() {
    let served = Served::with("{name: user, limit_keys: [user], rate: 1/s, burst: 2}", |layer| {
        layer.facts_with(|parts, facts| {
            facts.user = parts.headers.get("x-account").and_then(|it| it.to_str().ok());
        })
    })
    .await;
    assert_eq!(served.admitted(3, "/", &[("x-account", "1")]).await, 2);
    assert_eq!(served.admitted(3, "/", &[("x-account", "2")]).await, 2);
}

#[tokio::test]
async fn whose_peer_is_unknown_shares_one_bucket_and_somebody_is_told() {
    let hide = async |mut request: Request, next: Next| {
        request.extensions_mut().remove::<ConnectInfo<SocketAddr>>();
        next.run(request).await
    };
    let (limiter, _clock) = limiter("{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 2}");
    let (tell, told) = std::sync::mpsc::channel();
    let layer = TollgateLayer::new(limiter).on_warning(move |warning| tell.send(warning.clone()).unwrap());
    let app = Router::new().fallback(any(async || "hello")).layer(layer.clone());
    let address = serve(app.layer(from_fn(hide))).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<http_body_util::Empty<bytes::Bytes>>();
    let mut admitted = 0;
    for _ in 0..5 {
        let uri = format!("http://{address}/").parse().unwrap();
        admitted += usize::from(client.get(uri).await.unwrap().status() == 200);
    }
    assert_eq!((admitted, layer.stats().without_peer), (2, 5));
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [Warning::WithoutPeer]);
}

#[tokio::test]
async fn a_peer_that_the_program_names_goes_before_the_sockets() {
    let rename = async |mut request: Request, next: Next| {
        let last = request.uri().path().len();
        request.extensions_mut().insert(PeerAddress([192, 0, 2, u8::try_from(last).unwrap()].into()));
        next.run(request).await
    };
    let (limiter, _clock) = limiter("{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 2}");
    let app = Router::new().fallback(any(async || "hello")).layer(TollgateLayer::new(limiter));
    let address = serve(app.layer(from_fn(rename))).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<http_body_util::Empty<bytes::Bytes>>();
    for path in ["/", "/a"] {
        let mut admitted = 0;
        for _ in 0..5 {
            let uri = format!("http://{address}{path}").parse().unwrap();
            admitted += usize::from(client.get(uri).await.unwrap().status() == 200);
        }
        assert_eq!(admitted, 2, "{path}");
    }
}
