//! What a request has to show for a key source (K2): the one place where keys, conditions and costs look.
//!
//! Promises that what is empty, ambiguous or garbled is missing, and that nothing allocates. Does not know what becomes of
//! a request that lacks something.

mod claim;
mod cookie;
pub(crate) mod fingerprint;
mod query;

use std::fmt::{self, Write};
use std::net::IpAddr;

use arrayvec::ArrayVec;
use ipnet::IpNet;
use serde_json::Value;

use crate::KeySource;
use crate::key_source::CLIENT_BITS_V6;
use crate::request::Request;

/// Longest value that is not taken as it stands: decoded from a query, or put together from several cookie fields, in
/// bytes. A longer one counts as missing.
pub(crate) const VALUE_BYTES_MAX: usize = 4_096;

/// Where a value is written that cannot be shown as it came.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    bytes: ArrayVec<u8, VALUE_BYTES_MAX>,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found<'v> {
    /// Text, never empty but for constants.
    Text(PartKind, &'v str),
    /// An address, IPv4 if it is one in disguise.
    Address(PartKind, IpAddr),
    /// A network, without the bits of the host.
    Network(PartKind, IpNet),
    /// A hash.
    Digest([u8; 32]),
}

/// What kind of thing a value is: parts of two kinds never make the same key. The numbers are in keys that outlive a
/// process: never change one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PartKind {
    Address = 1,
    Network = 2,
    Header = 3,
    Query = 4,
    Cookie = 5,
    ClaimText = 6,
    ClaimNumber = 7,
    ClaimBoolean = 8,
    Route = 9,
    Path = 10,
    Method = 11,
    OtherMethod = 12,
    Host = 13,
    User = 14,
    UserAddress = 15,
    Plan = 16,
    Fingerprint = 17,
    Constant = 18,
}

/// What the request has to show for `source`; `None` if it has nothing.
pub(crate) fn find<'v>(
    source: &'v KeySource,
    request: &'v Request<'_>,
    trusts_upstream: bool,
    scratch: &'v mut Scratch,
) -> Option<Found<'v>> {
    let facts = request.facts;
    let address = || facts.address.map(|address| address.to_canonical());
    let (kind, text) = match source {
        KeySource::Address => return address().map(|address| Found::Address(PartKind::Address, address)),
        KeySource::Prefix { v4, v6 } => {
            return network(PartKind::Network, address()?, *v4, *v6);
        }
        KeySource::Fingerprint => return Some(Found::Digest(request.fingerprint())),
        KeySource::Claim(path) => return claim::find(request.claims(trusts_upstream)?, path, scratch),
        KeySource::Constant(text) => return Some(Found::Text(PartKind::Constant, text)),
        KeySource::User => match facts.user.filter(|user| !user.is_empty()) {
            Some(user) => (PartKind::User, Some(user)),
            None => return address().map(|address| Found::Address(PartKind::UserAddress, address)),
        },
        KeySource::Path => match facts.route.filter(|route| !route.is_empty()) {
            Some(route) => (PartKind::Route, Some(route)),
            None => (PartKind::Path, Some(request.path().folded())),
        },
        KeySource::Header(name) => (PartKind::Header, facts.headers.get(name).map(str::trim_ascii)),
        KeySource::Query(name) => (PartKind::Query, query::find(facts.target, name, scratch)),
        KeySource::Cookie(name) => (PartKind::Cookie, cookie::find(facts.headers, name, scratch)),
        KeySource::Method => (PartKind::Method, Some(facts.method)),
        KeySource::Host => (PartKind::Host, request.host()),
        KeySource::Plan => (PartKind::Plan, facts.plan),
    };
    text.filter(|text| !text.is_empty()).map(|text| Found::Text(kind, text))
}

/// The only value of a field of the query, decoded.
pub(crate) fn query<'v>(request: &'v Request<'_>, name: &str, scratch: &'v mut Scratch) -> Option<&'v str> {
    query::find(request.facts.target, name, scratch)
}

/// What `source` gives to a key: what the request has to show for it, but for the address that stands in for a user. One
/// client has 2^64 addresses of IPv6, so there its network counts.
pub(crate) fn find_for_key<'v>(
    source: &'v KeySource,
    request: &'v Request<'_>,
    trusts_upstream: bool,
    scratch: &'v mut Scratch,
) -> Option<Found<'v>> {
    match find(source, request, trusts_upstream, scratch)? {
        Found::Address(kind @ PartKind::UserAddress, address @ IpAddr::V6(_)) => {
            network(kind, address, 32, CLIENT_BITS_V6)
        }
        found => Some(found),
    }
}

/// What a claim of this value gives to a key.
pub(crate) fn claim_of<'v>(value: &'v Value, scratch: &'v mut Scratch) -> Option<Found<'v>> {
    claim::find(value, &[], scratch)
}

/// The network that an address is in, of so many bits.
pub(crate) fn network<'v>(kind: PartKind, address: IpAddr, v4: u8, v6: u8) -> Option<Found<'v>> {
    let bits = if address.is_ipv4() { v4.min(32) } else { v6.min(128) };
    IpNet::new(address, bits).ok().map(|network| Found::Network(kind, network.trunc()))
}

/// As people read it.
impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Text(_, text) => f.write_str(text),
            Found::Address(_, address) => write!(f, "{address}"),
            Found::Network(_, network) => write!(f, "{network}"),
            Found::Digest(digest) => digest.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl Scratch {
    /// The whole room.
    fn room(&mut self) -> &mut [u8] {
        self.bytes.clear();
        self.bytes.extend(std::iter::repeat_n(0, VALUE_BYTES_MAX));
        &mut self.bytes
    }
}

/// Text that is written into borrowed bytes; an error if it does not fit.
pub(crate) struct TextRoom<'b> {
    bytes: &'b mut [u8],
    len: usize,
}

impl<'b> TextRoom<'b> {
    pub(crate) fn new(bytes: &'b mut [u8]) -> TextRoom<'b> {
        TextRoom { bytes, len: 0 }
    }

    /// Adds one byte, if there is room.
    pub(crate) fn push(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.len)? = byte;
        self.len += 1;
        Some(())
    }

    /// What was written, if it is text.
    pub(crate) fn into_text(self) -> Option<&'b str> {
        let bytes: &'b [u8] = self.bytes;
        bytes.get(..self.len).and_then(|bytes| str::from_utf8(bytes).ok())
    }
}

impl Write for TextRoom<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| self.push(byte)).ok_or(fmt::Error)
    }
}

#[cfg(test)]
mod tests;
