//! The tower layer over Redis: one limit for all services, and every rule does what it says while the store is away.
//!
//! It is here because this crate sees both; the layer and the ledger do not see each other.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
#[path = "../../redis/tests/fleet/mod.rs"]
mod fleet;

use std::convert::Infallible;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use tollgate::policy::Policy;
use tollgate_redis::RedisLedger;
use tollgate_tower::{PeerAddress, TollgateLayer};
use tower::{Layer, ServiceExt, service_fn};

use fleet::RedisServer;

const WAIT: Duration = Duration::from_secs(5);

type Body = Empty<bytes::Bytes>;

/// What a client was told.
struct Told {
    status: StatusCode,
    headers: http::HeaderMap,
    body: String,
}

/// A layer by URL alone, once the store decides.
async fn layer(url: &str, policy: &str) -> TollgateLayer {
    let policy = Policy::parse("p.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let ledger = RedisLedger::at(url).unwrap();
    let layer = TollgateLayer::new(ledger.limiter(policy).unwrap());
    assert!(ledger.agreed(WAIT).await, "limits are agreed upon");
    layer
}

async fn get(layer: &TollgateLayer, path: &str) -> Told {
    let service =
        layer.layer(service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Body::new()))));
    let mut request = Request::builder().uri(path).body(Body::new()).unwrap();
    request.extensions_mut().insert(PeerAddress([192, 0, 2, 1].into()));
    let (head, body) = service.oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Told { status: head.status, headers: head.headers, body: String::from_utf8(body.to_vec()).unwrap() }
}

impl Told {
    fn field(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_layers_over_one_redis_admit_exactly_the_burst_together_and_tell_the_others_why() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let policy = "{store: {deadline: 1s}, rules: [{name: client, scope: ip, rate: 1/h, burst: 20}]}";
    let layers = [layer(&server.url(), policy).await, layer(&server.url(), policy).await];
    let mut asking = tokio::task::JoinSet::new();
    for at in 0..80 {
        let layer = layers[at % 2].clone();
        asking.spawn(async move { get(&layer, "/").await });
    }
    let mut admitted = 0;
    while let Some(told) = asking.join_next().await {
        let told = told.unwrap();
        if told.status == StatusCode::OK {
            admitted += 1;
            continue;
        }
        assert_eq!(told.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(told.field("retry-after").parse::<u64>().unwrap() > 3_500);
        assert!(told.field("ratelimit").starts_with("\"client\";r=0;t="), "{:?}", told.headers);
        assert_eq!(told.field("ratelimit-policy"), "\"client\";q=20;w=72000");
        assert!(told.body.contains("\"mode\":\"exact\""), "{}", told.body);
    }
    assert_eq!(admitted, 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_layer_whose_store_was_killed_goes_on_by_its_rules_and_never_fails() {
    needs_redis!();
    let policy = "{store: {deadline: 50ms, instances_max: 2}, rules: [
        {name: local, scope: ip, path: /local, rate: 1/h, burst: 10},
        {name: other, scope: ip, path: /local/other, rate: 1/h, burst: 10},
        {name: open, scope: ip, path: /open, rate: 1/h, burst: 1, on_store_failure: open},
        {name: closed, scope: ip, path: /closed, rate: 1/h, burst: 99, on_store_failure: closed}]}";
    let mut server = RedisServer::start("").await;
    let layer = layer(&server.url(), policy).await;
    server.kill();
    // Until the store counts as unreachable, a client that it was never asked about is denied.
    while get(&layer, "/local/other").await.status != StatusCode::OK {}
    let mut admitted = [0; 2];
    for _ in 0..30 {
        for (path, admitted) in ["/local", "/open"].into_iter().zip(&mut admitted) {
            let told = get(&layer, path).await;
            *admitted += usize::from(told.status == StatusCode::OK);
            assert!(matches!(told.status.as_u16(), 200 | 429), "{path}: {}", told.status);
        }
        let refused = get(&layer, "/closed").await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(refused.field("retry-after").parse::<u64>().unwrap() >= 1, "{:?}", refused.headers);
        assert!(refused.body.contains("temporary-reduced-capacity"), "{}", refused.body);
    }
    assert_eq!(admitted, [5, 30], "half of ten by its share, and all");
}
