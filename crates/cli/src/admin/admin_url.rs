//! Where an admin door is: `http://host:port`, `https://host:port` or `unix:PATH`.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use tollgate_server::{Address, start_token_path};

/// Where the admin door of a server on this machine is, unless somebody moved it.
pub(super) const USUAL: &str = "http://127.0.0.1:8082";
const CURE: &str =
    "write it as in http://127.0.0.1:8082, https://tollgate.example.com or unix:/run/tollgate/admin.sock";

/// Where the door is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AdminUrl {
    /// Over a network.
    Http {
        is_tls: bool,
        /// Without brackets.
        host: String,
        port: u16,
    },
    /// A socket in the file system.
    Unix(PathBuf),
}

impl AdminUrl {
    /// Reads a URL, or says what to write instead.
    pub(super) fn parse(text: &str) -> Result<AdminUrl, String> {
        if text.starts_with("unix:") {
            let path = text.strip_prefix("unix://").map(|path| format!("unix:{path}"));
            return match Address::parse(path.as_deref().unwrap_or(text))? {
                Address::Unix(path) => Ok(AdminUrl::Unix(path)),
                _ => Err(CURE.to_owned()),
            };
        }
        let (is_tls, place) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(place), _) => (false, place),
            (_, Some(place)) => (true, place),
            _ => return Err(format!("it begins with neither http:// nor https:// nor unix:; {CURE}")),
        };
        let place = place.strip_suffix('/').unwrap_or(place);
        if place.contains('@') {
            return Err("it holds a name or a password; put the token into TOLLGATE_ADMIN_TOKEN".to_owned());
        }
        if place.contains(['/', '?', '#']) {
            return Err(format!("it has a path; {CURE}"));
        }
        let has_port = !place.ends_with(']') && place.contains(':');
        let usual_port = if is_tls { 443 } else { 80 };
        let with_port = if has_port { place.to_owned() } else { format!("{place}:{usual_port}") };
        match Address::parse(&with_port) {
            Ok(Address::Tcp { host, port }) if port > 0 => Ok(AdminUrl::Http { is_tls, host, port }),
            _ => Err(format!("it names no host and port; {CURE}")),
        }
    }

    /// Returns the file in which a server on this machine keeps the viewer token of its start. `None` for other machines, for TLS and for
    /// Unix sockets.
    pub(super) fn start_token_path(&self, state_dir: &Path) -> Option<PathBuf> {
        let AdminUrl::Http { is_tls: false, host, port } = self else { return None };
        let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
        let is_here = host == "localhost" || host.parse().is_ok_and(is_loopback);
        is_here.then(|| start_token_path(state_dir, *port))
    }

    /// What the field `Host` says.
    pub(super) fn authority(&self) -> String {
        match self {
            AdminUrl::Http { host, port, .. } => Address::Tcp { host: host.clone(), port: *port }.to_string(),
            AdminUrl::Unix(_) => "localhost".to_owned(),
        }
    }
}

impl fmt::Display for AdminUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdminUrl::Http { is_tls, .. } => {
                write!(f, "{}://{}", if *is_tls { "https" } else { "http" }, self.authority())
            }
            AdminUrl::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_as_it_was_meant() {
        for (text, shown) in [
            (USUAL, USUAL),
            ("http://127.0.0.1:8082/", USUAL),
            ("http://localhost", "http://localhost:80"),
            ("https://tollgate.example.com", "https://tollgate.example.com:443"),
            ("http://[::1]:8082", "http://[::1]:8082"),
            ("https://[::1]", "https://[::1]:443"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
            ("unix:///run/a.sock", "unix:/run/a.sock"),
        ] {
            assert_eq!(AdminUrl::parse(text).unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn start_token_is_for_servers_on_this_machine() {
        let path = |url: &str| AdminUrl::parse(url).unwrap().start_token_path(Path::new("/state"));
        for url in ["http://127.0.0.1:8082", "http://localhost:8082", "http://[::1]:8082"] {
            assert_eq!(path(url).as_deref(), Some(Path::new("/state/admin-8082.token")), "{url}");
        }
        assert_eq!(path("http://127.0.0.1:8083").as_deref(), Some(Path::new("/state/admin-8083.token")));
        for url in ["http://192.0.2.7:8082", "https://127.0.0.1:8082", "unix:/a"] {
            assert_eq!(path(url), None, "{url}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused_with_its_cure() {
        for text in [
            "",
            "127.0.0.1:8082",
            "ftp://h",
            "http://",
            "http://:80",
            "http://h:0",
            "http://h:x",
            "http://h/admin",
            "http://h?x",
            "unix:",
            "http://a b:1",
        ] {
            let cure = AdminUrl::parse(text).unwrap_err();
            assert!(cure.contains("as in"), "{text}: {cure}");
        }
        let cure = AdminUrl::parse("http://ann:secret@h:1").unwrap_err();
        assert!(!cure.contains("secret") && cure.contains("TOLLGATE_ADMIN_TOKEN"), "{cure}");
    }
}
