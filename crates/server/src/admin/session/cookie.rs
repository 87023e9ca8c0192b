//! The cookie of a session, as it is sent and set.

use http::header::COOKIE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use super::session_id::{SessionDigest, SessionId};
use super::sessions::SESSION_TIME_MAX;
use crate::admin::guard::host_of;

const NAME: &str = "tollgate_session";
/// No script sees it, and no page of another site has it sent. `Secure` is missing since this door speaks no TLS: a browser would not keep it.
const TERMS: &str = "Path=/; HttpOnly; SameSite=Strict";

/// The cookie of this door: with the door's port in its name, since browsers send the cookies of a host to all of its ports, and a second
/// door on the same machine has sessions of its own.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::admin) struct SessionCookie {
    name: String,
}

/// What a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::admin) enum Carried {
    /// No cookie of ours.
    Nothing,
    /// One that is none of ours, or several: nobody knows which is meant.
    Garbage,
    /// One that may be a session's.
    Session(SessionDigest),
}

impl SessionCookie {
    /// That of the door that a request was sent to, as its sender calls it.
    pub(in crate::admin) fn of(head: &Parts) -> SessionCookie {
        let port = host_of(head).and_then(|host| host.rsplit_once(':')).map(|(_, port)| port);
        let name = match port.and_then(|port| port.parse::<u16>().ok()) {
            Some(port) => format!("{NAME}_{port}"),
            None => NAME.to_owned(),
        };
        SessionCookie { name }
    }

    /// What the header fields carry. Other cookies of the same host are passed over, whatever is in them.
    pub(in crate::admin) fn read(&self, headers: &HeaderMap) -> Carried {
        let pairs =
            headers.get_all(COOKIE).iter().flat_map(|field| field.as_bytes().split(|byte| *byte == b';'));
        let value = |pair: &'_ [u8]| {
            let pair = pair.trim_ascii();
            let at = pair.iter().position(|byte| *byte == b'=')?;
            (&pair[..at] == self.name.as_bytes()).then(|| SessionId::read(&pair[at + 1..]))
        };
        let mut found = pairs.filter_map(value);
        match (found.next(), found.next()) {
            (None, _) => Carried::Nothing,
            (Some(Some(id)), None) => Carried::Session(id.digest()),
            _ => Carried::Garbage,
        }
    }

    /// `Set-Cookie` for a new session.
    pub(super) fn holding(&self, id: &SessionId) -> HeaderValue {
        let seconds = SESSION_TIME_MAX.as_nanos() / 1_000_000_000;
        let field = format!("{}={}; {TERMS}; Max-Age={seconds}", self.name, id.reveal());
        // Digits and letters.
        let mut field = HeaderValue::try_from(field).unwrap_or(HeaderValue::from_static(""));
        field.set_sensitive(true);
        field
    }

    /// `Set-Cookie` by which a browser forgets it.
    pub(in crate::admin) fn cleared(&self) -> HeaderValue {
        let field = format!("{}=; {TERMS}; Max-Age=0", self.name);
        HeaderValue::try_from(field).unwrap_or(HeaderValue::from_static(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of the door at this address.
    fn cookie(host: &str) -> SessionCookie {
        SessionCookie::of(&http::Request::builder().header("host", host).body(()).unwrap().into_parts().0)
    }

    fn carried(fields: &[&[u8]]) -> Carried {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(COOKIE, HeaderValue::from_bytes(field).unwrap());
        }
        cookie("localhost").read(&headers)
    }

    #[test]
    fn one_cookie_of_ours_is_found_among_others() {
        let id = SessionId::random().unwrap();
        let ours = format!("{NAME}={}", id.reveal());
        let session = Carried::Session(id.digest());
        let among = format!("a=b;{ours}; x=\"y\"");
        assert_eq!(carried(&[ours.as_bytes()]), session);
        assert_eq!(carried(&[among.as_bytes()]), session);
        // HTTP/2 may send each in a field of its own; and others may hold anything.
        assert_eq!(carried(&[b"a=\xff\xfe", ours.as_bytes(), b"=; ;;"]), session);
        assert_eq!(carried(&[]), Carried::Nothing);
        assert_eq!(carried(&[b"other=1", format!("x{ours}").as_bytes()]), Carried::Nothing);
        assert_eq!(carried(&[ours.to_uppercase().as_bytes()]), Carried::Nothing);
    }

    #[test]
    fn two_cookies_of_ours_are_garbage_even_if_they_are_alike() {
        let id = SessionId::random().unwrap();
        let ours = format!("{NAME}={}", id.reveal());
        let twice = format!("{ours}; {ours}");
        let other = format!("{NAME}=; {ours}");
        let long = format!("{ours}0");
        for fields in [
            &[twice.as_bytes()][..],
            &[ours.as_bytes(), ours.as_bytes()],
            &[other.as_bytes()],
            &[long.as_bytes()],
            &[b"tollgate_session="],
            &[b"tollgate_session=\xff"],
            &[b"tollgate_session=' OR 1=1 --"],
        ] {
            assert_eq!(carried(fields), Carried::Garbage, "{fields:?}");
        }
    }

    #[test]
    fn what_is_set_is_read_back_and_kept_from_scripts_and_other_sites() {
        let id = SessionId::random().unwrap();
        let set = cookie("localhost").holding(&id);
        let text = set.to_str().unwrap();
        let (pair, terms) = text.split_once("; ").unwrap();
        assert_eq!(carried(&[pair.as_bytes()]), Carried::Session(id.digest()));
        assert_eq!(terms, "Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
        assert!(!format!("{set:?}").contains(id.reveal()), "it is not printed by chance");
        assert_eq!(
            cookie("localhost").cleared().to_str().unwrap(),
            "tollgate_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
        );
    }

    #[test]
    fn doors_on_one_machine_have_cookies_of_their_own() {
        for (host, name) in [
            ("127.0.0.1:8082", "tollgate_session_8082"),
            ("[::1]:9000", "tollgate_session_9000"),
            ("[::1]", "tollgate_session"),
            ("tollgate.test", "tollgate_session"),
            ("tollgate.test:99999", "tollgate_session"),
        ] {
            assert_eq!(cookie(host), SessionCookie { name: name.to_owned() }, "{host}");
        }
    }
}
