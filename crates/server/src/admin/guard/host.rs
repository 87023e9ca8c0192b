//! For whom a request is meant: an address, `localhost`, or a name that the settings know.
//!
//! A page whose own name was made to point here names that name (DNS rebinding), and is refused.

use std::net::{IpAddr, Ipv6Addr};

use http::StatusCode;
use http::header::HOST;
use http::request::Parts;

use crate::http::{Problem, shown};

/// Names that this door has besides addresses and `localhost`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// These names, without ports.
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Hosts {
        Hosts(names.into_iter().collect())
    }

    /// Whether `host`, perhaps with a port, is a name of this door.
    fn has(&self, host: &str) -> bool {
        let name = without_port(host);
        let is_address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
            None => name.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4()),
        };
        is_address
            || name.eq_ignore_ascii_case("localhost")
            || self.0.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// Refuses a request that is meant for another host, or for none, or for several.
pub(crate) fn check_host(head: &Parts, hosts: &Hosts) -> Result<(), Problem> {
    match of_request(head) {
        Some(host) if hosts.has(host) => Ok(()),
        Some(host) => Err(refusal(format!(
            "`Host` is '{}', which is no name of this door; use its address or localhost, or allow the name with --admin-host",
            shown(host)
        ))),
        None => Err(refusal("`Host` is missing or there more than once; send it once".to_owned())),
    }
}

/// The one host that a request names: in its target, in its field, or in both alike.
pub(in crate::admin) fn of_request(head: &Parts) -> Option<&str> {
    let mut fields = head.headers.get_all(HOST).iter();
    let field = match (fields.next(), fields.next()) {
        (None, _) => None,
        (Some(host), None) => Some(host.to_str().ok()?),
        (Some(_), Some(_)) => return None,
    };
    let target = head.uri.authority().map(http::uri::Authority::as_str);
    match (target, field) {
        (Some(target), Some(field)) => target.eq_ignore_ascii_case(field).then_some(target),
        (target, field) => target.or(field),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn refusal(detail: String) -> Problem {
    Problem::field("Host", detail).with_status(StatusCode::FORBIDDEN).because("host_not_allowed")
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn only_addresses_localhost_and_known_names_are_names_of_this_door() {
        let hosts = Hosts::new(["tollgate.internal".to_owned()]);
        for host in [
            "127.0.0.1",
            "127.0.0.1:8082",
            "[::1]",
            "[::1]:8082",
            "192.0.2.7:1",
            "localhost",
            "LocalHost:8082",
            "Tollgate.Internal:80",
        ] {
            assert!(hosts.has(host), "{host}");
        }
        for host in [
            "",
            ":8082",
            "evil.example",
            "evil.example:8082",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "evil.example#127.0.0.1",
            "[::1].evil.example",
            "[::1",
            "::1",
            "[127.0.0.1]",
            "localhost:80:80",
            "localhost:x",
            "localhost.",
            "0x7f.1",
            "2130706433",
            "127.1",
            "xtollgate.internal",
        ] {
            assert!(!hosts.has(host), "{host}");
        }
    }

    #[test]
    fn a_request_names_one_host_wherever_it_does() {
        let named = |target: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(target);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            of_request(&request.body(()).unwrap().into_parts().0).map(str::to_owned)
        };
        assert_eq!(named("/", &["localhost"]).as_deref(), Some("localhost"));
        assert_eq!(named("http://localhost/", &[]).as_deref(), Some("localhost"));
        assert_eq!(named("http://localhost/", &["LOCALHOST"]).as_deref(), Some("localhost"));
        assert_eq!(named("http://localhost/", &["evil.example"]), None);
        assert_eq!(named("/", &["localhost", "localhost"]), None);
        assert_eq!(named("/", &[]), None);
    }
}
