//! The password of a door.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A password, kept as its hash and compared in a time that tells neither where a guess goes wrong nor how long the password is.
#[derive(Clone)]
pub struct Password {
    digest: [u8; 32],
}

impl Password {
    /// A password that is these bytes.
    pub fn new(password: impl AsRef<[u8]>) -> Self {
        Password { digest: Sha256::digest(password.as_ref()).into() }
    }

    /// Whether the guess is the password.
    pub(crate) fn is(&self, guess: &[u8]) -> bool {
        let guess: [u8; 32] = Sha256::digest(guess).into();
        self.digest.ct_eq(&guess).into()
    }
}

/// Says that there is one, and no more.
impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_is_the_password() {
        let password = Password::new("open sesame");
        assert!(password.is(b"open sesame"));
        for guess in ["", "open", "open sesamE", "open sesame "] {
            assert!(!password.is(guess.as_bytes()), "{guess:?}");
        }
        assert!(Password::new("").is(b""));
    }

    #[test]
    fn a_password_is_not_printed() {
        assert_eq!(format!("{:?}", Password::new("open sesame")), "Password(…)");
    }
}
