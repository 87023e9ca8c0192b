//! The policy that is to be in force: a file, or the one that is built in.
//!
//! Promises one line for every way in which a file can be no text, that no more than [`POLICY_BYTES_MAX`] of it is read, and that
//! nobody waits for the other end of a pipe.

use std::fmt::{self, Write};
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tollgate::PolicyError;
use tollgate::jwt::JwtKeyError;
use tollgate::policy::Mistakes;

/// Longest policy, in bytes: 4 MiB, as the parser has it.
const POLICY_BYTES_MAX: u64 = 4 * 1_024 * 1_024;

/// The policy that is in force when none is given.
pub const EMBEDDED_POLICY: &str = "{name: per-client, scope: ip, rate: 5/s, burst: 10}";

/// Where the policy is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PolicySource {
    Embedded,
    File(PathBuf),
}

/// A policy's text, not yet looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyText {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Why there is no policy to put in force.
#[derive(Debug)]
#[non_exhaustive]
pub enum PolicyFault {
    /// The file cannot be read: its name, and why with the cure.
    Unread {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
    /// It has mistakes.
    Mistakes(Mistakes),
    /// The limiter refuses it.
    Unenforceable(PolicyError),
    /// Something on record cannot be read.
    Records {
        /// What, and why: a line each.
        why: String,
    },
    /// A key for tokens that it names cannot be used.
    Keys {
        /// What messages call the policy.
        policy: String,
        /// Which key, and why.
        error: JwtKeyError,
    },
}

impl PolicySource {
    /// Reads the text.
    pub(crate) fn read(&self) -> Result<PolicyText, PolicyFault> {
        match self {
            PolicySource::Embedded => {
                Ok(PolicyText { name: "the embedded policy".to_owned(), text: EMBEDDED_POLICY.to_owned() })
            }
            PolicySource::File(path) => text_of(path)
                .map(|text| PolicyText { name: path.display().to_string(), text })
                .map_err(|why| PolicyFault::Unread { path: path.clone(), why }),
        }
    }
}

impl PolicyText {
    /// Tells one text from another.
    pub(crate) fn hash(&self) -> String {
        short_hash(&self.text)
    }
}

/// The first 12 digits of a text's SHA-256.
pub(crate) fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(6).fold(String::new(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

fn text_of(path: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            "there is no such file; check its name, or write a policy with `tollgate init`".to_owned()
        }
        io::ErrorKind::IsADirectory => "it is a directory; name a file in it".to_owned(),
        _ => format!("{error}; make it readable for the program"),
    };
    let too_large = || {
        format!(
            "it is longer than {POLICY_BYTES_MAX} bytes (4 MiB); describe many clients by one rule and a key"
        )
    };
    let check_kind = |metadata: &Metadata| match () {
        () if metadata.is_dir() => Err("it is a directory; name a file in it".to_owned()),
        () if !metadata.is_file() => {
            Err("it is no plain file, so it cannot be read again when it changes; name a plain file"
                .to_owned())
        }
        () => Ok(()),
    };
    // Before it is opened, since that alone may do something to a device.
    check_kind(&path.metadata().map_err(unreadable)?)?;
    // It may be another one by now: to open a pipe would be to wait for whoever writes into it.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    check_kind(&metadata)?;
    if metadata.len() > POLICY_BYTES_MAX {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(POLICY_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > POLICY_BYTES_MAX {
        return Err(too_large());
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("it is empty; `tollgate init` writes a policy to start from".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        format!("it is no text: byte {} is not UTF-8; save it as UTF-8", error.utf8_error().valid_up_to())
    })
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyFault::Unread { path, why } => {
                write!(f, "cannot read the policy '{}': {why}", path.display())
            }
            PolicyFault::Mistakes(mistakes) => write!(f, "{mistakes}"),
            PolicyFault::Unenforceable(error) => write!(f, "{error}"),
            PolicyFault::Records { why } => write!(f, "{why}"),
            PolicyFault::Keys { policy, error } => write!(f, "{policy}: {error}"),
        }
    }
}

impl std::error::Error for PolicyFault {}

#[cfg(test)]
mod tests {
    use tollgate::policy::Policy;

    use super::*;

    #[test]
    fn the_embedded_policy_is_five_a_second_and_ten_at_once_for_each_client() {
        let policy = Policy::parse("embedded", EMBEDDED_POLICY).unwrap();
        let limiter = tollgate::Limiter::from_policy(policy).unwrap();
        let ask = |last| tollgate::policy::Facts {
            address: Some([192, 0, 2, last].into()),
            ..tollgate::policy::Facts::new("GET", "/")
        };
        assert_eq!((0..20).filter(|_| limiter.check(&ask(1)).is_admitted()).count(), 10);
        assert!(limiter.check(&ask(2)).is_admitted());
    }

    #[test]
    fn the_embedded_policy_has_no_lint() {
        let policy = Policy::parse("embedded", EMBEDDED_POLICY).unwrap();
        assert!(policy.lints().is_empty(), "{:?}", policy.lints());
    }

    #[test]
    fn two_texts_have_two_hashes() {
        let hash = |text: &str| PolicyText { name: String::new(), text: text.to_owned() }.hash();
        assert_eq!(hash("").len(), 12);
        assert_ne!(hash("a"), hash("b"));
    }
}
