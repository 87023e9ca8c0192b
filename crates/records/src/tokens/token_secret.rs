//! The secret of a token: `tg_<id>_<secret>`, with 256 random bits.

use std::fmt;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::RecordsError;

const PREFIX: &str = "tg_";
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
/// What a token is hashed with: nothing else is. A word of 256 random bits needs no salt and no slow hash.
const HASH_BYTES: usize = 32;
/// Longest text that is looked at as a token.
const PRESENTED_BYTES_MAX: usize = 128;

/// A token in full. `Debug` shows its number alone; [`TokenSecret::reveal`] is for the one who asked for it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret {
    token_id: String,
    text: String,
}

/// What somebody presents as a token.
pub(super) struct Presented<'a> {
    pub(super) token_id: &'a str,
    hash: [u8; HASH_BYTES],
}

impl TokenSecret {
    pub(super) fn random() -> Result<TokenSecret, RecordsError> {
        let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
        let random = SystemRandom::new();
        let filled = random.fill(&mut id).and_then(|()| random.fill(&mut secret));
        filled
            .map_err(|_| RecordsError::Refused { what: "this machine has no random numbers".to_owned() })?;
        let token_id = format!("{:016x}", u64::from_be_bytes(id));
        let text = format!("{PREFIX}{token_id}_{}", URL_SAFE_NO_PAD.encode(secret));
        Ok(TokenSecret { token_id, text })
    }

    /// All of it, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// By which it is found; no secret.
    pub fn token_id(&self) -> &str {
        &self.token_id
    }

    pub(super) fn hash(&self) -> [u8; HASH_BYTES] {
        Sha256::digest(&self.text).into()
    }
}

impl<'a> Presented<'a> {
    /// `None` if it does not look like a token.
    pub(super) fn parse(text: &'a str) -> Option<Presented<'a>> {
        if text.len() > PRESENTED_BYTES_MAX {
            return None;
        }
        let (token_id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_id = token_id.len() == 2 * ID_BYTES && token_id.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_id && !secret.is_empty()).then(|| Presented { token_id, hash: Sha256::digest(text).into() })
    }

    /// Whether the stored hash is this one's, in a time that depends on lengths alone.
    pub(super) fn is_hashed_by(&self, stored: &[u8]) -> bool {
        self.hash.as_slice().ct_eq(stored).into()
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenSecret({PREFIX}{}_***)", self.token_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_by_its_hash_and_never_shown_by_chance() {
        let secret = TokenSecret::random().unwrap();
        let presented = Presented::parse(secret.reveal()).unwrap();
        assert_eq!(presented.token_id, secret.token_id());
        assert!(presented.is_hashed_by(&secret.hash()));
        assert!(!format!("{secret:?}").contains(&secret.reveal()[20..]));
        assert_ne!(secret, TokenSecret::random().unwrap());
    }

    #[test]
    fn one_wrong_character_is_another_token() {
        let secret = TokenSecret::random().unwrap();
        let mut text = secret.reveal().to_owned();
        let last = if text.pop() == Some('A') { 'B' } else { 'A' };
        text.push(last);
        assert!(!Presented::parse(&text).unwrap().is_hashed_by(&secret.hash()));
        assert!(!Presented::parse(&text).unwrap().is_hashed_by(&[]));
    }

    #[test]
    fn what_is_no_token_is_not_looked_up() {
        let long = format!("tg_0123456789abcdef_{}", "x".repeat(PRESENTED_BYTES_MAX));
        for text in
            ["", "tg_", "tg_0123456789abcdef", "tg_0123456789abcdef_", "tg_' OR 1=1 --_x", "Bearer x", &long]
        {
            assert!(Presented::parse(text).is_none(), "{text}");
        }
    }
}
