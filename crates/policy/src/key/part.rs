//! One part of a key as an operator types it: its value, read as a door would have found it.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::KeyMistake;
use crate::key_source::CLIENT_BITS_V6;
use crate::request::{Request, RequestRoom};
use crate::value::{Found, PartKind, Scratch, claim_of, network};
use crate::{Facts, KeySource};

/// Bytes of a hash.
pub(super) const DIGEST_BYTES: usize = 32;

/// Reads the value of a part and shows it to `use_it`, in the one spelling that requests are brought to.
///
/// `word` is what stands before the value: the source as policies spell it, or `route` and `ip` where a path is a route's
/// template and a user is an address.
pub(super) fn read<T>(
    source: &KeySource,
    word: &str,
    value: &str,
    use_it: impl FnOnce(&Found<'_>) -> T,
) -> Result<T, KeyMistake> {
    let mut scratch = Scratch::default();
    let text = |kind| match value {
        "" => Err(empty(source)),
        value => Ok(Found::Text(kind, value)),
    };
    let found = match source {
        KeySource::Address => Found::Address(PartKind::Address, address(value)?),
        KeySource::Prefix { v4, v6 } => prefix(PartKind::Network, value, *v4, *v6)?,
        KeySource::User if word == "ip" => match address_of(value)? {
            address @ IpAddr::V4(_) => Found::Address(PartKind::UserAddress, address),
            IpAddr::V6(_) => prefix(PartKind::UserAddress, value, 32, CLIENT_BITS_V6)?,
        },
        KeySource::User => text(PartKind::User)?,
        KeySource::Header(_) => match value.trim_ascii() {
            "" => return Err(empty(source)),
            value => Found::Text(PartKind::Header, value),
        },
        KeySource::Query(_) => text(PartKind::Query)?,
        KeySource::Cookie(_) => text(PartKind::Cookie)?,
        KeySource::Plan => text(PartKind::Plan)?,
        KeySource::Method => text(PartKind::Method)?,
        KeySource::Path if word == "route" => text(PartKind::Route)?,
        KeySource::Path => return path(value, source, use_it),
        KeySource::Host => return host(value, use_it),
        KeySource::Claim(_) => {
            let typed = claim_value(value);
            return match claim_of(&typed, &mut scratch) {
                Some(found) => Ok(use_it(&found)),
                None => Err(empty(source)),
            };
        }
        KeySource::Fingerprint => Found::Digest(digest(value).ok_or_else(|| {
            KeyMistake::new(format!("`{value}` is no fingerprint"), "write its 64 hexadecimal digits")
        })?),
        KeySource::Constant(text) if **text == *value => Found::Text(PartKind::Constant, text),
        KeySource::Constant(text) => {
            let what = format!("this part of the key is always `{text}`, and not `{value}`");
            return Err(KeyMistake::new(what, format!("write `{text}`")));
        }
    };
    Ok(use_it(&found))
}

/// A claim as it is typed: a number and a truth value are what they look like, unless they stand in quotes.
pub(super) fn claim_value(typed: &str) -> Value {
    match serde_json::from_str(typed) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::String(_))) => value,
        _ => Value::String(typed.to_owned()),
    }
}

/// The bytes of 64 hexadecimal digits.
pub(super) fn digest(hex: &str) -> Option<[u8; DIGEST_BYTES]> {
    let mut digest = [0; DIGEST_BYTES];
    if hex.len() != 2 * DIGEST_BYTES || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(digest)
}

fn empty(source: &KeySource) -> KeyMistake {
    KeyMistake::new(
        format!("`{source}` is empty, which no request's is"),
        "write its value, or `anonymous` for the bucket of all who lack it",
    )
}

fn address(value: &str) -> Result<IpAddr, KeyMistake> {
    let not = || KeyMistake::new(format!("`{value}` is no address"), "write one, as in `ip:192.0.2.7`");
    value.parse().map(|address: IpAddr| address.to_canonical()).map_err(|_| not())
}

/// The address of an address or a network.
fn address_of(value: &str) -> Result<IpAddr, KeyMistake> {
    value.parse::<IpNet>().map_or_else(|_| address(value), |network| Ok(network.addr()))
}

/// The network of so many bits that an address, or a network within it, is in.
fn prefix<'v>(kind: PartKind, value: &str, v4: u8, v6: u8) -> Result<Found<'v>, KeyMistake> {
    let address = address_of(value)?;
    let bits = if address.is_ipv4() { v4 } else { v6 };
    if value.parse::<IpNet>().is_ok_and(|network| network.prefix_len() < bits) {
        let what = format!("`{value}` holds many buckets: there is one for each {bits} bits");
        return Err(KeyMistake::new(what, format!("write one network of {bits} bits, or one address")));
    }
    network(kind, address, v4, v6).ok_or_else(|| empty(&KeySource::Prefix { v4, v6 }))
}

fn path<T>(value: &str, source: &KeySource, use_it: impl FnOnce(&Found<'_>) -> T) -> Result<T, KeyMistake> {
    if !value.starts_with('/') {
        let what = format!("`{source}` is `{value}`, which does not begin with a slash");
        return Err(KeyMistake::new(what, "write the path, as in `/api/search`"));
    }
    let mut room = RequestRoom::default();
    let facts = Facts::new("GET", value);
    let request = Request::new(&facts, &mut room);
    Ok(use_it(&Found::Text(PartKind::Path, request.decoded_path().folded())))
}

fn host<T>(value: &str, use_it: impl FnOnce(&Found<'_>) -> T) -> Result<T, KeyMistake> {
    let mut room = RequestRoom::default();
    let facts = Facts { host: value, ..Facts::new("GET", "/") };
    let request = Request::new(&facts, &mut room);
    match request.host() {
        Some(host) => Ok(use_it(&Found::Text(PartKind::Host, host))),
        None => {
            Err(KeyMistake::new(format!("`{value}` is no host"), "write its name, as in `api.example.com`"))
        }
    }
}
