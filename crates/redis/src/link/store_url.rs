//! Where the store is: what stands behind `--store`. Knows nothing of connections.

mod address;
mod secret;
mod store_url_error;

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

pub use address::Address;
pub use secret::Secret;
pub use store_url_error::StoreUrlError;

/// Longest URL, in bytes.
pub const URL_BYTES_MAX: usize = 4_096;
/// Most servers that one URL names.
pub const ADDRESSES_MAX: usize = 32;
/// Highest number of a database.
pub const DATABASE_MAX: u32 = 65_535;
/// In place of what may be a password.
const UNSHOWN: &str = "…";
const SERVER_PORT: u16 = 6_379;
const SENTINEL_PORT: u16 = 26_379;

/// Where the store is, and how we are let in.
///
/// ```text
/// redis://[[user]:password@]host[:port][/database]                     one server
/// redis+sentinel://[[user]:password@]host[:port],…/service[/database]  the master that sentinels name
/// redis+cluster://[[user]:password@]host[:port],…                      a cluster, found through any of its nodes
/// unix:/path/to.sock                                                   one server on this machine
/// ```
/// `rediss` in place of `redis` is TLS, to the servers and to the sentinels. Ports are 6379, and 26379 of sentinels, unless said. User and
/// password are for the servers, and are percent-decoded, as everything is. After `?`, joined by `&`:
///
/// | parameter | where | meaning |
/// |---|---|---|
/// | `ca=FILE` | TLS | trust the certificates of this PEM file, instead of those that the machine trusts |
/// | `cert=FILE`, `key=FILE` | TLS | PEM files that show the server who we are |
/// | `insecure=true` | TLS | believe any certificate; for trials alone |
/// | `sentinel_user=`, `sentinel_password=` | Sentinel | who we are to the sentinels |
/// | `db=` | but in Cluster | the database, if it does not stand in the path |
/// | `user=`, `password=` | `unix:` | who we are |
///
/// No password is shown by `Display`, `Debug` or an error.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// One server, sentinels or a cluster.
    pub topology: Topology,
    /// Who we are to the servers; `None` where everybody is let in.
    pub login: Option<Login>,
    /// The database, 0 unless said; always 0 in a cluster.
    pub database: u32,
    /// `None` is plain TCP, or a Unix socket.
    pub tls: Option<TlsWish>,
}

/// How the servers hang together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topology {
    /// One server, or one name behind which somebody else keeps a server.
    Standalone(Address),
    /// The master of a service, which sentinels know.
    Sentinel {
        /// The sentinels, at least one.
        sentinels: Vec<Address>,
        /// The name of the master's service.
        service: String,
        /// Who we are to the sentinels.
        login: Option<Login>,
    },
    /// Slots over several masters.
    Cluster {
        /// Some of the nodes, at least one; the others are learned.
        seeds: Vec<Address>,
    },
}

/// A user and its password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// `None` is the user `default`.
    pub user: Option<String>,
    /// Its password.
    pub password: Secret,
}

/// What TLS is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsWish {
    /// PEM file of whom to trust; `None` trusts whom the machine trusts.
    pub ca: Option<PathBuf>,
    /// PEM files of our own certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Whether any certificate is believed.
    pub is_insecure: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Standalone,
    Sentinel,
    Cluster,
    Unix,
}

impl StoreUrl {
    /// Reads a URL. The error names the piece, what was found (never a password) and what to write.
    pub fn parse(url: &str) -> Result<StoreUrl, StoreUrlError> {
        if url.len() > URL_BYTES_MAX {
            return Err(StoreUrlError::TooLong { bytes: url.len() });
        }
        let (kind, is_tls, rest) = split_scheme(url)?;
        if rest.contains('#') {
            return Err(StoreUrlError::Fragment);
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // What stands before would be told as host or port, and is a piece of the password.
        if kind != Kind::Unix && query.contains('@') {
            return Err(StoreUrlError::StrayAt);
        }
        let mut query = Query::read(query)?;
        let parsed = match kind {
            Kind::Unix => unix(rest, &mut query)?,
            _ => StoreUrl {
                tls: if is_tls { Some(tls(&mut query)?) } else { None },
                ..network(kind, rest, &mut query)?
            },
        };
        query.end(kind, is_tls)?;
        Ok(parsed)
    }
}

impl std::str::FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(url: &str) -> Result<StoreUrl, StoreUrlError> {
        StoreUrl::parse(url)
    }
}

fn split_scheme(url: &str) -> Result<(Kind, bool, &str), StoreUrlError> {
    if let Some((scheme, path)) = url.split_at_checked("unix:".len())
        && scheme.eq_ignore_ascii_case("unix:")
    {
        return Ok((Kind::Unix, false, path.strip_prefix("//").unwrap_or(path)));
    }
    let (scheme, rest) = url.split_once("://").ok_or(StoreUrlError::NoScheme)?;
    // Schemes are the same in capitals (RFC 3986).
    let (kind, is_tls) = match scheme.to_ascii_lowercase().as_str() {
        "redis" | "valkey" => (Kind::Standalone, false),
        "rediss" | "valkeys" => (Kind::Standalone, true),
        "redis+sentinel" => (Kind::Sentinel, false),
        "rediss+sentinel" => (Kind::Sentinel, true),
        "redis+cluster" => (Kind::Cluster, false),
        "rediss+cluster" => (Kind::Cluster, true),
        // What is no scheme may be the beginning of a password.
        _ if scheme.len() <= 24 && scheme.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'+') => {
            return Err(StoreUrlError::UnknownScheme(scheme.to_owned()));
        }
        _ => return Err(StoreUrlError::NoScheme),
    };
    Ok((kind, is_tls, rest))
}

fn network(kind: Kind, rest: &str, query: &mut Query) -> Result<StoreUrl, StoreUrlError> {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // The same here.
    if path.contains('@') {
        return Err(StoreUrlError::StrayAt);
    }
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (Some(read_login(login)?), hosts),
        None => (None, authority),
    };
    let port = if kind == Kind::Sentinel { SENTINEL_PORT } else { SERVER_PORT };
    let addresses = read_addresses(hosts, port)?;
    let (service, database) = match kind {
        Kind::Sentinel => path.split_once('/').unwrap_or((path, "")),
        _ => ("", path),
    };
    let database = match (database, query.take("db")) {
        ("", None) => 0,
        ("", Some(text)) => read_database(&text)?,
        (text, None) => read_database(text)?,
        _ => return Err(StoreUrlError::TwoDatabases),
    };
    let topology = match kind {
        Kind::Sentinel => Topology::Sentinel {
            sentinels: addresses,
            service: read_service(service)?,
            login: query.take_login("sentinel_user", "sentinel_password")?,
        },
        Kind::Cluster if database != 0 => return Err(StoreUrlError::DatabaseInCluster(database)),
        Kind::Cluster => Topology::Cluster { seeds: addresses },
        _ => {
            let count = addresses.len();
            let mut addresses = addresses.into_iter();
            match (addresses.next(), count) {
                (Some(address), 1) => Topology::Standalone(address),
                _ => return Err(StoreUrlError::SeveralAddresses { count }),
            }
        }
    };
    Ok(StoreUrl { topology, login, database, tls: None })
}

fn unix(path: &str, query: &mut Query) -> Result<StoreUrl, StoreUrlError> {
    let path = decode(path, "path")?;
    if !path.starts_with('/') || path.contains('\0') {
        // With an `@` it may be a URL of another kind, password and all.
        return Err(StoreUrlError::BadPath(if path.contains('@') { UNSHOWN.to_owned() } else { path }));
    }
    Ok(StoreUrl {
        topology: Topology::Standalone(Address::Unix(path.into())),
        login: query.take_login("user", "password")?,
        database: query.take("db").map_or(Ok(0), |text| read_database(&text))?,
        tls: None,
    })
}

fn tls(query: &mut Query) -> Result<TlsWish, StoreUrlError> {
    let is_insecure = match query.take("insecure").as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(other) => return Err(StoreUrlError::BadInsecure(other.to_owned())),
    };
    let mut file = |name| query.take(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let (ca, cert, key) = (file("ca"), file("cert"), file("key"));
    let identity = match (cert, key) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(StoreUrlError::HalfAnIdentity),
    };
    if is_insecure && ca.is_some() {
        return Err(StoreUrlError::InsecureWithCa);
    }
    Ok(TlsWish { ca, identity, is_insecure })
}

fn read_login(text: &str) -> Result<Login, StoreUrlError> {
    let (user, password) = text.split_once(':').ok_or(StoreUrlError::UserWithoutPassword)?;
    let user = decode(user, "user")?;
    Ok(Login {
        user: if user.is_empty() { None } else { Some(user) },
        password: Secret::new(decode(password, "password")?),
    })
}

fn read_addresses(hosts: &str, port: u16) -> Result<Vec<Address>, StoreUrlError> {
    let count = hosts.split(',').count();
    if count > ADDRESSES_MAX {
        return Err(StoreUrlError::SeveralAddresses { count });
    }
    hosts.split(',').map(|host| Address::parse(host, port)).collect()
}

fn read_service(text: &str) -> Result<String, StoreUrlError> {
    let service = decode(text, "service")?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if service.is_empty() || service.len() > 128 || !service.bytes().all(is_name) {
        return Err(StoreUrlError::BadService(service));
    }
    Ok(service)
}

fn read_database(text: &str) -> Result<u32, StoreUrlError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_number && *number <= DATABASE_MAX);
    number.ok_or_else(|| StoreUrlError::BadDatabase(text.to_owned()))
}

fn decode(text: &str, piece: &'static str) -> Result<String, StoreUrlError> {
    let bytes = text.as_bytes();
    let is_whole = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%').all(|(at, _)| {
        matches!(bytes.get(at + 1..at + 3), Some(digits) if digits.iter().all(u8::is_ascii_hexdigit))
    });
    if !is_whole {
        return Err(StoreUrlError::BadEscape { piece });
    }
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| StoreUrlError::BadEscape { piece })
}

/// What stands behind `?`. Every name is taken once; what is left at the end is unknown.
struct Query(Vec<(String, String)>);

impl Query {
    fn read(text: &str) -> Result<Query, StoreUrlError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name, "query")?;
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err(StoreUrlError::Twice(shown_name(name)));
            }
            pairs.push((name, decode(value, "query")?));
        }
        Ok(Query(pairs))
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    fn take_login(&mut self, user: &str, password: &str) -> Result<Option<Login>, StoreUrlError> {
        match (self.take(user).filter(|user| !user.is_empty()), self.take(password)) {
            (user, Some(password)) => Ok(Some(Login { user, password: Secret::new(password) })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(StoreUrlError::UserWithoutPassword),
        }
    }

    fn end(self, kind: Kind, is_tls: bool) -> Result<(), StoreUrlError> {
        let Some((name, _)) = self.0.into_iter().next() else { return Ok(()) };
        let is_of_tls = ["ca", "cert", "key", "insecure"].contains(&name.as_str());
        if is_of_tls && !is_tls && kind != Kind::Unix {
            return Err(StoreUrlError::TlsParameterWithoutTls(name));
        }
        Err(StoreUrlError::UnknownParameter(shown_name(name)))
    }
}

/// The name of a parameter as it may be told: it may be a password that lacks its escapes, and is told only if it looks like a name.
fn shown_name(name: String) -> String {
    let is_name = name.len() <= 24 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_name { name } else { UNSHOWN.to_owned() }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls.is_some() { "rediss" } else { "redis" };
        let (kind, addresses) = match &self.topology {
            Topology::Standalone(Address::Unix(path)) => return write!(f, "unix:{}", path.display()),
            Topology::Standalone(address) => ("", std::slice::from_ref(address)),
            Topology::Sentinel { sentinels, .. } => ("+sentinel", &sentinels[..]),
            Topology::Cluster { seeds } => ("+cluster", &seeds[..]),
        };
        write!(f, "{scheme}{kind}://")?;
        if let Some(login) = &self.login {
            write!(f, "{}:***@", login.user.as_deref().unwrap_or_default())?;
        }
        for (index, address) in addresses.iter().enumerate() {
            write!(f, "{}{address}", if index == 0 { "" } else { "," })?;
        }
        if let Topology::Sentinel { service, .. } = &self.topology {
            write!(f, "/{service}")?;
        }
        if self.database != 0 { write!(f, "/{}", self.database) } else { Ok(()) }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self}, tls: {:?})", self.tls)
    }
}

#[cfg(test)]
mod tests;
