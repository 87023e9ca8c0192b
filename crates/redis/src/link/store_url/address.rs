//! Where one server listens.

use std::fmt;
use std::net::Ipv6Addr;
use std::path::PathBuf;

use super::{StoreUrlError, UNSHOWN};

/// Longest name of a host, in bytes: what DNS allows.
const HOST_BYTES_MAX: usize = 253;

/// Where one server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// A name or an address, IPv6 without brackets, and a port that is not 0.
    Tcp(String, u16),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Reads `host`, `host:port`, `[v6]` or `[v6]:port`.
    pub(crate) fn parse(text: &str, default_port: u16) -> Result<Address, StoreUrlError> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) =
                    rest.split_once(']').ok_or_else(|| StoreUrlError::BadHost(text.to_owned()))?;
                if host.parse::<Ipv6Addr>().is_err() {
                    return Err(StoreUrlError::BadHost(host.to_owned()));
                }
                let port = match port {
                    "" => None,
                    port => {
                        Some(port.strip_prefix(':').ok_or_else(|| StoreUrlError::BadPort(port.to_owned()))?)
                    }
                };
                (host, port)
            }
            None => match text.split_once(':') {
                Some((host, port)) => (check_name(host)?, Some(port)),
                None => (check_name(text)?, None),
            },
        };
        let port = port.map_or(Ok(default_port), read_port)?;
        Ok(Address::Tcp(host.to_owned(), port))
    }

    /// What a server says of another: `host:port`, where the port follows the last colon, IPv6 without brackets.
    pub(crate) fn told(text: &str) -> Option<Address> {
        let (host, port) = text.rsplit_once(':')?;
        Some(Address::Tcp(host.to_owned(), read_port(port).ok()?))
    }
}

fn check_name(host: &str) -> Result<&str, StoreUrlError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if host.is_empty() {
        Err(StoreUrlError::NoHost)
    } else if host.len() <= HOST_BYTES_MAX && host.bytes().all(is_plain) {
        Ok(host)
    } else {
        Err(StoreUrlError::BadHost(host.to_owned()))
    }
}

fn read_port(text: &str) -> Result<u16, StoreUrlError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| is_number && *port != 0);
    // What looks like none is a password whose host was forgotten, maybe.
    let is_shown = text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-".contains(&byte));
    port.ok_or_else(|| StoreUrlError::BadPort(if is_shown { text } else { UNSHOWN }.to_owned()))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp(host, port) => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
