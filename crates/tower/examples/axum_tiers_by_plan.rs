//! An axum server whose users have what they pay for: the plan is a claim of a token, which counts only if it verifies.
//!
//! `cargo run -p tollgate-tower --features axum --example axum_tiers_by_plan` serves on a free port, sends thirty requests for each
//! of four clients and ends. The enterprise user gets 20, the free one 5; a forged token and none at all share the 5 of
//! whoever comes from that address without a name.

use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use jsonwebtoken::{EncodingKey, Header, encode};
use tollgate_tower::jwt::{KeyMaterial, Verifier};
use tollgate_tower::{Limiter, Policy, TollgateLayer};

const POLICY: &str = "
jwt:
  keys: [{algorithm: HS256, secret_env: DEMO_JWT_SECRET}]
rules:
  - group: tiers
    combine: first
    rules:
      - {name: enterprise, limit_keys: [user], plan: enterprise, rate: 2/s, burst: 20}
      - {name: free, limit_keys: [user], rate: 1/m, burst: 5}
";

/// A program of yours reads this from the environment: see `tollgate_tower::jwt::read_key_material`.
const SECRET: &[u8; 32] = b"thirty-two bytes for the example";

fn token(user: &str, plan: &str, secret: &[u8]) -> Result<String, jsonwebtoken::errors::Error> {
    // Valid until the year 2100.
    let claims = serde_json::json!({"sub": user, "plan": plan, "exp": 4_102_444_800_u64});
    encode(&Header::default(), &claims, &EncodingKey::from_secret(secret))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::parse("tiers.yaml", POLICY)?;
    let settings = policy.jwt.clone().ok_or("the policy has no `jwt`")?;
    let secret = KeyMaterial::secret("the example's secret", "HS256", *SECRET);
    let layer =
        TollgateLayer::new(Limiter::from_policy(policy)?).verify_tokens(Verifier::new(&settings, &[secret])?);
    let app = Router::new().route("/", get(async || "hello\n")).route_layer(layer.clone());

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(axum::serve(listener, app).into_future());

    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let clients = [
        ("ann, enterprise", Some(token("ann", "enterprise", SECRET)?)),
        ("bob, free", Some(token("bob", "free", SECRET)?)),
        ("a forger who says enterprise", Some(token("ann", "enterprise", b"some other secret")?)),
        ("nobody in particular", None),
    ];
    for (who, token) in clients {
        let mut admitted = 0;
        for _ in 0..30 {
            let mut request = Request::get(format!("http://{address}/"));
            if let Some(token) = &token {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            admitted += u32::from(client.request(request.body(Empty::new())?).await?.status() == 200);
        }
        println!("{who}: {admitted} of 30 admitted");
    }
    println!("{} requests came with a token that does not verify", layer.stats().refused_tokens);
    Ok(())
}
