//! The viewer token of one start, for a service without any other token.
//!
//! ```text
//!  start ─► 256 random bits ─► file and banner ─► another token is seen ─► ended for the life of the process, file removed
//! ```
//! The token is never logged. It is shown by [`Offer`] alone, which the banner prints at a terminal.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use tollgate_records::Role;

use super::caller::Caller;
use super::guard::Bearer;
use crate::resp::Password;
use crate::token_file::TokenFile;

/// Number and name of the token in `whoami`. Tokens in the database have numbers of 16 hexadecimal digits.
pub(super) const START: &str = "start";

/// A viewer token that is valid for one run of the program at most.
pub(crate) struct StartToken {
    text: String,
    password: Password,
    /// Where commands of the same user find the token; `None` without a state directory.
    path: Option<PathBuf>,
    file: Mutex<Kept>,
}

/// The state of the file.
#[derive(Debug)]
enum Kept {
    NotYet,
    /// Dropping it removes the file.
    In {
        _file: TokenFile,
    },
    /// The token has ended, or the file cannot be written.
    Nowhere,
}

/// The banner's text about signing in while no token is configured.
#[derive(Default)]
pub(crate) struct Offer<'t> {
    /// The viewer token of this start, for a terminal and nothing else; `None` on a Unix socket, which needs none.
    pub(crate) token: Option<&'t str>,
    /// `None` if the token is in no file.
    pub(crate) file: Option<&'t Path>,
}

impl StartToken {
    /// Makes a token that is kept at `path` once it is offered. `None` if the machine has no random numbers.
    pub(super) fn random(path: Option<PathBuf>) -> Option<StartToken> {
        let (random, mut halves) = (SystemRandom::new(), [[0; 16]; 2]);
        for half in &mut halves {
            random.fill(half).ok()?;
        }
        let [high, low] = halves.map(u128::from_be_bytes);
        let text = format!("tg_{START}_{high:032x}{low:032x}");
        let password = Password::new(&text);
        Some(StartToken { text, password, path, file: Mutex::new(Kept::NotYet) })
    }

    /// Returns whether the request brings this token, in a time that does not tell how much of it is right.
    pub(super) fn is(&self, token: Bearer<'_>) -> bool {
        self.password.is(token.as_str().as_bytes())
    }

    /// The holder of the token: may read.
    pub(super) fn holder() -> Caller {
        let name = START.to_owned();
        Caller { token: Some(name.clone()), name, role: Role::Viewer, session: None }
    }

    /// Writes the file where that was not tried before, and returns what the banner shows.
    pub(super) fn offer(&self) -> Offer<'_> {
        let mut file = self.lock();
        if let (Kept::NotYet, Some(path)) = (&*file, &self.path) {
            *file = match TokenFile::write(path, &self.text) {
                Ok(written) => Kept::In { _file: written },
                Err(error) => {
                    let path = path.display();
                    tracing::warn!(
                        file = %path,
                        %error,
                        fix = "make the directory writable or set --state-dir",
                        "viewer token file not written"
                    );
                    Kept::Nowhere
                }
            };
        }
        let is_written = matches!(&*file, Kept::In { .. });
        Offer { token: Some(&self.text), file: self.path.as_deref().filter(|_| is_written) }
    }

    /// Removes the file, also one that a killed process left behind. It is not written again.
    pub(super) fn end(&self) {
        let mut file = self.lock();
        if let (Kept::NotYet, Some(path)) = (&*file, &self.path) {
            // The token in it has ended with its process.
            let _ = std::fs::remove_file(path);
        }
        *file = Kept::Nowhere;
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token itself, for tests that send it.
    #[cfg(test)]
    pub(super) fn reveal(&self) -> &str {
        &self.text
    }
}

/// Says that there is one, and no more.
impl fmt::Debug for StartToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StartToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_of_a_killed_process_is_removed_where_no_token_is_offered() {
        let path = std::env::temp_dir().join(format!("tollgate-start-token-{}", std::process::id()));
        std::fs::write(&path, "tg_start_stale").unwrap();
        let token = StartToken::random(Some(path.clone())).unwrap();
        token.end();
        assert!(!path.exists());
        assert!(token.offer().file.is_none(), "it is not written again");
    }

    #[test]
    fn start_tokens_are_long_differ_and_are_not_printed() {
        let (one, other) = (StartToken::random(None).unwrap(), StartToken::random(None).unwrap());
        assert_ne!(one.reveal(), other.reveal());
        assert_eq!(one.reveal().len(), "tg_start_".len() + 64);
        assert_eq!(format!("{one:?}"), "StartToken(…)");
    }
}
