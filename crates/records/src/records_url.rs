//! Where the records are: what stands behind `--records`. Knows nothing of connections.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// Longest URL, in bytes.
const URL_BYTES_MAX: usize = 4_096;

/// Where the records are.
///
/// ```text
/// sqlite:PATH                                              a file on this machine; made if it is missing
/// postgres://user[:password]@host[:port]/database[?…]      a server; `postgresql://` is the same
/// off                                                      nowhere
/// ```
/// Behind `?` stand libpq's `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `host` (a folder of Unix sockets) and `application_name`. No password is
/// shown by `Display`, `Debug` or an error.
#[derive(Clone)]
pub struct RecordsUrl(pub(crate) Place);

#[derive(Clone)]
pub(crate) enum Place {
    Off,
    Sqlite(PathBuf),
    Postgres(Box<PgConnectOptions>),
}

/// Why a URL is none. Says nothing of what may be a password.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordsUrlError {
    /// Longer than any URL.
    TooLong {
        /// How long.
        bytes: usize,
    },
    /// It begins as none of ours.
    UnknownScheme,
    /// Nothing behind `sqlite:`.
    NoPath,
    /// A database in memory, which would be gone with its connection.
    InMemory,
    /// An `@` where a password must have had an unescaped `/`, `?` or `#` in it.
    StrayAt,
    /// PostgreSQL's URL cannot be read.
    Postgres(String),
    /// No name of a database.
    NoDatabase,
}

impl RecordsUrl {
    /// Reads a URL. The error says what to write.
    pub fn parse(url: &str) -> Result<RecordsUrl, RecordsUrlError> {
        if url.len() > URL_BYTES_MAX {
            return Err(RecordsUrlError::TooLong { bytes: url.len() });
        }
        if url.eq_ignore_ascii_case("off") {
            return Ok(RecordsUrl(Place::Off));
        }
        if let Some(path) = url.strip_prefix("sqlite:") {
            return sqlite(path.strip_prefix("//").unwrap_or(path));
        }
        if let Some(rest) = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://")) {
            return postgres(url, rest);
        }
        Err(RecordsUrlError::UnknownScheme)
    }

    /// A file on this machine.
    pub fn sqlite(path: impl Into<PathBuf>) -> RecordsUrl {
        RecordsUrl(Place::Sqlite(path.into()))
    }

    /// Whether nothing is to be filed.
    pub fn is_off(&self) -> bool {
        matches!(self.0, Place::Off)
    }
}

fn sqlite(path: &str) -> Result<RecordsUrl, RecordsUrlError> {
    match path {
        "" => Err(RecordsUrlError::NoPath),
        ":memory:" => Err(RecordsUrlError::InMemory),
        path if path.contains(['\0', '?']) => Err(RecordsUrlError::NoPath),
        path => Ok(RecordsUrl::sqlite(path)),
    }
}

fn postgres(url: &str, rest: &str) -> Result<RecordsUrl, RecordsUrlError> {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // What stands before would be told as host, database or parameter, and is a piece of the password.
    if rest[authority.len()..].contains('@') {
        return Err(RecordsUrlError::StrayAt);
    }
    let options = PgConnectOptions::from_str(url).map_err(|error| match error {
        sqlx::Error::Configuration(cause) => RecordsUrlError::Postgres(cause.to_string()),
        _ => RecordsUrlError::Postgres("it cannot be read".to_owned()),
    })?;
    if options.get_database().is_none_or(str::is_empty) {
        return Err(RecordsUrlError::NoDatabase);
    }
    Ok(RecordsUrl(Place::Postgres(Box::new(options))))
}

impl FromStr for RecordsUrl {
    type Err = RecordsUrlError;

    fn from_str(url: &str) -> Result<RecordsUrl, RecordsUrlError> {
        RecordsUrl::parse(url)
    }
}

impl fmt::Display for RecordsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Off => f.write_str("off"),
            Place::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Place::Postgres(options) => {
                let database = options.get_database().unwrap_or_default();
                write!(f, "postgres://{}:***@", options.get_username())?;
                match options.get_socket() {
                    Some(folder) => write!(f, "/{database}?host={}", folder.display())?,
                    None => write!(f, "{}:{}/{database}", options.get_host(), options.get_port())?,
                }
                if matches!(
                    options.get_ssl_mode(),
                    PgSslMode::VerifyFull | PgSslMode::VerifyCa | PgSslMode::Require
                ) {
                    f.write_str(" over TLS")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for RecordsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordsUrl({self})")
    }
}

impl fmt::Display for RecordsUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "the URL of the records has {bytes} bytes, {URL_BYTES_MAX} at most")
            }
            Self::UnknownScheme => {
                write!(
                    f,
                    "the records are at `sqlite:PATH`, at `postgres://user:password@host/database`, or `off`"
                )
            }
            Self::NoPath => write!(f, "`sqlite:` names no file; write `sqlite:PATH`, without parameters"),
            Self::InMemory => {
                write!(
                    f,
                    "`sqlite::memory:` would forget everything; write `sqlite:PATH`, or `off` to file nothing"
                )
            }
            Self::StrayAt => {
                write!(
                    f,
                    "an `@` stands behind the host; in a password write `/` as %2F, `?` as %3F, `#` as %23, `@` as %40"
                )
            }
            Self::Postgres(why) => write!(
                f,
                "the URL of PostgreSQL cannot be read: {why}; write postgres://user:password@host:port/database"
            ),
            Self::NoDatabase => {
                write!(f, "the URL names no database; write postgres://user:password@host:port/database")
            }
        }
    }
}

impl std::error::Error for RecordsUrlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(url: &str, expected: &str) {
        let parsed = RecordsUrl::parse(url).unwrap();
        assert_eq!(parsed.to_string(), expected);
        assert_eq!(format!("{parsed:?}"), format!("RecordsUrl({expected})"));
    }

    #[track_caller]
    fn refused(url: &str, beginning: &str) {
        let error = RecordsUrl::parse(url).unwrap_err();
        assert!(error.to_string().starts_with(beginning), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }

    #[test]
    fn a_password_is_never_shown() {
        shown(
            "postgres://tollgate:secret@db.example:5433/limits",
            "postgres://tollgate:***@db.example:5433/limits",
        );
        shown("postgresql://u:secret@h/d?sslmode=verify-full", "postgres://u:***@h:5432/d over TLS");
        shown("postgres://u:secret@x/d?host=/run/pg", "postgres://u:***@/d?host=/run/pg");
    }

    #[test]
    fn a_file_and_nothing_are_places_too() {
        shown("sqlite:tollgate.db", "sqlite:tollgate.db");
        shown("sqlite:///var/lib/tollgate/tollgate.db", "sqlite:/var/lib/tollgate/tollgate.db");
        shown("off", "off");
        assert!(RecordsUrl::parse("OFF").unwrap().is_off());
    }

    #[test]
    fn what_is_no_url_is_refused_with_the_cure_and_without_the_password() {
        refused("mysql://u:secret@h/d", "the records are at `sqlite:PATH`");
        refused("sqlite:", "`sqlite:` names no file");
        refused("sqlite::memory:", "`sqlite::memory:` would forget");
        refused("postgres://u:secret/x@h/d", "an `@` stands behind the host");
        refused("postgres://u:se?secret@h/d", "an `@` stands behind the host");
        refused("postgres://u:secret@h:port/d", "the URL of PostgreSQL cannot be read");
        refused("postgres://u:secret@h", "the URL names no database");
        refused(&format!("sqlite:{}", "x".repeat(5_000)), "the URL of the records has 5007 bytes");
    }
}
