//! How those who were denied are named in the log: as they are, by a pseudonym, or not at all.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use aws_lc_rs::hmac;

/// Bytes of a pseudonym: two people share one in 2^64 pairs.
const PSEUDONYM_BYTES: usize = 16;
/// What a pseudonym begins with.
const PSEUDONYM: &str = "hashed:";

/// How users, addresses and the keys of buckets stand in the log. The endpoint is kept as it is in any case: give paths without names in them.
#[derive(Clone, Default)]
pub enum Identifiers {
    /// As they are.
    #[default]
    Plain,
    /// By a pseudonym that is the same for the same client, and that only the holder of the secret can work out: `hashed:` and 32 hex digits
    /// of HMAC-SHA-256.
    Hashed(IdentifierSecret),
    /// Not at all.
    Off,
}

/// What pseudonyms are made with. Never shown.
#[derive(Clone)]
pub struct IdentifierSecret(Arc<hmac::Key>);

/// Which of the identifiers: the same text has another pseudonym as another one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Identifier {
    User,
    Address,
    Key,
}

impl IdentifierSecret {
    /// By any bytes; 32 random ones are best. Another secret makes other pseudonyms.
    pub fn new(secret: &[u8]) -> IdentifierSecret {
        IdentifierSecret(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, secret)))
    }
}

impl Identifiers {
    /// Whether a text has the form of a pseudonym, as the log lists them: `hashed:` and 32 hex digits.
    pub fn is_pseudonym(text: &str) -> bool {
        text.strip_prefix(PSEUDONYM).is_some_and(|digits| {
            digits.len() == 2 * PSEUDONYM_BYTES
                && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        })
    }

    /// What stands in the log for an identifier; `None` for nothing.
    pub(crate) fn shown(&self, identifier: Identifier, text: String) -> Option<String> {
        match self {
            Self::Plain => Some(text),
            Self::Hashed(secret) => Some(secret.pseudonym(identifier, &text)),
            Self::Off => None,
        }
    }
}

impl IdentifierSecret {
    fn pseudonym(&self, identifier: Identifier, text: &str) -> String {
        let kind: &[u8] = match identifier {
            Identifier::User => b"user\0",
            Identifier::Address => b"address\0",
            Identifier::Key => b"key\0",
        };
        let mut context = hmac::Context::with_key(&self.0);
        context.update(kind);
        context.update(text.as_bytes());
        let mut pseudonym = PSEUDONYM.to_owned();
        for byte in context.sign().as_ref().iter().take(PSEUDONYM_BYTES) {
            // Writing to a text cannot fail.
            let _ = write!(pseudonym, "{byte:02x}");
        }
        pseudonym
    }
}

impl fmt::Debug for Identifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Hashed(_) => "Hashed",
            Self::Off => "Off",
        })
    }
}

impl fmt::Debug for IdentifierSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentifierSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudonym_is_the_same_for_the_same_client_and_secret_alone() {
        let named = |secret: &str, identifier, text: &str| {
            Identifiers::Hashed(IdentifierSecret::new(secret.as_bytes()))
                .shown(identifier, text.to_owned())
                .unwrap()
        };
        let alice = named("s", Identifier::User, "alice");
        assert_eq!(alice, named("s", Identifier::User, "alice"));
        assert!(alice.starts_with("hashed:") && alice.len() == 39 && !alice.contains("alice"), "{alice}");
        assert!(Identifiers::is_pseudonym(&alice));
        for text in
            ["alice", "hashed:", "hashed:61e8", &alice.to_uppercase(), &format!("{alice}0"), &alice[7..]]
        {
            assert!(!Identifiers::is_pseudonym(text), "{text}");
        }
        assert_ne!(alice, named("t", Identifier::User, "alice"));
        assert_ne!(alice, named("s", Identifier::Key, "alice"));
        assert_ne!(alice, named("s", Identifier::User, "alicf"));
    }

    #[test]
    fn the_secret_is_not_shown() {
        let hashed = Identifiers::Hashed(IdentifierSecret::new(b"correct horse"));
        assert_eq!(format!("{hashed:?}"), "Hashed");
        assert_eq!(Identifiers::Off.shown(Identifier::User, "alice".to_owned()), None);
    }
}
