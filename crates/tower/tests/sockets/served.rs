//! An axum server behind a turnstile on a port of its own, and a client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::any;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tollgate_tower::policy::Policy;
use tollgate_tower::{Limiter, PolicyLimiter, TollgateLayer, Warning};

/// Midnight of 14 November 2023, when time begins in these tests.
pub(crate) const START_S: u64 = 1_699_920_000;

/// A limiter that stands still, and its clock.
#[track_caller]
pub(crate) fn limiter(policy: &str) -> (PolicyLimiter, tollgate::Clock) {
    let policy = Policy::parse("test.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let clock = tollgate::Clock::manual(tollgate::Moment::from_nanos(START_S * 1_000_000_000));
    let limiter =
        Limiter::builder().clock(clock.clone()).keys_max(1 << 12).build_with_policy(policy).unwrap();
    (limiter, clock)
}

/// A server, its turnstile and a client.
pub(crate) struct Served {
    pub(crate) layer: TollgateLayer,
    pub(crate) clock: tollgate::Clock,
    pub(crate) address: SocketAddr,
    /// How many requests reached the handler.
    pub(crate) calls: Arc<AtomicUsize>,
    pub(crate) warnings: Arc<Mutex<Vec<Warning>>>,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {self:?}")).to_str().unwrap()
    }

    pub(crate) fn is_admitted(&self) -> bool {
        self.status != StatusCode::TOO_MANY_REQUESTS
    }
}

impl Served {
    /// A server that answers every path with `hello`.
    pub(crate) async fn new(policy: &str) -> Served {
        Served::with(policy, |layer| layer).await
    }

    /// The same with other settings of the layer.
    pub(crate) async fn with(policy: &str, set: impl FnOnce(TollgateLayer) -> TollgateLayer) -> Served {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let handler = any(async move || {
            counted.fetch_add(1, Ordering::Relaxed);
            "hello"
        });
        let (limiter, clock) = limiter(policy);
        let warnings = Arc::<Mutex<Vec<Warning>>>::default();
        let told = Arc::clone(&warnings);
        let layer = TollgateLayer::new(limiter).on_warning(move |it| told.lock().unwrap().push(it.clone()));
        let layer = set(layer);
        let app = Router::new().fallback(handler).layer(layer.clone());
        let address = serve(app).await;
        let client = Client::builder(TokioExecutor::new()).build_http();
        Served { layer, clock, address, calls, warnings, client }
    }

    /// A server with these routes, under `route_layer`.
    pub(crate) async fn routes(policy: &str, routes: Router) -> Served {
        let (limiter, clock) = limiter(policy);
        let layer = TollgateLayer::new(limiter);
        let address = serve(routes.route_layer(layer.clone())).await;
        let client = Client::builder(TokioExecutor::new()).build_http();
        Served { layer, clock, address, calls: Arc::default(), warnings: Arc::default(), client }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(path, &[]).await
    }

    /// A request with these header fields.
    pub(crate) async fn send(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::get(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.request(request.body(Full::default()).unwrap()).await
    }

    pub(crate) async fn request(&self, request: Request<Full<Bytes>>) -> Answer {
        let (parts, body) = self.client.request(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// How many of `times` such requests are admitted.
    pub(crate) async fn admitted(&self, times: usize, path: &str, headers: &[(&str, &str)]) -> usize {
        let mut admitted = 0;
        for _ in 0..times {
            admitted += usize::from(self.send(path, headers).await.is_admitted());
        }
        admitted
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

/// Serves the routes until the test ends.
pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}
