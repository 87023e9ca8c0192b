//! What a request has to show for a key source (K2): the one place where keys, conditions and costs look.
//!
//! A value that is empty is missing. A value that occurs more than once, cannot be decoded or is too long is ambiguous:
//! [`find`] never returns one of several values. Nothing here allocates. Does not know what becomes of a request that
//! lacks something.

mod claim;
pub(crate) mod cookie;
mod every;
pub(crate) mod fingerprint;
mod header;
mod name;
mod query;

use std::fmt::{self, Write};
use std::net::IpAddr;

use arrayvec::ArrayVec;
use ipnet::IpNet;
use serde_json::Value;

use crate::KeySource;
use crate::key_source::CLIENT_BITS_V6;
use crate::path::hex_value;
use crate::request::Request;
pub(crate) use every::{RawValue, each_value};
pub use header::has_other_spelling;

/// Maximum length of the value of a header, cookie, query parameter or claim, decoded, in bytes. A longer one is ambiguous.
pub(crate) const VALUE_BYTES_MAX: usize = 4_096;

/// Maximum number of values of one name that are decoded for a regex, a network or a key. Restricting rules match beyond it.
pub(crate) const VALUES_READ_MAX: usize = 64;

/// Where a value is written that cannot be shown as it came.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    bytes: ArrayVec<u8, VALUE_BYTES_MAX>,
}

/// The result of looking for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup<'v> {
    /// The request does not have it, or it is empty.
    Missing,
    /// The request has exactly one value.
    One(Found<'v>),
    /// The request has exactly one value, spelled so that servers read it in different ways: its canonical form, for keys
    /// alone. To conditions it is ambiguous.
    Encoded(Found<'v>),
    /// The request has something of that name, and components behind the gate could read it in different ways.
    Ambiguous(Ambiguity),
}

/// Why a value is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ambiguity {
    /// It occurs more than once.
    Repeated,
    /// It is not UTF-8, or has a `%` without two hexadecimal digits.
    Undecodable,
    /// It has more than [`VALUE_BYTES_MAX`] bytes.
    TooLong,
    /// A query parameter beside a `;` or after a `#`, or a parameter, cookie or header whose name is spelled in another
    /// way.
    Spelling,
    /// A cookie that has white space, a comma or one quotation mark alone, or that follows white space or a comma.
    Separator,
    /// A header with white space or control characters around it that only some servers strip.
    Blank,
    /// A cookie in quotation marks or with percent-encoding. Ambiguous to conditions, not to keys.
    Encoded,
    /// A path that begins with a host, or has `..` and an encoded slash or the like.
    Path,
    /// A claim that is a list, or that is below one.
    List,
    /// A claim of a token whose header field occurs more than once or is not UTF-8, or the user or plan that it may name.
    Token,
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

/// What the request has to show for `source`.
pub(crate) fn find<'v>(
    source: &'v KeySource,
    request: &'v Request<'_>,
    trusts_upstream: bool,
    scratch: &'v mut Scratch,
) -> Lookup<'v> {
    let facts = request.facts;
    let address = || facts.address.map(|address| address.to_canonical());
    let text = |kind, text: Option<&'v str>| match text {
        Some(text) if !text.is_empty() => Lookup::One(Found::Text(kind, text)),
        _ => Lookup::Missing,
    };
    match source {
        KeySource::Address => address().map(|address| Found::Address(PartKind::Address, address)).into(),
        KeySource::Prefix { v4, v6 } => {
            address().and_then(|address| network(PartKind::Network, address, *v4, *v6)).into()
        }
        KeySource::Fingerprint => Lookup::One(Found::Digest(request.fingerprint())),
        KeySource::Claim(path) => match request.claims(trusts_upstream) {
            Some(claims) => claim::find(claims, path, scratch),
            None if request.has_ambiguous_token() => Lookup::Ambiguous(Ambiguity::Token),
            None => Lookup::Missing,
        },
        KeySource::Constant(text) => Lookup::One(Found::Text(PartKind::Constant, text)),
        KeySource::User => match facts.user.filter(|user| !user.is_empty()) {
            Some(user) => Lookup::One(Found::Text(PartKind::User, user)),
            None if request.has_ambiguous_token() => Lookup::Ambiguous(Ambiguity::Token),
            None => address().map(|address| Found::Address(PartKind::UserAddress, address)).into(),
        },
        KeySource::Path => match facts.route.filter(|route| !route.is_empty()) {
            Some(route) => Lookup::One(Found::Text(PartKind::Route, route)),
            None if request.has_ambiguous_path() => Lookup::Ambiguous(Ambiguity::Path),
            None => text(PartKind::Path, Some(request.decoded_path().folded())),
        },
        KeySource::Header(name) => header::find(facts.headers, name),
        KeySource::Query(name) => query::find(facts.target, name, scratch),
        KeySource::Cookie(name) => cookie::find(facts.headers, name, scratch),
        KeySource::Method => {
            text(PartKind::Method, Some(request.method.known_name().unwrap_or(facts.method)))
        }
        KeySource::Host => text(PartKind::Host, request.host()),
        KeySource::Plan => match text(PartKind::Plan, facts.plan) {
            Lookup::Missing if request.has_ambiguous_token() => Lookup::Ambiguous(Ambiguity::Token),
            found => found,
        },
    }
}

/// The only value of a query parameter, decoded.
pub(crate) fn query<'v>(request: &'v Request<'_>, name: &str, scratch: &'v mut Scratch) -> Option<&'v str> {
    match query::find(request.facts.target, name, scratch) {
        Lookup::One(Found::Text(_, text)) => Some(text),
        _ => None,
    }
}

/// What `source` gives to a key: what the request has to show for it, but for the address that stands in for a user. One
/// client has 2^64 addresses of IPv6, so there its network counts.
pub(crate) fn find_for_key<'v>(
    source: &'v KeySource,
    request: &'v Request<'_>,
    trusts_upstream: bool,
    scratch: &'v mut Scratch,
) -> Lookup<'v> {
    match find(source, request, trusts_upstream, scratch) {
        Lookup::One(Found::Address(kind @ PartKind::UserAddress, address @ IpAddr::V6(_))) => {
            network(kind, address, 32, CLIENT_BITS_V6).into()
        }
        found => found,
    }
}

/// What a claim of this value gives to a key.
pub(crate) fn claim_of<'v>(value: &'v Value, scratch: &'v mut Scratch) -> Option<Found<'v>> {
    match claim::find(value, &[], scratch) {
        Lookup::One(found) => Some(found),
        Lookup::Missing | Lookup::Encoded(_) | Lookup::Ambiguous(_) => None,
    }
}

/// The network that an address is in, of so many bits.
pub(crate) fn network<'v>(kind: PartKind, address: IpAddr, v4: u8, v6: u8) -> Option<Found<'v>> {
    let bits = if address.is_ipv4() { v4.min(32) } else { v6.min(128) };
    IpNet::new(address, bits).ok().map(|network| Found::Network(kind, network.trunc()))
}

impl<'v> Lookup<'v> {
    /// Why a condition takes it for ambiguous, if it does.
    pub(crate) fn ambiguity(self) -> Option<Ambiguity> {
        match self {
            Lookup::Missing | Lookup::One(_) => None,
            Lookup::Encoded(_) => Some(Ambiguity::Encoded),
            Lookup::Ambiguous(why) => Some(why),
        }
    }

    /// One text of this kind: missing if it is empty, ambiguous if it is too long.
    fn of_text(kind: PartKind, text: &'v str) -> Lookup<'v> {
        match text.len() {
            0 => Lookup::Missing,
            1..=VALUE_BYTES_MAX => Lookup::One(Found::Text(kind, text)),
            _ => Lookup::Ambiguous(Ambiguity::TooLong),
        }
    }
}

impl<'v> From<Option<Found<'v>>> for Lookup<'v> {
    fn from(found: Option<Found<'v>>) -> Lookup<'v> {
        found.map_or(Lookup::Missing, Lookup::One)
    }
}

/// As a sentence goes on after the name of the value.
impl fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ambiguity::Repeated => f.write_str("it occurs more than once"),
            Ambiguity::Undecodable => f.write_str("it cannot be decoded"),
            Ambiguity::TooLong => write!(f, "it has more than {VALUE_BYTES_MAX} bytes"),
            Ambiguity::Spelling => f.write_str(
                "servers read it differently: it is next to `;` or after `#`, or its name is spelled differently",
            ),
            Ambiguity::Separator => f.write_str(
                "servers read it differently: it contains or follows white space or a comma, or has one unpaired quotation mark",
            ),
            Ambiguity::Blank => f.write_str("it has white space around it that only some servers strip"),
            Ambiguity::Encoded => f.write_str("it is quoted or percent-encoded, which servers read differently"),
            Ambiguity::Path => {
                f.write_str("servers read it differently: it begins with a host, or combines `..` with an encoded separator, `//` or `;`")
            }
            Ambiguity::List => f.write_str("it is a list or occurs more than once"),
            Ambiguity::Token => {
                f.write_str("the token's header field occurs more than once or cannot be read")
            }
        }
    }
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
    /// Writes all bytes; `None` if there are more than [`VALUE_BYTES_MAX`].
    fn write(&mut self, bytes: &mut dyn Iterator<Item = u8>) -> Option<&[u8]> {
        self.bytes.clear();
        for byte in bytes {
            self.bytes.try_push(byte).ok()?;
        }
        Some(&self.bytes)
    }

    /// The whole room.
    fn room(&mut self) -> &mut [u8] {
        self.bytes = ArrayVec::from([0; VALUE_BYTES_MAX]);
        &mut self.bytes
    }
}

/// The bytes that are meant by percent-encoding: `%41` is `A`, `+` is `plus`; a `%` without two hexadecimal digits is itself.
fn percent_decoded(bytes: impl Iterator<Item = u8> + Clone, plus: u8) -> impl Iterator<Item = u8> + Clone {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        #[cfg(test)]
        crate::steps::count();
        match rest.next()? {
            b'%' => {
                let mut after = rest.clone();
                let mut digit = || after.next().and_then(hex_value);
                let (Some(high), Some(low)) = (digit(), digit()) else { return Some(b'%') };
                rest = after;
                Some(high << 4 | low)
            }
            b'+' => Some(plus),
            byte => Some(byte),
        }
    })
}

/// Whether a `%` is without two hexadecimal digits.
fn has_bad_escape(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let digit = |at: usize| rest.get(at).copied().and_then(hex_value).is_some();
        if !digit(at + 1) || !digit(at + 2) {
            return true;
        }
        rest = rest.get(at + 3..).unwrap_or_default();
    }
    false
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

    /// The bytes that were written.
    pub(crate) fn into_bytes(self) -> &'b [u8] {
        let bytes: &'b [u8] = self.bytes;
        bytes.get(..self.len).unwrap_or_default()
    }

    /// What was written, if it is text.
    pub(crate) fn into_text(self) -> Option<&'b str> {
        str::from_utf8(self.into_bytes()).ok()
    }
}

impl Write for TextRoom<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| self.push(byte)).ok_or(fmt::Error)
    }
}

#[cfg(test)]
mod tests;
