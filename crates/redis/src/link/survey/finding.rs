//! What an operator should know about the store, and the cure.

use std::fmt;

use super::{Role, ServerSeen};
use crate::ServerError;
use crate::link::Address;

/// The oldest release whose scripts do what ours need: major and minor version.
const OLDEST: (u32, u32) = (6, 2);

/// How bad a finding is; the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Limits are not kept with this store: it must not be used.
    Unfit,
    /// Limits are kept, but something will go wrong one day.
    Warning,
    /// Something could not be looked at.
    Note,
}

/// Something that is not as it should be. The text names the server, what was found and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A release before 6.2.
    TooOld {
        /// Where.
        address: Address,
        /// Its version.
        version: String,
    },
    /// It takes no writes.
    IsReplica {
        /// Where.
        address: Address,
    },
    /// It stores nothing.
    IsSentinel {
        /// Where.
        address: Address,
    },
    /// A node of a cluster, and the URL does not say so.
    IsCluster {
        /// Where.
        address: Address,
    },
    /// When memory is full it forgets buckets, and who was denied is admitted again.
    Evicts {
        /// Where.
        address: Address,
        /// Its `maxmemory-policy`.
        policy: String,
    },
    /// The script does not run, or is of another version.
    ScriptFails {
        /// Where.
        address: Address,
        /// Why.
        error: ServerError,
    },
    /// It does not tell about itself.
    Unseen {
        /// Where.
        address: Address,
        /// What it says instead.
        said: String,
    },
}

impl Finding {
    /// How bad it is.
    pub fn severity(&self) -> Severity {
        match self {
            Finding::TooOld { .. } | Finding::IsSentinel { .. } | Finding::IsCluster { .. } => {
                Severity::Unfit
            }
            Finding::ScriptFails {
                error: ServerError::VersionMismatch(_) | ServerError::Malformed(_),
                ..
            } => Severity::Unfit,
            // These pass, or are cured while we run: checks are answered by the fallback meanwhile.
            Finding::IsReplica { .. } | Finding::Evicts { .. } | Finding::ScriptFails { .. } => {
                Severity::Warning
            }
            Finding::Unseen { .. } => Severity::Note,
        }
    }
}

/// What is not as it should be with one server.
pub(super) fn findings(server: &ServerSeen, wants_cluster: bool) -> Vec<Finding> {
    let address = || server.address.clone();
    let mut found = Vec::new();
    if server.role == Role::Sentinel {
        return vec![Finding::IsSentinel { address: address() }];
    }
    if server.compatible_with == (0, 0) {
        found.push(Finding::Unseen { address: address(), said: "no version".to_owned() });
    } else if server.compatible_with < OLDEST {
        found.push(Finding::TooOld { address: address(), version: server.version.clone() });
    }
    if server.is_cluster && !wants_cluster {
        found.push(Finding::IsCluster { address: address() });
    }
    if server.role == Role::Replica {
        found.push(Finding::IsReplica { address: address() });
    }
    let evicts = !matches!(server.maxmemory_policy.as_str(), "" | "noeviction");
    if evicts && server.maxmemory_bytes > 0 {
        found.push(Finding::Evicts { address: address(), policy: server.maxmemory_policy.clone() });
    }
    found
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooOld { address, version } => {
                write!(f, "{address} is Redis {version}; use Redis 6.2 or later, or Valkey")
            }
            Self::IsReplica { address } => {
                write!(
                    f,
                    "{address} is a replica, which takes no writes; name the master, or use redis+sentinel://"
                )
            }
            Self::IsSentinel { address } => write!(
                f,
                "{address} is a sentinel, which stores nothing; write redis+sentinel://{address}/ and the master's name"
            ),
            Self::IsCluster { address } => {
                write!(f, "{address} is a node of a cluster; write redis+cluster://{address}")
            }
            Self::Evicts { address, policy } => write!(
                f,
                "{address} has `maxmemory-policy {policy}`: when memory is full it forgets buckets, and whoever was denied is admitted \
                 again; set it to noeviction, and `maxmemory` high enough"
            ),
            Self::ScriptFails { address, error } => write!(f, "{address} does not run the script: {error}"),
            Self::Unseen { address, said } => write!(
                f,
                "{address} does not say what it is ({said}); let the user run INFO, so that its version and settings can be seen"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ServerKind;
    use super::*;

    fn seen(info: &str) -> ServerSeen {
        ServerSeen::read(Address::Tcp("h".to_owned(), 1), info)
    }

    fn told(info: &str) -> String {
        findings(&seen(info), false).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn old_releases_are_refused_and_newer_ones_are_not() {
        for version in ["2.8.0", "5.0.14", "6.0.16"] {
            let findings = findings(&seen(&format!("# Server\r\nredis_version:{version}\r\n")), false);
            assert_eq!(
                findings.iter().map(Finding::severity).collect::<Vec<_>>(),
                [Severity::Unfit],
                "{version}"
            );
            assert_eq!(
                findings[0].to_string(),
                format!("h:1 is Redis {version}; use Redis 6.2 or later, or Valkey")
            );
        }
        for version in ["6.2.0", "7.0.15", "8.2.1", "10.0.0"] {
            assert_eq!(told(&format!("redis_version:{version}\r\nrole:master\r\n")), "", "{version}");
        }
    }

    #[test]
    fn valkey_is_known_by_its_own_version() {
        let server = seen(
            "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.0\r\nredis_mode:standalone\r\n",
        );
        assert_eq!((server.kind, server.version.as_str()), (ServerKind::Valkey, "9.0.0"));
        assert_eq!(findings(&server, false), []);
    }

    #[test]
    fn every_setting_that_forgets_buckets_is_warned_of_where_it_can() {
        for policy in ["allkeys-lru", "volatile-lru", "volatile-ttl", "allkeys-random"] {
            let info = format!("redis_version:7.0.0\r\nmaxmemory:1000\r\nmaxmemory_policy:{policy}\r\n");
            assert!(told(&info).contains("set it to noeviction"), "{policy}");
            assert_eq!(told(&info.replace("maxmemory:1000", "maxmemory:0")), "", "nothing is ever evicted");
        }
        assert_eq!(told("redis_version:7.0.0\r\nmaxmemory:1000\r\nmaxmemory_policy:noeviction\r\n"), "");
    }

    #[test]
    fn the_wrong_kind_of_server_is_named_with_the_url_to_write() {
        let info = "redis_version:7.0.0\r\nredis_mode:cluster\r\n";
        assert!(told(info).contains("write redis+cluster://h:1"));
        assert_eq!(findings(&seen(info), true), []);
        assert!(
            told("redis_version:7.0.0\r\nredis_mode:sentinel\r\n").contains("write redis+sentinel://h:1/")
        );
        assert!(told("redis_version:7.0.0\r\nrole:slave\r\n").contains("name the master"));
        assert!(told("nonsense").contains("does not say what it is"));
    }
}
