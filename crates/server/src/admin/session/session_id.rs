//! What a cookie holds, and what is kept of it.

use std::fmt;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};

const ID_BYTES: usize = 32;

/// 256 random bits, in hexadecimal digits. Never printed.
pub(super) struct SessionId(String);

/// Its SHA-256, by which a session is found. Who reads it from memory cannot make a cookie of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::admin) struct SessionDigest([u8; 32]);

impl SessionId {
    /// One that nobody can guess; `None` if the machine has no random numbers.
    pub(super) fn random() -> Option<SessionId> {
        let mut bytes = [0; ID_BYTES];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let digit = |half: u8| char::from_digit(u32::from(half), 16);
        Some(SessionId(
            bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).flatten().collect(),
        ))
    }

    /// What somebody sends as one; `None` if it does not look like it.
    pub(super) fn read(text: &[u8]) -> Option<SessionId> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_id = text.len() == 2 * ID_BYTES && text.iter().all(is_digit);
        is_id.then(|| SessionId(String::from_utf8_lossy(text).into_owned()))
    }

    /// All of it, for the cookie.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    pub(super) fn digest(&self) -> SessionDigest {
        SessionDigest(Sha256::digest(&self.0).into())
    }
}

/// Says that there is one, and no more.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(…)")
    }
}

/// The same.
impl fmt::Debug for SessionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionDigest(…)")
    }
}

#[cfg(test)]
impl SessionDigest {
    /// One for a test.
    pub(super) fn numbered(number: usize) -> SessionDigest {
        SessionDigest(Sha256::digest(number.to_be_bytes()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_as_itself_and_never_shown_by_chance() {
        let id = SessionId::random().unwrap();
        let read = SessionId::read(id.reveal().as_bytes()).unwrap();
        assert_eq!(read.digest(), id.digest());
        assert_ne!(SessionId::random().unwrap().digest(), id.digest());
        assert!(!format!("{id:?}{:?}", id.digest()).contains(&id.reveal()[..4]));
    }

    #[test]
    fn what_is_no_id_is_none() {
        let long = "a".repeat(65);
        for text in ["", "a", &"A".repeat(64), &"g".repeat(64), &"a".repeat(63), &long, &"é".repeat(32)] {
            assert!(SessionId::read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
