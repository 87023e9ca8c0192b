//! What tools say of a described request is what the layer makes of it on a socket: the client's address, user, plan and claims.

use std::sync::{Arc, Mutex};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tollgate::jwt::{KeyMaterial, Verifier};
use tollgate_tower::policy::{Claims, DescribedRequest, Facts, JwtSettings, Policy};

use crate::served::{START_S, Served};

const SECRET: &[u8; 32] = b"a secret of thirty-two bytes ...";

/// What decides whose bucket it is: address, user, plan and claims.
type Holder = (Option<String>, Option<String>, Option<String>, String);

fn holder(facts: &Facts<'_>) -> Holder {
    let claims = match facts.claims {
        Claims::None => String::new(),
        Claims::Verified(claims) => format!("verified {claims}"),
        Claims::Unverified(claims) => format!("unverified {claims}"),
    };
    let text = |text: Option<&str>| text.map(str::to_owned);
    (facts.address.map(|address| address.to_string()), text(facts.user), text(facts.plan), claims)
}

/// Sends the request on a socket and describes it; both must come to the same.
async fn check(
    policy: &str,
    verifies: bool,
    headers: &[(&str, &str)],
    token: Option<(&Value, bool)>,
) -> Holder {
    let seen = Arc::<Mutex<Vec<Holder>>>::default();
    let told = Arc::clone(&seen);
    let served = Served::with(policy, |layer| {
        let settings = layer.limiter().policy().jwt.clone().unwrap_or_else(JwtSettings::default);
        let secret = KeyMaterial::secret("`jwt.keys[0]`", "HS256", *SECRET);
        let layer = layer.facts_with(move |_, facts| told.lock().unwrap().push(holder(facts)));
        if verifies { layer.verify_tokens(Verifier::new(&settings, &[secret]).unwrap()) } else { layer }
    });
    let served = served.await;
    let bearer = token.map(|(claims, is_genuine)| {
        let key = if is_genuine { SECRET } else { b"another secret of thirty-two byt" };
        let token = encode(&Header::new(Algorithm::HS256), claims, &EncodingKey::from_secret(key)).unwrap();
        format!("Bearer {token}")
    });
    let sent = headers.iter().copied().chain(bearer.iter().map(|token| ("authorization", token.as_str())));
    served.send("/", &sent.collect::<Vec<_>>()).await;

    let described = DescribedRequest {
        peer: Some([127, 0, 0, 1].into()),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        claims: token.map(|(claims, _)| claims.clone()),
        claims_are_verified: token.is_some_and(|(_, is_genuine)| is_genuine && verifies),
        ..DescribedRequest::default()
    };
    let policy = Policy::parse("test.yaml", policy).unwrap();
    let described = holder(&described.seen_by(&policy).facts());
    assert_eq!(seen.lock().unwrap().as_slice(), std::slice::from_ref(&described), "{headers:?} {token:?}");
    described
}

#[tokio::test]
async fn the_client_of_a_described_peer_is_that_of_the_socket() {
    const RULE: &str = "rules: [{name: api, scope: ip, rate: 1/s, burst: 5}]";
    let settings = [
        "",
        "client_address: {trusted_proxies: [127.0.0.0/8, 10.0.0.0/8], header: x-forwarded-for}, ",
        "client_address: {trusted_proxies: [10.0.0.0/8], header: x-forwarded-for}, ",
        "client_address: {hops: 2, header: x-forwarded-for}, ",
        "client_address: {trusted_proxies: [127.0.0.1/32], header: cf-connecting-ip}, ",
        "client_address: {trusted_proxies: [127.0.0.1/32], header: forwarded}, ",
    ];
    let sent: [&[(&str, &str)]; 6] = [
        &[],
        &[("x-forwarded-for", "6.6.6.6, 192.0.2.9, 10.0.0.2"), ("forwarded", "for=\"[2001:db8::9]:80\"")],
        &[("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "unknown, 10.0.0.2")],
        &[("x-forwarded-for", "::ffff:192.0.2.9"), ("cf-connecting-ip", "192.0.2.7")],
        &[("cf-connecting-ip", "192.0.2.7"), ("cf-connecting-ip", "192.0.2.8")],
        &[("forwarded", "for=6.6.6.6, for=_hidden"), ("x-forwarded-for", "")],
    ];
    let mut clients = Vec::new();
    for settings in settings {
        for headers in sent {
            clients.push(check(&format!("{{{settings}{RULE}}}"), false, headers, None).await.0.unwrap());
        }
    }
    for client in ["127.0.0.1", "192.0.2.9", "10.0.0.2", "192.0.2.7", "2001:db8::9"] {
        assert!(clients.iter().any(|found| found == client), "the settings tell clients apart: {clients:?}");
    }
}

#[tokio::test]
async fn the_holder_of_a_described_token_is_that_of_the_socket() {
    const RULES: &str = "rules: [{name: a, limit_keys: [\"jwt:sub\"], jwt_trust: upstream_verified, rate: 1/s, burst: 5}, \
                         {name: b, limit_keys: [\"jwt:sub\"], rate: 1/s, burst: 5}]";
    let with = "jwt: {keys: [{algorithm: HS256, secret_env: SECRET_OF_TESTS}], user_claim: org.id, \
                plan_claim: \"https://a.example/plan\"}, ";
    let claims = json!({"sub": "ann", "plan": "pro", "org": {"id": 42}, "https://a.example/plan": "gold",
                        "exp": START_S + 60});
    let (user, plan) = (|holder: &Holder| holder.1.clone(), |holder: &Holder| holder.2.clone());
    for (settings, expected) in [("", ("ann", "pro")), (with, ("42", "gold"))] {
        let policy = format!("{{{settings}{RULES}}}");
        let verified = check(&policy, true, &[], Some((&claims, true))).await;
        assert_eq!(
            (user(&verified).as_deref(), plan(&verified).as_deref()),
            (Some(expected.0), Some(expected.1))
        );
        assert_eq!(user(&check(&policy, false, &[], Some((&claims, true))).await), None);
    }
    let forged = check(&format!("{{{with}{RULES}}}"), true, &[], Some((&claims, false))).await;
    assert_eq!(forged.3, "", "not even to the rule that trusts upstream");
    let upstream = check(&format!("{{{RULES}}}"), false, &[], Some((&claims, false))).await;
    assert!(upstream.3.starts_with("unverified "), "{upstream:?}");
}
