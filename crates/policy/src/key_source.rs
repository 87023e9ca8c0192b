//! Where a part of a key comes from.

use std::fmt;

/// One part of a key, or one thing that a condition looks at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// `ip:address`: the client's address.
    Address,
    /// `ip:prefix`: the network that it is in. Spelt `ip:prefix`, `ip:prefix/24`, or `ip:prefix/24,48` for IPv4 and IPv6.
    Prefix {
        /// Bits of an IPv4 address, 8 to 32; 32 unless told otherwise.
        v4: u8,
        /// Bits of an IPv6 address, 16 to 128; 64 unless told otherwise.
        v6: u8,
    },
    /// `header:<name>`, in lower case.
    Header(Box<str>),
    /// `query:<name>`.
    Query(Box<str>),
    /// `cookie:<name>`.
    Cookie(Box<str>),
    /// `jwt:<claim>`; nested claims with dots, here split.
    Claim(Vec<Box<str>>),
    /// `path`: the route's template where there is one, else the normalised path.
    Path,
    /// `method`.
    Method,
    /// `host`, in lower case, without a port.
    Host,
    /// `user`: the authenticated principal, else the client's address; in keys, as [`KeySource::ONE_CLIENT`] counts it.
    User,
    /// `plan`.
    Plan,
    /// `fingerprint`: sorted header names and HTTP version.
    Fingerprint,
    /// `constant:<text>`.
    Constant(Box<str>),
}

/// Of IPv6, one client has a network of so many bits.
pub(crate) const CLIENT_BITS_V6: u8 = 64;

impl KeySource {
    /// `ip:prefix`: what one client has, an IPv4 address or an IPv6 network of 64 bits. Per address it would have 2^64 buckets.
    pub const ONE_CLIENT: KeySource = KeySource::Prefix { v4: 32, v6: CLIENT_BITS_V6 };
}

/// As policies spell it.
impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySource::Address => f.write_str("ip:address"),
            KeySource::Prefix { v4: 32, v6: 64 } => f.write_str("ip:prefix"),
            KeySource::Prefix { v4, v6 } => write!(f, "ip:prefix/{v4},{v6}"),
            KeySource::Header(name) => write!(f, "header:{name}"),
            KeySource::Query(name) => write!(f, "query:{name}"),
            KeySource::Cookie(name) => write!(f, "cookie:{name}"),
            KeySource::Claim(path) => write!(f, "jwt:{}", path.join(".")),
            KeySource::Path => f.write_str("path"),
            KeySource::Method => f.write_str("method"),
            KeySource::Host => f.write_str("host"),
            KeySource::User => f.write_str("user"),
            KeySource::Plan => f.write_str("plan"),
            KeySource::Fingerprint => f.write_str("fingerprint"),
            KeySource::Constant(text) => write!(f, "constant:{text}"),
        }
    }
}
