//! Why a URL of the store is refused.

use std::fmt;

use super::{ADDRESSES_MAX, DATABASE_MAX, URL_BYTES_MAX};

/// Why a URL of the store is refused: the piece, what was found, and what to write. No password stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreUrlError {
    /// Longer than anybody needs.
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Nothing before `://`.
    NoScheme,
    /// A scheme that is none of ours.
    UnknownScheme(String),
    /// Something behind `#`.
    Fragment,
    /// An `@` behind the hosts: the password has characters that mean something in a URL.
    StrayAt,
    /// A percent sign without two hexadecimal digits, or bytes that are no text.
    BadEscape {
        /// Where.
        piece: &'static str,
    },
    /// `user@host`: a user, or a password?
    UserWithoutPassword,
    /// No host before the port or the comma.
    NoHost,
    /// A host that cannot be one.
    BadHost(String),
    /// A port that cannot be one.
    BadPort(String),
    /// More hosts than there may be: one without Sentinel and Cluster.
    SeveralAddresses {
        /// How many there are.
        count: usize,
    },
    /// Sentinel without the service's name, or with one that cannot be.
    BadService(String),
    /// A database that is no number, or too high.
    BadDatabase(String),
    /// One in the path, and one as `db`.
    TwoDatabases,
    /// Clusters have database 0 alone.
    DatabaseInCluster(u32),
    /// A Unix socket's path that is not absolute.
    BadPath(String),
    /// `insecure` is neither `true` nor `false`.
    BadInsecure(String),
    /// Whom to trust, and to trust anybody.
    InsecureWithCa,
    /// `cert` without `key`, or the other way round.
    HalfAnIdentity,
    /// A parameter of TLS where there is none.
    TlsParameterWithoutTls(String),
    /// A parameter twice.
    Twice(String),
    /// A parameter that is none of ours.
    UnknownParameter(String),
}

impl fmt::Display for StoreUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "the URL has {bytes} bytes; at most {URL_BYTES_MAX} are read")
            }
            Self::NoScheme => write!(
                f,
                "the URL has no scheme; begin with redis://, rediss://, redis+sentinel://, redis+cluster:// or unix:"
            ),
            Self::UnknownScheme(scheme) => write!(
                f,
                "the scheme is `{scheme}`; use redis, rediss (TLS), redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster or unix"
            ),
            Self::Fragment => write!(
                f,
                "the URL has a `#`; write %23 where it belongs to the password, and ?insecure=true to believe any certificate"
            ),
            Self::StrayAt => write!(
                f,
                "there is an `@` behind the host; write / as %2F, ? as %3F, # as %23 and @ as %40 in user and password"
            ),
            Self::BadEscape { piece } => {
                write!(
                    f,
                    "the {piece} has a `%` that begins no character of UTF-8; write a percent sign as %25"
                )
            }
            Self::UserWithoutPassword => {
                write!(f, "there is a user, but no password; write user:password@host, or :password@host")
            }
            Self::NoHost => write!(f, "a host is missing; write it as in redis://localhost:6379"),
            Self::BadHost(host) => {
                write!(f, "the host is `{host}`; use a name, an IPv4 address, or an IPv6 address in brackets")
            }
            Self::BadPort(port) => write!(f, "the port is `{port}`; use 1 to 65535"),
            Self::SeveralAddresses { count } => write!(
                f,
                "there are {count} hosts; name one, or up to {ADDRESSES_MAX} with redis+sentinel:// or redis+cluster://"
            ),
            Self::BadService(service) => write!(
                f,
                "the service is `{service}`; name the master that the sentinels watch, as in redis+sentinel://host/mymaster"
            ),
            Self::BadDatabase(text) => write!(f, "the database is `{text}`; use 0 to {DATABASE_MAX}"),
            Self::TwoDatabases => write!(f, "the database stands in the path and as `db`; write it once"),
            Self::DatabaseInCluster(database) => {
                write!(f, "the database is {database}, but a cluster has database 0 alone; leave it away")
            }
            Self::BadPath(path) => {
                write!(
                    f,
                    "the path is `{path}`; write that of the socket from the root on, as in unix:/run/redis.sock"
                )
            }
            Self::BadInsecure(value) => write!(f, "`insecure` is `{value}`; use true or false"),
            Self::InsecureWithCa => {
                write!(
                    f,
                    "`insecure` believes any certificate, so `ca` is never looked at; delete one of them"
                )
            }
            Self::HalfAnIdentity => {
                write!(f, "`cert` and `key` belong together; give both files, or neither")
            }
            Self::TlsParameterWithoutTls(name) => {
                write!(
                    f,
                    "`{name}` is about TLS, and this URL is without; begin it with rediss, or delete the parameter"
                )
            }
            Self::Twice(name) => write!(f, "`{name}` is given twice; write it once"),
            Self::UnknownParameter(name) => write!(
                f,
                "the parameter `{name}` is unknown here; there are db, with TLS ca, cert, key and insecure, with Sentinel sentinel_user and \
                 sentinel_password, with unix: user and password"
            ),
        }
    }
}

impl std::error::Error for StoreUrlError {}
