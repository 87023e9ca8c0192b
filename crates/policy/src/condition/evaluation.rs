//! Whether a request meets a condition (P3). The index only spares this work; the answer is always this one.

use std::fmt::Write;
use std::net::IpAddr;

use ipnet::IpNet;

use super::path_test;
use crate::path::hex_value;
use crate::request::Request;
use crate::value::{Found, Scratch, TextRoom, find};
use crate::{Condition, HostPattern, KeySource, ValueTest};

/// The longest text of what is found as an address, a network or a hash, in bytes.
const SHORT_TEXT_BYTES_MAX: usize = 64;

/// Whether `condition` holds. As deep as the condition, which the parser bounds.
pub(crate) fn holds(condition: &Condition, request: &Request<'_>, trusts_upstream: bool) -> bool {
    match condition {
        Condition::Always => true,
        Condition::All(all) => all.iter().all(|one| holds(one, request, trusts_upstream)),
        Condition::Any(any) => any.iter().any(|one| holds(one, request, trusts_upstream)),
        Condition::Not(inner) => !holds(inner, request, trusts_upstream),
        Condition::Path(test) => path_test::holds(test, request.path()),
        Condition::Method(methods) => methods.meets(request.method),
        Condition::Host(pattern) => request.host().is_some_and(|host| host_matches(pattern, host)),
        Condition::Value(source, test) => value_holds(source, test, request, trusts_upstream),
        Condition::Client(client) => client.is(request),
    }
}

fn host_matches(pattern: &HostPattern, host: &str) -> bool {
    match pattern {
        HostPattern::Exact(name) => **name == *host,
        HostPattern::Below(suffix) => host.len() > suffix.len() && host.ends_with(&**suffix),
    }
}

fn value_holds(source: &KeySource, test: &ValueTest, request: &Request<'_>, trusts_upstream: bool) -> bool {
    let mut scratch = Scratch::default();
    find(source, request, trusts_upstream, &mut scratch).is_some_and(|found| passes(&found, test))
}

fn passes(found: &Found<'_>, test: &ValueTest) -> bool {
    match test {
        ValueTest::Present => true,
        ValueTest::OneOf(values) => values.iter().any(|value| is_equal(found, value)),
        ValueTest::Within(networks) => networks.iter().any(|network| is_within(found, network)),
        ValueTest::Matches(regex) => {
            if let Found::Text(_, text) = found {
                return regex.is_match(text);
            }
            let mut bytes = [0; SHORT_TEXT_BYTES_MAX];
            let mut room = TextRoom::new(&mut bytes);
            write!(room, "{found}").is_ok() && room.into_text().is_some_and(|text| regex.is_match(text))
        }
    }
}

/// Addresses and networks are equal whatever their spelling.
fn is_equal(found: &Found<'_>, value: &str) -> bool {
    match found {
        Found::Text(_, text) => *text == value,
        Found::Address(_, address) => {
            value.parse().is_ok_and(|value: IpAddr| value.to_canonical() == *address)
        }
        Found::Network(_, network) => value.parse().is_ok_and(|value: IpNet| value.trunc() == *network),
        Found::Digest(digest) => {
            let pairs = value.as_bytes().chunks(2);
            value.len() == 64 && pairs.zip(digest).all(|(pair, byte)| is_hex_of(pair, *byte))
        }
    }
}

/// Whether two hexadecimal digits of either case write this byte.
fn is_hex_of(pair: &[u8], byte: u8) -> bool {
    let digit = |at: usize| pair.get(at).copied().and_then(hex_value);
    digit(0) == Some(byte >> 4) && digit(1) == Some(byte & 15)
}

fn is_within(found: &Found<'_>, network: &IpNet) -> bool {
    match found {
        Found::Address(_, address) => network.contains(address),
        Found::Network(_, inner) => network.contains(inner),
        Found::Text(_, text) => {
            text.parse().is_ok_and(|address: IpAddr| network.contains(&address.to_canonical()))
        }
        Found::Digest(_) => false,
    }
}

#[cfg(test)]
mod tests;
