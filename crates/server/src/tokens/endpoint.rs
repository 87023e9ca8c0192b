//! An address of a key set, taken apart once.

use http::Uri;

/// Where to connect, and what to ask for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) is_tls: bool,
    /// A name or an address, without brackets.
    pub(super) host: Box<str>,
    pub(super) port: u16,
    /// Host and port as they were written.
    pub(super) authority: Box<str>,
    /// Path and query.
    pub(super) target: Box<str>,
}

impl Endpoint {
    /// The endpoint of a URL; why there is none, otherwise.
    pub(super) fn of(url: &str) -> Result<Endpoint, String> {
        let uri: Uri = url.parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("it begins with neither https:// nor http://".to_owned()),
        };
        let authority = uri.authority().ok_or("it names no host")?;
        if authority.as_str().contains('@') {
            return Err("it holds a user or a password".to_owned());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err("it names no host".to_owned());
        }
        let has_port = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            Some(port) if port > 0 => port,
            None if !has_port => {
                if is_tls {
                    443
                } else {
                    80
                }
            }
            _ => return Err("its port is none from 1 to 65535".to_owned()),
        };
        Ok(Endpoint {
            is_tls,
            host: host.into(),
            port,
            authority: authority.as_str().into(),
            target: uri.path_and_query().map_or("/", |target| target.as_str()).into(),
        })
    }

    /// Whether anybody between us and the endpoint could put keys of his own in its place.
    pub(super) fn is_exposed(&self) -> bool {
        let is_loopback = self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        !self.is_tls && !is_loopback && &*self.host != "localhost"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: (bool, &str, u16, &str)) {
        let found = Endpoint::of(url).unwrap();
        assert_eq!((found.is_tls, &*found.host, found.port, &*found.target), expected, "{url}");
    }

    #[test]
    fn host_port_and_target_are_what_the_url_says_or_what_is_usual() {
        check("https://id.example/jwks?v=1", (true, "id.example", 443, "/jwks?v=1"));
        check("http://id.example", (false, "id.example", 80, "/"));
        check("http://127.0.0.1:81/a", (false, "127.0.0.1", 81, "/a"));
        check("https://[2001:db8::1]:8443/a", (true, "2001:db8::1", 8443, "/a"));
        check("https://[::1]/", (true, "::1", 443, "/"));
    }

    #[test]
    fn what_cannot_be_fetched_is_refused() {
        for url in [
            "",
            "jwks",
            "/jwks",
            "ftp://a/b",
            "https://",
            "https:///a",
            "https://a:b@c/",
            "https://a:0/",
            "https://a:99999/",
            "https://a b/",
            "file:///etc/passwd",
        ] {
            assert!(Endpoint::of(url).is_err(), "{url}: {:?}", Endpoint::of(url));
        }
    }

    #[test]
    fn plain_http_is_safe_only_within_the_machine() {
        for (url, is_exposed) in [
            ("http://id.example/", true),
            ("http://10.0.0.1/", true),
            ("https://id.example/", false),
            ("http://127.0.0.1:9/", false),
            ("http://[::1]/", false),
            ("http://localhost/", false),
        ] {
            assert_eq!(Endpoint::of(url).unwrap().is_exposed(), is_exposed, "{url}");
        }
    }
}
