//! A leaky bucket lets requests out one after the other (A10). Time is tokio's, and runs only while all wait.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tollgate_tower::{PeerAddress, TollgateLayer};
use tower::{Layer, ServiceExt, service_fn};

use crate::served::limiter;

const SHAPED: &str =
    "{name: shaped, limit_keys: [\"ip:address\"], algorithm: leaky_bucket, rate: 20/s, queue: 3}";

/// One request through a clone of its own.
fn request(layer: &TollgateLayer) -> impl Future<Output = StatusCode> + use<> {
    let service = layer.layer(service_fn(async |_: Request<Full<Bytes>>| {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    }));
    let mut request = Request::new(Full::default());
    request.extensions_mut().insert(PeerAddress([192, 0, 2, 1].into()));
    async move { service.oneshot(request).await.unwrap().status() }
}

#[tokio::test(start_paused = true)]
async fn each_request_goes_ahead_at_its_turn_and_not_earlier() {
    let (limiter, _clock) = limiter(SHAPED);
    let layer = TollgateLayer::new(limiter);
    // All are decided now; they have their turns after 0, 50 and 100 ms.
    let mut waiting: Vec<_> = (0..3).map(|_| tokio::spawn(request(&layer))).collect();
    tokio::task::yield_now().await;
    assert_eq!(request(&layer).await, 429, "beyond the queue");
    for request in &mut waiting {
        let soon = tokio::time::timeout(Duration::from_millis(15), &mut *request).await;
        assert_eq!(soon.expect("its turn has come").unwrap(), 200);
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_second_request_waits_for_the_whole_of_its_delay() {
    let (limiter, _clock) = limiter(SHAPED);
    let layer = TollgateLayer::new(limiter);
    assert_eq!(request(&layer).await, 200);
    let mut second = std::pin::pin!(request(&layer));
    assert!(
        tokio::time::timeout(Duration::from_millis(49), &mut second).await.is_err(),
        "50 ms are not over"
    );
    assert_eq!(tokio::time::timeout(Duration::from_millis(3), second).await, Ok(StatusCode::OK));
}
