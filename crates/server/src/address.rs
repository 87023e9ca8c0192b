//! Where a door is: `host:port`, `unix:PATH` or `off`.

use std::fmt;
use std::path::PathBuf;

/// Longest path of a Unix socket, in bytes: what the kernel takes.
const UNIX_PATH_BYTES_MAX: usize = 107;
/// Longest name of a host, in bytes (RFC 1035).
const HOST_BYTES_MAX: usize = 253;

/// Where a door is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A host, by name or address, and a port; port 0 is any free one.
    Tcp {
        /// Without brackets.
        host: String,
        /// 0 is any free one.
        port: u16,
    },
    /// A socket in the file system.
    Unix(PathBuf),
    /// Nowhere: the door stays shut.
    Off,
}

impl Address {
    /// Reads an address as people type it, or says what to write instead.
    pub fn parse(text: &str) -> Result<Address, String> {
        if text == "off" {
            return Ok(Address::Off);
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.len() {
                0 => Err("the path is missing; write it as in `unix:/run/tollgate.sock`".to_owned()),
                bytes if bytes > UNIX_PATH_BYTES_MAX => {
                    Err(format!("its path has {bytes} bytes; use at most {UNIX_PATH_BYTES_MAX}"))
                }
                _ => Ok(Address::Unix(path.into())),
            };
        }
        let cure = "write `host:port` as in 127.0.0.1:8080 or [::1]:8080, `unix:PATH` or `off`";
        let (host, port) = text.rsplit_once(':').ok_or_else(|| format!("it has no port; {cure}"))?;
        let port = port.parse().map_err(|_| format!("its port is no number from 0 to 65535; {cure}"))?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let name = bracketed.unwrap_or(host);
        let is_foreign = |c: char| c.is_whitespace() || c == '/';
        if name.is_empty() || name.len() > HOST_BYTES_MAX || name.contains(is_foreign) {
            return Err(format!("it names no host; {cure}"));
        }
        if bracketed.is_none() && name.contains(':') {
            return Err("an IPv6 address needs brackets, as in [::1]:8080".to_owned());
        }
        Ok(Address::Tcp { host: name.to_owned(), port })
    }
}

/// As it is typed.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Off => f.write_str("off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_printed_as_it_is_typed() {
        for text in
            ["127.0.0.1:8080", "localhost:0", "[::1]:6380", "0.0.0.0:65535", "unix:/run/a b.sock", "off"]
        {
            assert_eq!(Address::parse(text).map(|address| address.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_cure() {
        let refusal = |text: &str| Address::parse(text).unwrap_err();
        assert!(refusal("8080").contains("it has no port"), "{}", refusal("8080"));
        for text in ["127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "a:b"] {
            assert!(refusal(text).contains("no number from 0 to 65535"), "{text}");
        }
        for text in [":80", "http://a:80", "a b:80", "[]:80"] {
            assert!(refusal(text).contains("it names no host"), "{text}");
        }
        assert!(refusal("::1:80").contains("brackets"));
        assert!(refusal("unix:").contains("path is missing"));
        assert!(refusal(&format!("unix:/{}", "a".repeat(107))).contains("108 bytes"));
    }
}
