//! What `INFO` says of one server.

use std::fmt;

use crate::link::Address;

/// Which program it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// Redis, or what says it is.
    Redis,
    /// Valkey.
    Valkey,
}

/// What it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Takes writes.
    Master,
    /// Follows a master.
    Replica,
    /// Watches others, and stores nothing.
    Sentinel,
}

/// One server, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSeen {
    /// Where it is.
    pub address: Address,
    /// Which program.
    pub kind: ServerKind,
    /// Its own version, as it words it; empty if it does not say.
    pub version: String,
    /// Major and minor version of Redis that it is compatible with; (0, 0) if it does not say.
    pub compatible_with: (u32, u32),
    /// What it does.
    pub role: Role,
    /// Whether it is a node of a cluster.
    pub is_cluster: bool,
    /// Most bytes that it stores; 0 is no limit.
    pub maxmemory_bytes: u64,
    /// What it does when that is reached; empty if it does not say.
    pub maxmemory_policy: String,
}

impl fmt::Display for ServerSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ServerKind::Redis => "Redis",
            ServerKind::Valkey => "Valkey",
        };
        write!(f, "{kind} {} at {}", self.version, self.address)
    }
}

impl ServerSeen {
    /// Reads the answer to `INFO`. What is missing there is taken for harmless, but the version.
    pub(crate) fn read(address: Address, info: &str) -> ServerSeen {
        let value = |name: &str| {
            let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            found.map(str::trim).unwrap_or_default().to_owned()
        };
        let (redis, valkey) = (value("redis_version"), value("valkey_version"));
        let mode = value("redis_mode");
        ServerSeen {
            address,
            kind: if valkey.is_empty() { ServerKind::Redis } else { ServerKind::Valkey },
            compatible_with: read_version(&redis),
            version: if valkey.is_empty() { redis } else { valkey },
            role: match (mode.as_str(), value("role").as_str()) {
                ("sentinel", _) => Role::Sentinel,
                (_, "slave" | "replica") => Role::Replica,
                _ => Role::Master,
            },
            is_cluster: mode == "cluster" || value("cluster_enabled") == "1",
            maxmemory_bytes: value("maxmemory").parse().unwrap_or(0),
            maxmemory_policy: value("maxmemory_policy"),
        }
    }
}

fn read_version(text: &str) -> (u32, u32) {
    let mut numbers = text.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
