//! One key, and the algorithms it is for.
//!
//! Promises: a key never verifies with an algorithm of another kind, so that a public key is no HMAC secret; a key that could
//! never verify anything, or is too weak to, is refused when it is made.

use std::fmt;

use jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind};

use super::JwtKeyProblem;
use super::pem::public_key;

const RSA_BITS_MIN: usize = 2_048;
const RSA_BITS_MAX: usize = 8_192;

/// A key that verifies.
#[derive(Clone)]
pub(super) struct Key {
    /// Its name in a key set.
    pub kid: Option<Box<str>>,
    algorithms: Algorithms,
    verifying: DecodingKey,
}

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithms {
    One(Algorithm),
    /// Any of the RSA signatures: a key set need not say which.
    EveryRsa,
}

impl Key {
    /// A shared secret.
    pub(super) fn secret(algorithm: &str, secret: &[u8]) -> Result<Key, JwtKeyProblem> {
        let algorithm = named(algorithm)?;
        if algorithm.family() != AlgorithmFamily::Hmac {
            return Err(JwtKeyProblem::NeedsPublicKey(name(algorithm)));
        }
        if secret.windows(11).any(|bytes| bytes == b"-----BEGIN ") {
            return Err(JwtKeyProblem::SecretIsPem);
        }
        Key::new(None, Algorithms::One(algorithm), DecodingKey::from_secret(secret))
    }

    /// A public key in PEM.
    pub(super) fn pem(algorithm: &str, pem: &[u8]) -> Result<Key, JwtKeyProblem> {
        let algorithm = named(algorithm)?;
        if algorithm.family() == AlgorithmFamily::Hmac {
            return Err(JwtKeyProblem::NeedsSecret(name(algorithm)));
        }
        let key = public_key(algorithm, pem)?;
        Key::new(None, Algorithms::One(algorithm), key)
    }

    /// A key of a known kind, if it is strong enough and fits its algorithms.
    pub(super) fn new(
        kid: Option<Box<str>>,
        algorithms: Algorithms,
        key: DecodingKey,
    ) -> Result<Key, JwtKeyProblem> {
        match (algorithms, key.kind()) {
            (_, DecodingKeyKind::RsaModulusExponent { n, .. }) => check_modulus(n)?,
            (Algorithms::One(algorithm), DecodingKeyKind::SecretOrDer(bytes)) => match algorithm.family() {
                AlgorithmFamily::Hmac => check_secret(algorithm, bytes)?,
                AlgorithmFamily::Ec | AlgorithmFamily::Ed => check_point(algorithm, bytes)?,
                AlgorithmFamily::Rsa => return Err(JwtKeyProblem::UnreadablePem(name(algorithm))),
            },
            (Algorithms::EveryRsa, DecodingKeyKind::SecretOrDer(_)) => {
                return Err(JwtKeyProblem::UnreadablePem("RSA".into()));
            }
        }
        Ok(Key { kid, algorithms, verifying: key })
    }

    /// Whether the key is for this algorithm.
    pub(super) fn is_for(&self, algorithm: Algorithm) -> bool {
        match self.algorithms {
            Algorithms::One(own) => own == algorithm,
            Algorithms::EveryRsa => algorithm.family() == AlgorithmFamily::Rsa,
        }
    }

    /// Whether no token could tell the two keys apart.
    pub(super) fn is_confused_with(&self, other: &Key) -> bool {
        let shared = match (self.algorithms, other.algorithms) {
            (Algorithms::One(own), _) => other.is_for(own),
            (_, Algorithms::One(theirs)) => self.is_for(theirs),
            (Algorithms::EveryRsa, Algorithms::EveryRsa) => true,
        };
        shared && self.kid.is_some() && self.kid == other.kid
    }

    /// Whether this key signed the message with this algorithm, which must be one that it is for.
    pub(super) fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &Vec<u8>) -> bool {
        // The provider by name: the crate's own choice of one panics if somebody else's dependency brings a second.
        let make = DEFAULT_PROVIDER.verifier_factory;
        self.is_for(algorithm)
            && make(&algorithm, &self.verifying)
                .is_ok_and(|verifier| verifier.verify(message, signature).is_ok())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("kid", &self.kid)
            .field("algorithms", &self.algorithms)
            .finish_non_exhaustive()
    }
}

fn named(algorithm: &str) -> Result<Algorithm, JwtKeyProblem> {
    algorithm.parse().map_err(|_| JwtKeyProblem::UnknownAlgorithm(algorithm.into()))
}

/// As it is written in tokens.
pub(super) fn name(algorithm: Algorithm) -> Box<str> {
    format!("{algorithm:?}").into()
}

/// RFC 7518, 3.2: a secret is at least as long as the hash.
fn check_secret(algorithm: Algorithm, secret: &[u8]) -> Result<(), JwtKeyProblem> {
    let bytes_min = match algorithm {
        Algorithm::HS384 => 48,
        Algorithm::HS512 => 64,
        _ => 32,
    };
    if secret.len() < bytes_min {
        return Err(JwtKeyProblem::ShortSecret { bytes: secret.len(), bytes_min });
    }
    Ok(())
}

fn check_modulus(modulus: &[u8]) -> Result<(), JwtKeyProblem> {
    let mut significant = modulus.iter().skip_while(|byte| **byte == 0);
    let first_bits = significant.next().map_or(0, |byte| 8 - byte.leading_zeros() as usize);
    let bits = first_bits + 8 * significant.count();
    if (RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) { Ok(()) } else { Err(JwtKeyProblem::RsaBits(bits)) }
}

/// An uncompressed point of the algorithm's curve, by its length.
fn check_point(algorithm: Algorithm, point: &[u8]) -> Result<(), JwtKeyProblem> {
    let fits = match algorithm {
        Algorithm::ES256 => point.len() == 65 && point.first() == Some(&4),
        Algorithm::ES384 => point.len() == 97 && point.first() == Some(&4),
        _ => point.len() == 32,
    };
    if fits { Ok(()) } else { Err(JwtKeyProblem::WrongCurve(name(algorithm))) }
}
