//! The verifier: all keys, and what is asked of claims. Immutable: refreshed keys are a new one, swapped in whole.

use serde_json::Value;
use tollgate_policy::JwtSettings;

use super::claims::Demands;
use super::jwks::KeySet;
use super::key::Key;
use super::material::{KeyMaterial, Kind};
use super::token::Parts;
use super::{JwtKeyError, JwtKeyProblem, KEY_BYTES_MAX, TokenFault};

/// Most keys of one verifier.
pub const KEYS_MAX: usize = 256;

/// So many keys are tried at most for one token, in the order in which they were given: verifying is dear, and anybody can
/// send tokens. A token that names its key (`kid`) needs one try.
pub const KEYS_TRIED_MAX: usize = 8;

/// Verifies tokens. Takes no lock, reads no clock.
#[derive(Debug, Clone)]
pub struct Verifier {
    header: Box<str>,
    keys: Vec<Key>,
    demands: Demands,
    passed_over: usize,
}

impl Verifier {
    /// A verifier with these keys. None at all is allowed, and refuses every token: so it is until a key set was fetched.
    pub fn new(settings: &JwtSettings, keys: &[KeyMaterial]) -> Result<Verifier, JwtKeyError> {
        let mut verifier = Verifier {
            header: settings.header.clone(),
            keys: Vec::new(),
            demands: Demands::new(settings),
            passed_over: 0,
        };
        for material in keys {
            let added = verifier.add(material);
            added.map_err(|problem| JwtKeyError::new(&material.source, problem))?;
        }
        Ok(verifier)
    }

    /// Accepts tokens without `exp` too, which are otherwise refused: one that leaks is good forever.
    #[must_use]
    pub fn accepting_no_expiry(mut self) -> Verifier {
        self.demands.needs_expiry = false;
        self
    }

    /// The claims of a token, which are a JSON object, if a key of ours signed it and it is valid at this time, in seconds since
    /// 1970.
    ///
    /// A token that names a key (`kid`) is verified by the key of that name, or by those that have no name; one that names
    /// none by every key of its algorithm, [`KEYS_TRIED_MAX`] at most. A token without `exp` is refused, unless
    /// [`accepting_no_expiry`](Verifier::accepting_no_expiry).
    pub fn verify(&self, token: &str, unix_s: u64) -> Result<Value, TokenFault> {
        let parts = Parts::of(token)?;
        self.check_signature(&parts)?;
        let claims = parts.claims()?;
        self.demands.check(&claims, unix_s)?;
        Ok(claims)
    }

    /// How many keys there are.
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is a key of this name (`kid`).
    pub fn has_key(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid.as_deref() == Some(kid))
    }

    /// How many keys of key sets were passed over because they cannot verify.
    pub fn passed_over(&self) -> usize {
        self.passed_over
    }

    /// The header field that holds the token, in lower case.
    pub fn header(&self) -> &str {
        &self.header
    }

    fn check_signature(&self, parts: &Parts<'_>) -> Result<(), TokenFault> {
        let algorithm = parts.header.alg;
        let kid = parts.header.kid.as_deref();
        // A key without a name may be meant by any.
        let is_meant = |key: &&Key| kid.is_none() || key.kid.is_none() || key.kid.as_deref() == kid;
        let mut meant = self.keys.iter().filter(is_meant).peekable();
        if meant.peek().is_none() {
            return Err(TokenFault::UnknownKey);
        }
        let mut fitting = meant.filter(|key| key.is_for(algorithm)).peekable();
        if fitting.peek().is_none() {
            return Err(TokenFault::AlgorithmRefused);
        }
        let mut tried = fitting.take(KEYS_TRIED_MAX);
        let is_signed = tried.any(|key| key.has_signed(algorithm, parts.signed, &parts.signature));
        if is_signed { Ok(()) } else { Err(TokenFault::BadSignature) }
    }

    fn add(&mut self, material: &KeyMaterial) -> Result<(), JwtKeyProblem> {
        if material.bytes() > KEY_BYTES_MAX {
            return Err(JwtKeyProblem::TooLarge);
        }
        let set = match &material.kind {
            Kind::Secret { algorithm, secret } => KeySet::one(Key::secret(algorithm, secret)?),
            Kind::Pem { algorithm, pem } => KeySet::one(Key::pem(algorithm, pem)?),
            Kind::Jwks(text) => KeySet::parse(text)?,
        };
        self.passed_over += set.passed_over;
        for key in set.keys {
            if let (Some(kid), true) = (&key.kid, self.keys.iter().any(|other| other.is_confused_with(&key)))
            {
                return Err(JwtKeyProblem::DuplicateKid(kid.clone()));
            }
            self.keys.push(key);
        }
        if self.keys.len() > KEYS_MAX {
            return Err(JwtKeyProblem::TooManyKeys(self.keys.len()));
        }
        Ok(())
    }
}
