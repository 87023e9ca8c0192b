//! What keys are made of, and where it is read from.
//!
//! Only here are files and the environment read; what lies at an address is the caller's to fetch.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;

use tollgate_policy::{JwtKey, JwtSettings};

use super::{JwtKeyError, JwtKeyProblem};

/// Longest secret, file or key set, in bytes.
pub const KEY_BYTES_MAX: usize = 1 << 20;

/// What one key, or a set of them, is made of. Prints no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyMaterial {
    pub(super) source: Box<str>,
    pub(super) kind: Kind,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Secret { algorithm: Box<str>, secret: Vec<u8> },
    Pem { algorithm: Box<str>, pem: Vec<u8> },
    Jwks(Box<str>),
}

/// A key set that the policy names by its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToFetch {
    /// Where it came from, for [`KeyMaterial::jwks`].
    pub source: Box<str>,
    /// Its address.
    pub url: Box<str>,
}

impl KeyMaterial {
    /// A shared secret for `HS256`, `HS384` or `HS512`. The source is what errors call it: field, and variable or file.
    pub fn secret(source: &str, algorithm: &str, secret: impl Into<Vec<u8>>) -> KeyMaterial {
        let kind = Kind::Secret { algorithm: algorithm.into(), secret: secret.into() };
        KeyMaterial { source: source.into(), kind }
    }

    /// A public key in PEM (`BEGIN PUBLIC KEY`, or `BEGIN RSA PUBLIC KEY`).
    pub fn pem(source: &str, algorithm: &str, pem: impl Into<Vec<u8>>) -> KeyMaterial {
        let kind = Kind::Pem { algorithm: algorithm.into(), pem: pem.into() };
        KeyMaterial { source: source.into(), kind }
    }

    /// The text of a JSON Web Key Set.
    pub fn jwks(source: &str, text: &str) -> KeyMaterial {
        KeyMaterial { source: source.into(), kind: Kind::Jwks(text.into()) }
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.kind {
            Kind::Secret { secret: bytes, .. } | Kind::Pem { pem: bytes, .. } => bytes.len(),
            Kind::Jwks(text) => text.len(),
        }
    }
}

impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyMaterial").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Reads the keys that the settings name from the environment and from files (relative to the working directory), and lists
/// the key sets that are to be fetched. A secret is taken as it is, to the last byte. Stops at the first that is missing.
pub fn read_key_material(settings: &JwtSettings) -> Result<(Vec<KeyMaterial>, Vec<ToFetch>), JwtKeyError> {
    read_from(settings, |variable| env::var_os(variable))
}

fn read_from(
    settings: &JwtSettings,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(Vec<KeyMaterial>, Vec<ToFetch>), JwtKeyError> {
    let (mut read, mut to_fetch) = (Vec::new(), Vec::new());
    for (at, key) in settings.keys.iter().enumerate() {
        let source = source(at, key);
        let file = |path: &str| contents(path).map_err(|problem| JwtKeyError::new(&source, problem));
        match key {
            JwtKey::SecretFromEnv { algorithm, variable: name } => {
                let secret = variable(name).unwrap_or_default().into_encoded_bytes();
                if secret.is_empty() {
                    return Err(JwtKeyError::new(&source, JwtKeyProblem::VariableMissing));
                }
                read.push(KeyMaterial::secret(&source, algorithm, secret));
            }
            JwtKey::PemFile { algorithm, path } => {
                read.push(KeyMaterial::pem(&source, algorithm, file(path)?));
            }
            JwtKey::JwksFile(path) => {
                let text = String::from_utf8_lossy(&file(path)?).into_owned();
                read.push(KeyMaterial::jwks(&source, &text));
            }
            JwtKey::JwksUrl(url) => to_fetch.push(ToFetch { source, url: url.clone() }),
        }
    }
    Ok((read, to_fetch))
}

/// What errors call the key.
fn source(at: usize, key: &JwtKey) -> Box<str> {
    match key {
        JwtKey::SecretFromEnv { variable, .. } => format!("`jwt.keys[{at}]`, variable `{variable}`"),
        JwtKey::PemFile { path, .. } | JwtKey::JwksFile(path) => format!("`jwt.keys[{at}]`, file `{path}`"),
        JwtKey::JwksUrl(url) => format!("`jwt.keys[{at}]`, `{url}`"),
    }
    .into()
}

fn contents(path: &str) -> Result<Vec<u8>, JwtKeyProblem> {
    let unreadable = |error: std::io::Error| JwtKeyProblem::UnreadableFile(error.to_string().into());
    let mut bytes = Vec::new();
    // To open a pipe would be to wait for whoever writes into it.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(JwtKeyProblem::UnreadableFile("it is no plain file".into()));
    }
    let file = File::open(path).map_err(unreadable)?;
    // One more than is allowed, to tell a file that is too long from one that just fits.
    file.take(KEY_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > KEY_BYTES_MAX { Err(JwtKeyProblem::TooLarge) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jwt::mint;

    fn read(
        keys: Vec<JwtKey>,
        secret: Option<&str>,
    ) -> Result<(Vec<KeyMaterial>, Vec<ToFetch>), JwtKeyError> {
        let settings = JwtSettings { keys, ..mint::settings() };
        read_from(&settings, |variable| (variable == "JWT_SECRET").then(|| secret.map(OsString::from))?)
    }

    fn secret_from_env() -> JwtKey {
        JwtKey::SecretFromEnv { algorithm: "HS256".into(), variable: "JWT_SECRET".into() }
    }

    #[test]
    fn what_is_no_plain_file_is_refused_and_not_waited_for() {
        let pipe = std::env::temp_dir().join(format!("tollgate-jwt-pipe-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let path: Box<str> = pipe.to_str().unwrap().into();
        let fault = read(vec![JwtKey::JwksFile(path)], None).unwrap_err();
        std::fs::remove_file(pipe).unwrap();
        assert!(fault.to_string().contains("it is no plain file"), "{fault}");
        assert!(read(vec![JwtKey::JwksFile("/".into())], None).is_err());
    }

    #[test]
    fn secrets_come_from_the_environment_files_are_read_and_addresses_are_left_to_the_caller() {
        let folder = std::env::temp_dir().join(format!("tollgate-jwt-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("keys.json");
        std::fs::write(&path, "{\"keys\": []}").unwrap();
        let path: Box<str> = path.to_str().unwrap().into();
        let url = JwtKey::JwksUrl("https://id.example/jwks".into());
        let pem = JwtKey::PemFile { algorithm: "RS256".into(), path: path.clone() };
        let keys = vec![secret_from_env(), JwtKey::JwksFile(path), pem, url];
        let (read, to_fetch) = read(keys, Some("s\n")).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        assert!(matches!(&read[0].kind, Kind::Secret { secret, .. } if secret == b"s\n"));
        assert!(matches!(&read[1].kind, Kind::Jwks(text) if **text == *"{\"keys\": []}"));
        assert!(matches!(&read[2].kind, Kind::Pem { pem, .. } if pem == b"{\"keys\": []}"));
        assert_eq!(*to_fetch[0].url, *"https://id.example/jwks");
        assert!(!format!("{read:?}").contains("s\\n"), "no secret is printed");
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_cure() {
        let missing = "`jwt.keys[0]`, variable `JWT_SECRET`: the environment variable is not set or empty; set it to the secret";
        for secret in [None, Some("")] {
            assert_eq!(read(vec![secret_from_env()], secret).unwrap_err().to_string(), missing);
        }
        let file = JwtKey::PemFile { algorithm: "RS256".into(), path: "no/such/file.pem".into() };
        let error = read(vec![file], None).unwrap_err().to_string();
        assert!(
            error.starts_with("`jwt.keys[0]`, file `no/such/file.pem`: the file cannot be read ("),
            "{error}"
        );
        assert!(error.ends_with("check the path and its permissions"), "{error}");
    }
}
