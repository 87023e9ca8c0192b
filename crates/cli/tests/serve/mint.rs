//! Keys made on the spot, and tokens signed with them.

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// A time that has not come, in seconds since 1970: the year 2100.
pub(crate) const LATER_S: u64 = 4_102_444_800;

/// A key with its private half, and its name.
pub(crate) struct Signer {
    pub(crate) kid: &'static str,
    pair: Pair,
}

enum Pair {
    Ed(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl Signer {
    pub(crate) fn ed(kid: &'static str) -> Signer {
        Signer { kid, pair: Pair::Ed(Ed25519KeyPair::generate().unwrap()) }
    }

    pub(crate) fn rsa(kid: &'static str) -> Signer {
        Signer { kid, pair: Pair::Rsa(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())) }
    }

    fn jwk(&self) -> Value {
        match &self.pair {
            Pair::Ed(pair) => {
                let x = encode(pair.public_key());
                json!({"kid": self.kid, "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "x": x})
            }
            Pair::Rsa(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                let (n, e) = (encode(public.n), encode(public.e));
                json!({"kid": self.kid, "kty": "RSA", "alg": "RS256", "use": "sig", "n": n, "e": e})
            }
        }
    }

    /// The public half in every form that somebody might take for a secret.
    pub(crate) fn public_forms(&self) -> Vec<Vec<u8>> {
        let bytes = match &self.pair {
            Pair::Ed(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Rsa(pair) => pair.public_key().as_ref().to_vec(),
        };
        let pem = pem("PUBLIC KEY", &bytes);
        vec![encode(&bytes).into_bytes(), bytes, pem.into_bytes(), self.jwk().to_string().into_bytes()]
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        let alg = if matches!(self.pair, Pair::Ed(_)) { "EdDSA" } else { "RS256" };
        let signed = signed(&json!({"alg": alg, "kid": self.kid}), claims);
        let signature = match &self.pair {
            Pair::Ed(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
                    .unwrap();
                signature
            }
        };
        format!("{signed}.{}", encode(signature))
    }
}

/// The key set of these keys.
pub(crate) fn jwks(signers: &[&Signer]) -> String {
    json!({"keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>()}).to_string()
}

/// A token signed with a secret.
pub(crate) fn with_secret(secret: &[u8], header: &Value, claims: &(impl ToString + ?Sized)) -> String {
    let signed = signed(header, claims);
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", encode(signature))
}

/// Claims of a user who has paid.
pub(crate) fn pro(user: &str) -> Value {
    json!({"sub": user, "plan": "pro", "exp": LATER_S})
}

/// What is signed of a token.
pub(crate) fn signed(header: &Value, claims: &(impl ToString + ?Sized)) -> String {
    format!("{}.{}", encode(header.to_string()), encode(claims.to_string()))
}

/// Bytes in PEM.
pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    let lines = STANDARD.encode(der);
    let lines: Vec<_> = lines.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
