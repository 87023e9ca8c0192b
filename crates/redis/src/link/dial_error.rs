//! Why there is no connection.

use std::fmt;

use super::Address;
use crate::ServerError;

/// Why there is no connection to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialError {
    /// The first attempt takes longer than one should.
    NotYet,
    /// The name means nothing, or nobody listens there, or it does not want us.
    Unreachable {
        /// Where.
        address: Address,
        /// What the machine says.
        problem: String,
    },
    /// The connection, its encryption or the login took too long.
    TimedOut {
        /// Where.
        address: Address,
    },
    /// The two do not trust each other.
    Tls {
        /// Where.
        address: Address,
        /// What is wrong.
        problem: String,
    },
    /// The server does not seem to speak TLS.
    NotTls {
        /// Where.
        address: Address,
        /// What came in its place.
        problem: String,
    },
    /// The connection was made, and closed before anything was answered.
    HungUp {
        /// Where.
        address: Address,
    },
    /// The server lets us not in, or is not ready.
    Refused {
        /// Where.
        address: Address,
        /// What it says.
        error: ServerError,
    },
    /// What answers does not speak the Redis protocol.
    NotRedis {
        /// Where.
        address: Address,
        /// What came.
        problem: String,
    },
    /// The server that sentinels name is not a master (any more, or yet).
    NotMaster {
        /// Where.
        address: Address,
    },
    /// No sentinel answers.
    NoSentinel {
        /// What the last of them lacked.
        problem: String,
    },
    /// The sentinels know no such service.
    UnknownService {
        /// Its name.
        service: String,
    },
    /// The server is no node of a cluster.
    NotCluster {
        /// Where.
        address: Address,
    },
    /// The connection answered nothing for too long.
    Silent {
        /// Where.
        address: Address,
    },
    /// The other side closed the connection.
    Closed {
        /// Where.
        address: Address,
    },
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet => write!(f, "the first attempt to connect is still under way"),
            Self::Unreachable { address, problem } => {
                write!(
                    f,
                    "{address} is not reached ({problem}); see whether the server runs there, and the name"
                )
            }
            Self::TimedOut { address } => {
                write!(
                    f,
                    "{address} did not answer in time; see whether it runs and is not too busy, and without TLS whether it wants that (rediss://)"
                )
            }
            Self::Tls { address, problem } => {
                write!(
                    f,
                    "no TLS with {address} ({problem}); name whom to trust with ?ca=FILE, and use TLS on both sides"
                )
            }
            Self::NotTls { address, problem } => write!(
                f,
                "{address} does not speak TLS, it seems ({problem}); write redis in place of rediss, or name the server's port for TLS"
            ),
            Self::HungUp { address } => write!(
                f,
                "{address} closed the connection before it answered; see whether the server is stopping, is Redis or Valkey, and wants TLS \
                 (rediss://)"
            ),
            Self::Refused { address, error } => write!(f, "{address}: {error}"),
            Self::NotRedis { address, problem } => {
                write!(
                    f,
                    "what listens at {address} is no Redis server ({problem}), or wants TLS (rediss://)"
                )
            }
            Self::NotMaster { address } => {
                write!(f, "{address} is a replica; the sentinels have not agreed on a master yet")
            }
            Self::NoSentinel { problem } => {
                write!(
                    f,
                    "no sentinel answers ({problem}); see whether sentinels run at these addresses, and use redis:// for a server itself"
                )
            }
            Self::UnknownService { service } => {
                write!(
                    f,
                    "the sentinels watch no master `{service}`; use the name that `SENTINEL MASTERS` shows"
                )
            }
            Self::NotCluster { address } => {
                write!(
                    f,
                    "{address} is no node of a cluster; use redis://, or set `cluster-enabled yes` there"
                )
            }
            Self::Silent { address } => {
                write!(f, "{address} answers nothing any more; another connection is tried")
            }
            Self::Closed { address } => write!(f, "{address} closed the connection; another is made"),
        }
    }
}

impl std::error::Error for DialError {}
