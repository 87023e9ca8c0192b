//! For tests: keys made on the spot, and tokens signed with them, well or badly.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RsaKeyPair, RsaPublicKeyComponents,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tollgate_policy::{Headers, JwtSettings};

use super::{KeyMaterial, Verifier};

/// When the tests take place, in seconds since 1970.
pub(super) const NOW_S: u64 = 1_700_000_000;

/// One header field.
pub(super) struct Field<'a>(pub &'a str, pub &'a str);

impl Headers for Field<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        (name == self.0).then_some(self.1)
    }

    fn each_name(&self, visit: &mut dyn FnMut(&str)) {
        visit(self.0);
    }

    fn each_value(&self, name: &str, visit: &mut dyn FnMut(&str)) {
        self.get(name).into_iter().for_each(visit);
    }
}

/// Settings that ask for nothing but a signature and an expiry.
pub(super) fn settings() -> JwtSettings {
    JwtSettings::default()
}

pub(super) fn verifier(keys: &[KeyMaterial]) -> Verifier {
    Verifier::new(&settings(), keys).unwrap()
}

/// Claims that are good for an hour.
pub(super) fn claims() -> Value {
    json!({"sub": "ann", "plan": "free", "exp": NOW_S + 3_600})
}

/// A key with its private half.
pub(super) enum Signer {
    Hmac(Vec<u8>),
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Signer {
    pub(super) fn hmac(filler: u8) -> Signer {
        Signer::Hmac(vec![filler; 64])
    }

    pub(super) fn rsa() -> Signer {
        Signer::Rsa(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()))
    }

    pub(super) fn p256() -> Signer {
        Signer::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(super) fn p384() -> Signer {
        Signer::P384(EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap())
    }

    pub(super) fn ed() -> Signer {
        Signer::Ed(Ed25519KeyPair::generate().unwrap())
    }

    /// One of each, with an algorithm of its own.
    pub(super) fn one_of_each() -> [(Signer, &'static str); 5] {
        [
            (Signer::hmac(1), "HS256"),
            (Signer::rsa(), "RS256"),
            (Signer::p256(), "ES256"),
            (Signer::p384(), "ES384"),
            (Signer::ed(), "EdDSA"),
        ]
    }

    /// What the verifier is given.
    pub(super) fn material(&self, algorithm: &str) -> KeyMaterial {
        match self {
            Signer::Hmac(secret) => KeyMaterial::secret("`jwt.keys[0]`", algorithm, secret.clone()),
            _ => KeyMaterial::pem("`jwt.keys[0]`", algorithm, self.pem()),
        }
    }

    /// The public half in PEM.
    pub(super) fn pem(&self) -> String {
        let der: PublicKeyX509Der<'_> = match self {
            Signer::Hmac(_) => unreachable!("a secret has no public half"),
            Signer::Rsa(pair) => pair.public_key().as_der().unwrap(),
            Signer::P256(pair) | Signer::P384(pair) => pair.public_key().as_der().unwrap(),
            Signer::Ed(pair) => pair.public_key().as_der().unwrap(),
        };
        pem("PUBLIC KEY", der.as_ref())
    }

    /// The public half, or the secret, as a key of a key set.
    pub(super) fn jwk(&self, more: Value) -> Value {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = match self {
            Signer::Hmac(secret) => json!({"kty": "oct", "k": encode(secret)}),
            Signer::Rsa(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                json!({"kty": "RSA", "n": encode(&public.n), "e": encode(&public.e)})
            }
            Signer::P256(pair) | Signer::P384(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(pair.public_key().as_ref().len() / 2);
                let crv = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": crv, "x": encode(x), "y": encode(y)})
            }
            Signer::Ed(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref())})
            }
        };
        let Value::Object(more) = more else { unreachable!("members are an object") };
        jwk.as_object_mut().unwrap().extend(more);
        jwk
    }

    /// A token with this header, whatever it says.
    pub(super) fn token(&self, header: &Value, claims: &Value) -> String {
        self.token_of(&header.to_string(), &claims.to_string())
    }

    /// A token with these texts for header and claims, signed as the header's `alg` says, if that is one of the key.
    pub(super) fn token_of(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = self.sign(header, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn sign(&self, header: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Signer::Hmac(secret) => {
                let algorithm = if header.contains("HS512") {
                    hmac::HMAC_SHA512
                } else if header.contains("HS384") {
                    hmac::HMAC_SHA384
                } else {
                    hmac::HMAC_SHA256
                };
                hmac::sign(&hmac::Key::new(algorithm, secret), message).as_ref().to_vec()
            }
            Signer::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let signed = if header.contains("PS256") {
                    pair.sign(&RSA_PSS_SHA256, &random, message, &mut signature)
                } else if header.contains("RS512") {
                    pair.sign(&RSA_PKCS1_SHA512, &random, message, &mut signature)
                } else {
                    pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                };
                signed.unwrap();
                signature
            }
            Signer::P256(pair) | Signer::P384(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Signer::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

/// Bytes in PEM.
pub(super) fn pem(label: &str, der: &[u8]) -> String {
    let lines = STANDARD.encode(der);
    let lines: Vec<_> = lines.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// A key set of these keys.
pub(super) fn jwks(keys: &[Value]) -> KeyMaterial {
    KeyMaterial::jwks("`jwt.keys[0]`", &json!({ "keys": keys }).to_string())
}
