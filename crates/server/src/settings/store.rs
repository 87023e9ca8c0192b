//! Where the buckets are: in memory, or in a store that instances share.

use std::borrow::Cow;

use tollgate_redis::StoreUrl;

/// Where the buckets are.
#[derive(Debug, Clone)]
pub enum Store {
    /// In this program's memory: limits hold per instance.
    Memory,
    /// On Redis or Valkey: limits hold over all instances.
    Shared(Box<StoreUrl>),
}

impl Store {
    pub(super) fn parse(text: &str) -> Result<Store, String> {
        if text == "memory" {
            return Ok(Store::Memory);
        }
        let url = StoreUrl::parse(text).map_err(|error| error.to_string())?;
        Ok(Store::Shared(Box::new(url)))
    }
}

/// What a masked piece is shown as.
const MASK: &str = "********";
/// Parameters of a URL that are shown; the value of any other may be a password, or a piece of one that lacks its escapes.
const SHOWN: [&str; 7] = ["db", "ca", "cert", "key", "insecure", "user", "sentinel_user"];

/// The text without passwords, also where it is no URL: nothing before an `@` is shown, and of the parameters those that are known to be harmless.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    let (scheme, rest) = split_scheme(text);
    let is_socket = scheme.eq_ignore_ascii_case("unix:");
    // The last `@`, before parameters are looked for: a password may have a `?`. The path of a socket may have one, too.
    let (login, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) if !is_socket => ("********@", rest),
        _ => ("", rest),
    };
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let is_odd = if is_socket {
        // A path begins at the root; what does not is a URL of another kind.
        !place.starts_with('/') && place.contains('@')
    } else {
        has_odd_port(place)
    };
    let place = if is_odd { MASK } else { place };
    let shown = query.map(|query| query.split('&').map(masked_parameter).collect::<Vec<_>>().join("&"));
    match shown {
        Some(query) => format!("{scheme}{login}{place}?{query}").into(),
        None if login.is_empty() && place == rest => Cow::Borrowed(text),
        None => format!("{scheme}{login}{place}").into(),
    }
}

/// Whether what stands where a port should is none: it may be a password whose host was forgotten.
fn has_odd_port(place: &str) -> bool {
    let is_odd = |host: &str| match host.split_once(':') {
        Some((_, port)) => !port.bytes().all(|byte| byte.is_ascii_digit()),
        None => false,
    };
    !place.contains('[') && place.split([',', '/']).any(is_odd)
}

fn masked_parameter(pair: &str) -> Cow<'_, str> {
    match pair.split_once('=') {
        Some((name, _)) if SHOWN.contains(&name) => pair.into(),
        Some((name, _)) if name.contains("password") => format!("{name}={MASK}").into(),
        _ => MASK.into(),
    }
}

/// What stands before the place: `redis://` and its like, `unix:`, or nothing.
fn split_scheme(text: &str) -> (&str, &str) {
    if let Some((scheme, rest)) = text.split_at_checked("unix:".len())
        && scheme.eq_ignore_ascii_case("unix:")
    {
        return (scheme, rest);
    }
    let at = text.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = text.split_at(at);
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphabetic() || b"+:/".contains(&byte));
    if is_scheme { (scheme, rest) } else { ("", text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("memory", "memory"),
            ("redis://localhost", "redis://localhost"),
            ("unix:/run/a@b.sock?db=1", "unix:/run/a@b.sock?db=1"),
            ("redis://ann:se@cret@localhost:1/2", "redis://********@localhost:1/2"),
            ("rediss://:p@h?ca=/a&insecure=1", "rediss://********@h?ca=/a&insecure=1"),
            (
                "redis+sentinel://a,b/main?sentinel_password=x&sentinel_user=u",
                "redis+sentinel://a,b/main?sentinel_password=********&sentinel_user=u",
            ),
        ] {
            assert_eq!(masked(text), shown);
        }
    }

    #[test]
    fn passwords_are_not_shown_either_where_the_url_is_of_a_socket_or_is_none() {
        for text in [
            "unix:/run/redis.sock?password=secret",
            "unix:/run/redis.sock?user=ann&password=secret&db=1",
            "redis//ann:secret@localhost",
            "redis:ann:secret@localhost",
            "redis://ann:ab?secret@localhost",
            "unix:/run/redis.sock?password=secret&foo=1",
            "unix:/run/redis.sock?password=a&secret",
            "unix:ann:secret@localhost",
            "UNIX:/run/redis.sock?password=secret",
            "Redis://ann:secret@localhost",
            "redis://ann:a@localhost?a=secret",
            "redis://ann:secret",
        ] {
            assert!(!masked(text).contains("secret"), "{}", masked(text));
        }
    }
}
