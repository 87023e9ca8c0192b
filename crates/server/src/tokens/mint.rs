//! For tests: key sets, and tokens signed with their keys. Every name (`kid`) has a secret of its own.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

/// When the tests take place, in seconds since 1970.
pub(super) const NOW_S: u64 = 1_700_000_000;

fn secret(kid: &str) -> [u8; 32] {
    let mut secret = [7; 32];
    secret.iter_mut().zip(kid.bytes()).for_each(|(to, from)| *to = from);
    secret
}

/// A key set with keys of these names.
pub(super) fn jwks(kids: &[&str]) -> String {
    let key = |kid: &&str| json!({"kty": "oct", "alg": "HS256", "kid": kid, "k": URL_SAFE_NO_PAD.encode(secret(kid))});
    json!({ "keys": kids.iter().map(key).collect::<Vec<_>>() }).to_string()
}

/// The value of `authorization` with a token of `ann`, signed by the key of this name.
pub(super) fn bearer(kid: &str) -> String {
    let encode = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = encode(json!({"alg": "HS256", "kid": kid}));
    let signed = format!("{header}.{}", encode(json!({"sub": "ann", "exp": NOW_S + 60})));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret(kid)), signed.as_bytes());
    format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}
