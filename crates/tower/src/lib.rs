//! The turnstile of Tollgate: a tower layer that enforces a policy in axum, hyper and tonic servers.
//!
//! ```no_run
//! use axum::{Router, routing::get};
//! use std::net::SocketAddr;
//! use tollgate_tower::{Limiter, Policy, TollgateLayer};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = Policy::parse("policy.yaml", r#"{name: api, scope: ip, rate: 5/s, burst: 10}"#)?;
//! let app = Router::new()
//!     .route("/", get(|| async { "hello" }))
//!     .route_layer(TollgateLayer::new(Limiter::from_policy(policy)?));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! // With the peer's address, or all clients share one bucket.
//! axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What it does with a request
//! ```text
//!  request ─► facts ─► check ─┬─ admitted ─► (its turn, if a leaky bucket shapes) ─► inner service ─► settle ─► fields ─► client
//!                             └─ denied ───► 429 with fields and body, or a gRPC status ──────────────────────────────► client
//! ```
//! - It answers and never waits for readiness: `poll_ready` asks the inner service alone, and a denied request never reaches it.
//! - All state is in the [`PolicyLimiter`]: clones of layer and service, connections and threads share every bucket.
//! - **Who the client is**: the socket's peer ([`PeerAddress`], axum's `ConnectInfo`, tonic's `TcpConnectInfo` and, over TLS,
//!   `TlsConnectInfo`), or whom a proxy that the policy trusts names. A forwarding header from anybody else is not believed,
//!   [counted](TollgateLayer::stats) and [warned of](TollgateLayer::on_warning) once.
//! - **Who the user is**: what a [`Principal`] in the request's extensions says, else the claims of a verified token. Programs
//!   that know more say so by [`TollgateLayer::facts_with`].
//! - **Which path**: the one that the client sent, also inside of axum's `Router::nest` (its `OriginalUri`).
//! - **Which route**: axum's `MatchedPath`, which is there under `Router::route_layer`; the normalised path otherwise.
//! - **Fields**: on admits and denials alike, as the policy's header profile says. If a response already has one of the fields
//!   that would be added, none is: half of one limiter's figures beside half of another's would be untrue, and a handler
//!   or an inner layer knows better. Shadow rules are never seen.
//! - **gRPC**: a POST whose content type starts with `application/grpc` is denied by HTTP 200 and a status without a body. To rules
//!   that refund by status every answered call is a 200, since its own status comes with the trailers.
//! - **Afterwards**: charges are given back for statuses that a rule refunds, and estimates are settled by the header field that a
//!   rule names, which stays in the response. Places of concurrency rules are held until the response's body has ended or
//!   is dropped; after an upgrade (101) that is when the upgrade was answered.
//!
//! # Features
//! `tokio` (default): requests shaped by a leaky bucket wait for their turn; without it they go ahead at once. `axum`, `tonic`:
//! paths, routes and peers as those know them; `tonic-tls`: peers of tonic servers that speak TLS. `jwt`: tokens are verified.

mod layer;

mod admission_fields;
mod admitted;
mod answer;
mod body;
mod fields;
mod future;
mod peer;
mod principal;
mod request_facts;
mod request_head;
mod service;
mod stats;
mod token;
mod turn;
mod turnstile;
mod warning;

pub use body::ResponseBody;
pub use future::ResponseFuture;
pub use layer::TollgateLayer;
pub use peer::PeerAddress;
pub use principal::Principal;
pub use request_head::RequestHead;
pub use service::TollgateService;
pub use stats::TurnstileStats;
pub use warning::Warning;

#[cfg(feature = "jwt")]
pub use tollgate::jwt;
pub use tollgate::policy::{Facts, Policy};
pub use tollgate::{Burst, Clock, Cost, Limit, Limiter, PolicyLimiter, Rate, Span, policy};
