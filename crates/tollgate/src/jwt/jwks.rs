//! A JSON Web Key Set (RFC 7517), as a file or an address gave it.
//!
//! Keys that cannot verify (for encryption, of unknown kinds, too weak) are passed over and counted, as the RFC asks: a key set
//! serves others too. One without any key that can is refused.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde_json::Value;

use super::JwtKeyProblem;
use super::key::{Algorithms, Key};

/// Most keys in one set, usable or not.
pub const JWKS_KEYS_MAX: usize = 256;

/// The keys of a set that can verify, and how many cannot.
pub(super) struct KeySet {
    pub keys: Vec<Key>,
    pub passed_over: usize,
}

impl KeySet {
    pub(super) fn one(key: Key) -> KeySet {
        KeySet { keys: vec![key], passed_over: 0 }
    }

    pub(super) fn parse(text: &str) -> Result<KeySet, JwtKeyProblem> {
        let unreadable = |error: &str| JwtKeyProblem::UnreadableJwks(error.into());
        let set: Value = serde_json::from_str(text).map_err(|error| unreadable(&error.to_string()))?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or_else(|| unreadable("no array `keys`"))?;
        if keys.len() > JWKS_KEYS_MAX {
            return Err(JwtKeyProblem::JwksKeys(keys.len()));
        }
        let usable: Vec<Key> = keys.iter().filter_map(usable).collect();
        if usable.is_empty() {
            return Err(JwtKeyProblem::NoUsableKey(keys.len()));
        }
        Ok(KeySet { passed_over: keys.len() - usable.len(), keys: usable })
    }
}

/// The key, if it can verify.
fn usable(value: &Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    let is_for_signatures =
        jwk.common.public_key_use.as_ref().is_none_or(|purpose| *purpose == PublicKeyUse::Signature);
    let operations = jwk.common.key_operations.as_ref();
    let may_verify = operations.is_none_or(|operations| operations.contains(&KeyOperations::Verify));
    let named = match jwk.common.key_algorithm {
        Some(algorithm) => Some(Algorithm::try_from(algorithm).ok()?),
        None => None,
    };
    let algorithms = algorithms(&jwk.algorithm, named)?;
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    let kid = jwk.common.key_id.map(String::into_boxed_str);
    Key::new(kid, algorithms, key).ok().filter(|_| is_for_signatures && may_verify)
}

/// What a key of this kind is for: what it says, if that fits its kind; else what its kind says.
fn algorithms(parameters: &AlgorithmParameters, named: Option<Algorithm>) -> Option<Algorithms> {
    let own = match parameters {
        AlgorithmParameters::RSA(_) => {
            let Some(named) = named else { return Some(Algorithms::EveryRsa) };
            return (named.family() == AlgorithmFamily::Rsa).then_some(Algorithms::One(named));
        }
        // A secret says nothing of itself.
        AlgorithmParameters::OctetKey(_) => {
            return named.filter(|named| named.family() == AlgorithmFamily::Hmac).map(Algorithms::One);
        }
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => Algorithm::ES384,
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        _ => return None,
    };
    named.is_none_or(|named| named == own).then_some(Algorithms::One(own))
}
