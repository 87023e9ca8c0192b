//! Why a key cannot be used.

use std::fmt;

use super::{JWKS_KEYS_MAX, KEY_BYTES_MAX, KEYS_MAX};

/// A key that cannot be used, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtKeyError {
    /// Which field and which variable, file or address, as given to [`KeyMaterial`](super::KeyMaterial).
    pub source: Box<str>,
    /// What is wrong with it.
    pub problem: JwtKeyProblem,
}

/// What is wrong with a key. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JwtKeyProblem {
    /// No algorithm of this name.
    UnknownAlgorithm(Box<str>),
    /// The algorithm takes a public key, and there is a secret.
    NeedsPublicKey(Box<str>),
    /// The algorithm takes a secret, and there is a public key.
    NeedsSecret(Box<str>),
    /// A secret shorter than its algorithm's hash can be guessed.
    ShortSecret {
        /// Its bytes.
        bytes: usize,
        /// The least, in bytes.
        bytes_min: usize,
    },
    /// The secret is a key in PEM: whoever knows the public key could forge tokens.
    SecretIsPem,
    /// No public key in PEM of the algorithm's kind.
    UnreadablePem(Box<str>),
    /// A private key, which has no business here.
    PrivateKey,
    /// A certificate, not a key.
    Certificate,
    /// An RSA key of fewer than 2048 or more than 8192 bits.
    RsaBits(usize),
    /// A key of another curve than its algorithm's.
    WrongCurve(Box<str>),
    /// No JSON Web Key Set.
    UnreadableJwks(Box<str>),
    /// A key set with more than [`JWKS_KEYS_MAX`] keys.
    JwksKeys(usize),
    /// A key set of so many keys, of which none can verify.
    NoUsableKey(usize),
    /// Two keys of one name and algorithm.
    DuplicateKid(Box<str>),
    /// More than [`KEYS_MAX`] keys in all.
    TooManyKeys(usize),
    /// More than [`KEY_BYTES_MAX`] bytes.
    TooLarge,
    /// The environment variable is not set, or empty.
    VariableMissing,
    /// The file cannot be read.
    UnreadableFile(Box<str>),
    /// The address is none that a key set can be fetched from: why not.
    UnusableUrl(Box<str>),
}

impl JwtKeyError {
    pub(super) fn new(source: &str, problem: JwtKeyProblem) -> JwtKeyError {
        JwtKeyError { source: source.into(), problem }
    }
}

impl fmt::Display for JwtKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.problem)
    }
}

impl fmt::Display for JwtKeyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JwtKeyProblem::UnknownAlgorithm(name) => write!(
                f,
                "`algorithm` is `{name}`; write HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA"
            ),
            JwtKeyProblem::NeedsPublicKey(name) => write!(
                f,
                "`algorithm` is `{name}`, which takes a public key, and this is a secret; name a PEM file, or write HS256"
            ),
            JwtKeyProblem::NeedsSecret(name) => write!(
                f,
                "`algorithm` is `{name}`, which takes a secret, and this is a public key; write the algorithm that it was made for"
            ),
            JwtKeyProblem::ShortSecret { bytes, bytes_min } => {
                write!(f, "the secret has {bytes} bytes and can be guessed; use at least {bytes_min} random ones")
            }
            JwtKeyProblem::SecretIsPem => f.write_str(
                "the secret is a key in PEM, and whoever knows it could forge tokens; name it as a PEM file, with its own algorithm",
            ),
            JwtKeyProblem::UnreadablePem(name) => {
                write!(f, "there is no public key for `{name}` in it; it must begin with `-----BEGIN PUBLIC KEY-----`")
            }
            JwtKeyProblem::PrivateKey => {
                f.write_str("it is a private key; give the public one (`openssl pkey -pubout`), and keep this one away")
            }
            JwtKeyProblem::Certificate => {
                f.write_str("it is a certificate; give its public key (`openssl x509 -pubkey -noout`)")
            }
            JwtKeyProblem::RsaBits(bits) => write!(f, "the RSA key has {bits} bits; use one of 2048 to 8192"),
            JwtKeyProblem::WrongCurve(name) => write!(
                f,
                "the key is not on the curve of `{name}`; ES256 takes P-256, ES384 takes P-384 and EdDSA takes Ed25519"
            ),
            JwtKeyProblem::UnreadableJwks(error) => {
                write!(f, "it is no JSON Web Key Set ({error}); it should be like {{\"keys\": [ … ]}}")
            }
            JwtKeyProblem::JwksKeys(keys) => {
                write!(f, "the key set has {keys} keys, {JWKS_KEYS_MAX} at most; remove the old ones")
            }
            JwtKeyProblem::NoUsableKey(keys) => write!(
                f,
                "none of the key set's {keys} keys can verify; it needs one of kty RSA, EC (P-256, P-384), OKP (Ed25519) or oct (with `alg`)"
            ),
            JwtKeyProblem::DuplicateKid(kid) => {
                write!(f, "`kid` `{kid}` names two keys; give every key a name of its own")
            }
            JwtKeyProblem::TooManyKeys(keys) => write!(f, "it makes {keys} keys, {KEYS_MAX} at most; remove some"),
            JwtKeyProblem::TooLarge => write!(f, "it is longer than {KEY_BYTES_MAX} bytes; is it the right one?"),
            JwtKeyProblem::VariableMissing => {
                f.write_str("the environment variable is not set or empty; set it to the secret")
            }
            JwtKeyProblem::UnreadableFile(error) => {
                write!(f, "the file cannot be read ({error}); check the path and its permissions")
            }
            JwtKeyProblem::UnusableUrl(why) => {
                write!(f, "it is no address of a key set ({why}); write it as in `https://id.example.com/jwks`")
            }
        }
    }
}

impl std::error::Error for JwtKeyError {}
