//! Tokens (K4): only a verified one chooses a tier, and dropping a key gains nothing (K5).

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tollgate::jwt::{KeyMaterial, Verifier};
use tollgate_tower::{Principal, TollgateLayer, Warning};
use tower::{Layer, ServiceExt, service_fn};

use crate::served::{START_S, Served, limiter};

const SECRET: &[u8; 32] = b"a secret of thirty-two bytes ...";

const TIERS: &str = "{jwt: {keys: [{algorithm: HS256, secret_env: SECRET_OF_TESTS}]}, rules: [\
    {name: enterprise, limit_keys: [user], match: {\"jwt:plan\": enterprise}, rate: 100/s, burst: 20}, \
    {name: free, limit_keys: [user], rate: 1/s, burst: 2}]}";

fn token(algorithm: Algorithm, key: &[u8], claims: &Value) -> String {
    encode(&Header::new(algorithm), claims, &EncodingKey::from_secret(key)).unwrap()
}

fn claims(user: &str, plan: &str) -> Value {
    json!({"sub": user, "plan": plan, "exp": START_S + 60})
}

async fn served() -> Served {
    Served::with(TIERS, |layer| {
        let settings = layer.limiter().policy().jwt.clone().unwrap();
        let secret = KeyMaterial::secret("`jwt.keys[0]`", "HS256", *SECRET);
        layer.verify_tokens(Verifier::new(&settings, &[secret]).unwrap())
    })
    .await
}

async fn admitted_with(served: &Served, token: &str) -> usize {
    served.admitted(25, "/", &[("authorization", &format!("Bearer {token}"))]).await
}

#[tokio::test]
async fn a_verified_token_chooses_the_tier_and_names_the_user() {
    let served = served().await;
    let of = |user, plan| token(Algorithm::HS256, SECRET, &claims(user, plan));
    assert_eq!(admitted_with(&served, &of("ann", "enterprise")).await, 20);
    assert_eq!(admitted_with(&served, &of("bob", "enterprise")).await, 20, "another user, another bucket");
    assert_eq!(admitted_with(&served, &of("cyd", "free")).await, 2);
    assert_eq!(served.layer.stats().refused_tokens, 0);
}

#[tokio::test]
async fn a_forged_token_is_nobody_and_all_of_them_together_gain_no_quota() {
    let served = served().await;
    let enterprise = claims("ann", "enterprise");
    let expired = json!({"sub": "ann", "plan": "enterprise", "exp": START_S});
    let eternal = json!({"sub": "ann", "plan": "enterprise"});
    let early = json!({"sub": "ann", "plan": "enterprise", "exp": START_S + 60, "nbf": START_S + 1});
    let good = token(Algorithm::HS256, SECRET, &enterprise);
    let (unsigned, signature) = good.rsplit_once('.').unwrap();
    let (header, _) = unsigned.split_once('.').unwrap();
    let other = token(Algorithm::HS256, SECRET, &claims("ann", "free"));
    let none = "eyJhbGciOiJub25lIn0"; // {"alg":"none"}
    let payload = unsigned.split_once('.').unwrap().1;
    let forgeries = [
        token(Algorithm::HS256, b"another secret of thirty-two byt", &enterprise),
        token(Algorithm::HS512, SECRET, &enterprise),
        token(Algorithm::HS256, SECRET, &expired),
        token(Algorithm::HS256, SECRET, &eternal),
        token(Algorithm::HS256, SECRET, &early),
        format!("{none}.{payload}."),
        format!("{none}.{payload}.{signature}"),
        format!("{unsigned}."),
        format!("{unsigned}.{}", other.rsplit_once('.').unwrap().1),
        format!("{header}.{}.{signature}", other.split('.').nth(1).unwrap()),
        "a.b.c".to_owned(),
        "x".repeat(20_000),
    ];
    let mut admitted = 0;
    for forgery in &forgeries {
        admitted += admitted_with(&served, forgery).await;
    }
    assert_eq!(admitted, 2, "one anonymous client of the free tier");
    assert_eq!(served.layer.stats().refused_tokens, 25 * forgeries.len() as u64);
    assert_eq!(admitted_with(&served, &good).await, 20, "and the true one is unharmed");
}

#[tokio::test]
async fn whom_the_program_knows_has_no_plan_from_somebodys_token() {
    let policy = "{jwt: {keys: [{algorithm: HS256, secret_env: SECRET_OF_TESTS}]}, rules: [\
        {group: tiers, combine: first, rules: [\
        {name: enterprise, limit_keys: [user], plan: enterprise, rate: 100/s, burst: 20}, \
        {name: free, limit_keys: [user], rate: 1/s, burst: 2}]}]}";
    let (limiter, _clock) = limiter(policy);
    let settings = limiter.policy().jwt.clone().unwrap();
    let secret = KeyMaterial::secret("`jwt.keys[0]`", "HS256", *SECRET);
    let layer = TollgateLayer::new(limiter).on_warning(|_| {});
    let layer = layer.verify_tokens(Verifier::new(&settings, &[secret]).unwrap());
    let token = format!("Bearer {}", token(Algorithm::HS256, SECRET, &claims("ann", "enterprise")));
    for (principal, expected) in
        [(None, 20), (Some(Principal::user("ann")), 2), (Some(Principal::user("bob")), 2)]
    {
        let mut admitted = 0;
        for _ in 0..25 {
            let service = layer.layer(service_fn(async |_: Request<Full<Bytes>>| {
                Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default()))
            }));
            let mut request = Request::new(Full::default());
            request.headers_mut().insert("authorization", token.parse().unwrap());
            if let Some(principal) = principal.clone() {
                request.extensions_mut().insert(principal);
            }
            admitted += usize::from(service.oneshot(request).await.unwrap().status() == 200);
        }
        assert_eq!(admitted, expected, "{principal:?}");
    }
}

#[tokio::test]
async fn two_tokens_are_none() {
    let served = served().await;
    let of = |user| format!("Bearer {}", token(Algorithm::HS256, SECRET, &claims(user, "enterprise")));
    let (ann, bob) = (of("ann"), of("bob"));
    assert_eq!(served.admitted(9, "/", &[("authorization", &ann), ("authorization", &bob)]).await, 2);
}

#[tokio::test]
async fn without_keys_every_token_is_none_and_somebody_is_told() {
    let served = Served::new(TIERS).await;
    let good = token(Algorithm::HS256, SECRET, &claims("ann", "enterprise"));
    assert_eq!(admitted_with(&served, &good).await, 2);
    assert_eq!(*served.warnings.lock().unwrap(), [Warning::WithoutTokenKeys]);
}

#[tokio::test]
async fn claims_that_nobody_verified_count_for_the_rule_that_says_so_alone() {
    let policy = "{rules: [\
        {name: trusting, limit_keys: [\"jwt:sub\"], jwt_trust: upstream_verified, missing: skip, rate: 1/s, burst: 4}, \
        {name: wary, limit_keys: [\"jwt:sub\"], rate: 1/s, burst: 6}]}";
    let served = Served::new(policy).await;
    let of = |user| token(Algorithm::HS256, b"any key at all, nobody looks ...", &claims(user, "free"));
    assert_eq!(admitted_with(&served, &of("ann")).await, 4, "the trusting rule limits ann");
    assert_eq!(admitted_with(&served, &of("bob")).await, 2, "to the wary one they are one anonymous client");
}

#[tokio::test]
async fn leaving_out_the_api_key_or_sending_two_means_the_shared_bucket_of_the_anonymous() {
    let policy = "{name: api, limit_keys: [\"header:x-api-key\"], rate: 1/s, burst: 3}";
    let served = Served::new(policy).await;
    assert_eq!(served.admitted(5, "/", &[("x-api-key", "k1")]).await, 3);
    assert_eq!(served.admitted(5, "/", &[]).await, 3);
    assert_eq!(served.admitted(5, "/", &[("x-api-key", "")]).await, 0);
    assert_eq!(served.admitted(5, "/", &[("x-api-key", "k2"), ("x-api-key", "k3")]).await, 0);
    assert_eq!(served.admitted(5, "/", &[("X-API-Key", "k1")]).await, 0);
}
