//! Defect 22: state per clone. However many clones, connections and threads, there is one bucket.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tollgate::Span;
use tollgate_tower::{PeerAddress, TollgateLayer};
use tower::{Layer, ServiceExt, service_fn};

use crate::served::{Served, limiter};

const FIVE: &str = "{name: api, limit_keys: [\"ip:address\"], rate: 5/s, burst: 5}";
const REQUESTS: usize = 1_500;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn defect_22_a_flood_through_1500_clones_admits_the_burst_and_then_the_rate() {
    let (limiter, clock) = limiter(FIVE);
    let layer = TollgateLayer::new(limiter);
    let calls = Arc::new(AtomicUsize::new(0));
    for (second, expected) in [(0, 5), (1, 10), (3, 15), (3, 15)] {
        clock.set(tollgate::Moment::from_nanos((crate::served::START_S + second) * 1_000_000_000));
        let flood = (0..REQUESTS).map(|_| {
            let (layer, calls) = (layer.clone(), Arc::clone(&calls));
            tokio::spawn(async move {
                let service = layer.layer(service_fn(async |_: Request<Full<Bytes>>| {
                    calls.fetch_add(1, Ordering::Relaxed);
                    Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default()))
                }));
                let mut request = Request::new(Full::default());
                request.extensions_mut().insert(PeerAddress([192, 0, 2, 1].into()));
                service.clone().oneshot(request).await.unwrap().status()
            })
        });
        for status in flood.collect::<Vec<_>>() {
            status.await.unwrap();
        }
        assert_eq!(calls.load(Ordering::Relaxed), expected, "after {second} s");
    }
    assert_eq!(layer.stats().denied, 4 * REQUESTS as u64 - 15, "every other one was denied, and counted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn defect_22_a_flood_over_many_connections_admits_the_burst_and_then_the_rate() {
    let served = Arc::new(Served::new(FIVE).await);
    for expected in [5, 10] {
        let flood = (0..REQUESTS / 5).map(|_| {
            let served = Arc::clone(&served);
            tokio::spawn(async move { served.get("/").await.status.as_u16() })
        });
        for status in flood.collect::<Vec<_>>() {
            assert!(matches!(status.await.unwrap(), 200 | 429));
        }
        assert_eq!(served.calls(), expected);
        served.clock.advance(Span::from_secs(1));
    }
}

#[tokio::test]
async fn readiness_is_the_inner_services_alone() {
    let (limiter, _clock) = limiter(FIVE);
    let layer = TollgateLayer::new(limiter).on_warning(|_| {});
    let inner = service_fn(async |_: Request<Full<Bytes>>| {
        Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default()))
    });
    let mut service = layer.layer(inner);
    for at in 0..10 {
        let ready = service.ready().await.unwrap();
        let response = tower::Service::call(ready, Request::new(Full::default())).await.unwrap();
        assert_eq!(response.status(), if at < 5 { 200 } else { 429 });
    }
}
