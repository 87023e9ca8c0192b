//! The bytes that pick a rule's bucket (K1, K5).
//!
//! ```text
//!  anonymous   0
//!  of parts    1  kind length(2) bytes  kind length(2) bytes …      a long part: kind + 128, 32, its SHA-256
//!  many parts  2  SHA-256 of the above
//! ```
//! Unambiguous whatever the parts contain, never empty, at most [`KEY_BYTES_MAX`] bytes. The policy and the rule are not in
//! here: whoever keeps buckets keeps them per rule ([`crate::Hit::rule`]).

mod mistake;
mod part;
mod text;
mod typed;

use std::net::IpAddr;
use std::ops::ControlFlow;

use arrayvec::ArrayVec;
use sha2::{Digest, Sha256};

use crate::request::Request;
use crate::value::{
    Found, Lookup, PartKind, RawValue, Scratch, VALUES_READ_MAX, each_value, find, find_for_key,
};
use crate::{KeyShape, KeySource, MethodSet, Rule};
pub use mistake::KeyMistake;

/// Longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;
/// With more parts than this the whole key is hashed: each must have room for a hash. In bytes: 1 + 14 · (3 + 32) = 491.
const PARTS_MAX: usize = 14;
/// Maximum number of keys that are tried where ambiguous values spell several.
pub(crate) const KEYS_TRIED_MAX: usize = 64;
const PART_HEAD_BYTES: usize = 3;
/// Set in the kind of a part that stands there as its hash.
const IS_HASHED: u8 = 128;

const ANONYMOUS: u8 = 0;
const OF_PARTS: u8 = 1;
const OF_MANY_PARTS: u8 = 2;

/// The key of one request under one rule.
#[derive(Debug)]
pub(crate) struct Key {
    bytes: ArrayVec<u8, KEY_BYTES_MAX>,
    is_ambiguous: bool,
}

/// The request's ambiguous values spell more than [`KEYS_TRIED_MAX`] keys, or one of them may be any value.
#[derive(Debug)]
pub(crate) struct TooManyKeys;

impl Key {
    /// Room for a key.
    pub(crate) fn new() -> Key {
        Key { bytes: ArrayVec::new(), is_ambiguous: false }
    }

    /// Builds the request's key under `rule`; if a part is missing or ambiguous, it is the rule's anonymous key, which no
    /// request that lacks nothing has.
    #[inline]
    pub(crate) fn build(&mut self, rule: &Rule, request: &Request<'_>) -> &[u8] {
        self.build_from(&rule.keys, rule.trusts_upstream_claims, request)
    }

    /// Builds the request's key under every rule of this shape.
    pub(crate) fn build_of(&mut self, shape: &KeyShape, request: &Request<'_>) -> &[u8] {
        self.build_from(&shape.keys, shape.trusts_upstream_claims, request)
    }

    /// Whether a part of the key that was built last is ambiguous in the request, or encoded so that conditions take it for
    /// ambiguous.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    /// Shows every key of this shape that the request's values spell if its ambiguous parts are read as each of their
    /// values; none if a part is missing. Values that cannot be read spell no key.
    pub(crate) fn each_spelt(
        &mut self,
        shape: &KeyShape,
        request: &Request<'_>,
        visit: &mut dyn FnMut(&[u8]),
    ) -> Result<(), TooManyKeys> {
        self.bytes.clear();
        self.bytes.push(OF_PARTS);
        let mut tries_left = KEYS_TRIED_MAX;
        self.spell(shape, 0, request, &mut tries_left, visit)
    }

    /// Spells the parts of the key from `at` on, behind those that are written. As deep as a key has parts.
    fn spell(
        &mut self,
        shape: &KeyShape,
        at: usize,
        request: &Request<'_>,
        tries_left: &mut usize,
        visit: &mut dyn FnMut(&[u8]),
    ) -> Result<(), TooManyKeys> {
        let (count, written) = (shape.keys.len(), self.bytes.len());
        // A key of so many parts is a hash of all of them, and no policy has one.
        if count > PARTS_MAX {
            return Ok(());
        }
        let Some(source) = shape.keys.get(at) else {
            *tries_left = tries_left.checked_sub(1).ok_or(TooManyKeys)?;
            visit(&self.bytes);
            return Ok(());
        };
        let trusts_upstream = shape.trusts_upstream_claims;
        let mut spell_on = |found: &Found<'_>, tries_left: &mut usize| {
            with_part(found, |kind, bytes| self.push_part(count, kind, bytes));
            let spelt = self.spell(shape, at + 1, request, tries_left, visit);
            self.bytes.truncate(written);
            spelt
        };
        match find_for_key(source, request, trusts_upstream, &mut Scratch::default()) {
            Lookup::Missing => Ok(()),
            Lookup::One(found) => spell_on(&found, tries_left),
            Lookup::Encoded(_) | Lookup::Ambiguous(_) => {
                let (mut spelt, mut values) = (Ok(()), 0);
                each_value(source, request, trusts_upstream, &mut |value| {
                    values += 1;
                    if values > VALUES_READ_MAX || matches!(value, RawValue::Unreadable) {
                        spelt = Err(TooManyKeys);
                    } else if let Lookup::One(found) = value.read(&mut Scratch::default()) {
                        spelt = spell_on(&found, tries_left);
                    }
                    if spelt.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
                spelt
            }
        }
    }

    #[inline]
    fn build_from(&mut self, keys: &[KeySource], trusts_upstream: bool, request: &Request<'_>) -> &[u8] {
        self.is_ambiguous = false;
        if !self.write_v4(keys, request) {
            let missing = self.write_parts(keys, trusts_upstream, request);
            self.is_ambiguous |= missing == Some(Lack::Ambiguous);
            if missing.is_some() {
                self.bytes.clear();
                self.bytes.push(ANONYMOUS);
            }
        }
        &self.bytes
    }

    /// Writes the most usual key at once: an address of IPv4 and nothing else. Whether that is the rule's.
    #[inline]
    fn write_v4(&mut self, keys: &[KeySource], request: &Request<'_>) -> bool {
        with_v4_key(keys, request.facts.address, |bytes| {
            self.bytes.clear();
            self.append(bytes);
        })
    }

    /// Writes all parts, or tells what is the matter with one.
    #[inline(never)]
    fn write_parts(
        &mut self,
        keys: &[KeySource],
        trusts_upstream: bool,
        request: &Request<'_>,
    ) -> Option<Lack> {
        // The next most usual: a user and nothing else, as below.
        if let ([KeySource::User], Some(user)) = (keys, request.facts.user)
            && (1..KEY_BYTES_MAX - PART_HEAD_BYTES).contains(&user.len())
        {
            self.bytes.clear();
            self.bytes.push(OF_PARTS);
            self.push(PartKind::User as u8, user.as_bytes());
            return None;
        }
        let mut scratch = Scratch::default();
        let count = keys.len();
        self.bytes.clear();
        self.bytes.push(if count > PARTS_MAX { OF_MANY_PARTS } else { OF_PARTS });
        let mut all = (count > PARTS_MAX).then(Sha256::new);
        for source in keys {
            let found = match find_for_key(source, request, trusts_upstream, &mut scratch) {
                Lookup::One(found) => found,
                Lookup::Encoded(found) => {
                    self.is_ambiguous = true;
                    found
                }
                Lookup::Ambiguous(_) => return Some(Lack::Ambiguous),
                Lookup::Missing => return Some(lack_of(keys, trusts_upstream, request)),
            };
            with_part(&found, |kind, bytes| match &mut all {
                Some(hash) => {
                    hash.update([kind]);
                    hash.update((bytes.len() as u64).to_be_bytes());
                    hash.update(bytes);
                }
                None => self.push_part(count, kind, bytes),
            });
        }
        if let Some(hash) = all {
            self.append(&hash.finalize());
        }
        None
    }

    /// One of `count` parts: every part has its share of the room, and one that needs more is hashed.
    #[inline]
    fn push_part(&mut self, count: usize, kind: u8, bytes: &[u8]) {
        if (bytes.len() + PART_HEAD_BYTES) * count > KEY_BYTES_MAX - 1 {
            self.push(kind | IS_HASHED, &Sha256::digest(bytes));
        } else {
            self.push(kind, bytes);
        }
    }

    fn push(&mut self, kind: u8, bytes: &[u8]) {
        let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes();
        self.append(&[kind, len[0], len[1]]);
        self.append(bytes);
    }

    /// There is room by construction: every part has its share, and a part that needs more is hashed.
    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        let fits = self.bytes.try_extend_from_slice(bytes).is_ok();
        debug_assert!(fits, "{} bytes and {}", self.bytes.len(), bytes.len());
    }
}

/// Shows `use_it` the key of a client under rules whose key is its address of IPv4 and nothing else. Whether that is so.
#[inline]
pub(crate) fn with_v4_key(keys: &[KeySource], address: Option<IpAddr>, use_it: impl FnOnce(&[u8])) -> bool {
    let ([source], Some(IpAddr::V4(address))) = (keys, address) else { return false };
    let [a, b, c, d] = address.octets();
    match source {
        KeySource::Address => use_it(&[OF_PARTS, PartKind::Address as u8, 0, 4, a, b, c, d]),
        KeySource::Prefix { v4: 32, .. } => {
            use_it(&[OF_PARTS, PartKind::Network as u8, 0, 5, a, b, c, d, 32]);
        }
        _ => return false,
    }
    true
}

/// Why a part of a key has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// The request does not have it.
    Missing,
    /// It is ambiguous. If one part is, it does not matter that others are missing.
    Ambiguous,
}

/// Why a key cannot be built: a part has no value.
fn lack_of(keys: &[KeySource], trusts_upstream: bool, request: &Request<'_>) -> Lack {
    let mut scratch = Scratch::default();
    let is_ambiguous =
        |source| matches!(find(source, request, trusts_upstream, &mut scratch), Lookup::Ambiguous(_));
    if keys.iter().any(is_ambiguous) { Lack::Ambiguous } else { Lack::Missing }
}

/// The position in the rule's keys of the first part that the request lacks or that is ambiguous, and which of the two the
/// whole key is.
pub(crate) fn first_missing(rule: &Rule, request: &Request<'_>) -> Option<(usize, Lack)> {
    let mut scratch = Scratch::default();
    let trusts_upstream = rule.trusts_upstream_claims;
    let part =
        rule.keys.iter().position(|source| match find(source, request, trusts_upstream, &mut scratch) {
            Lookup::One(_) | Lookup::Encoded(_) => false,
            Lookup::Missing | Lookup::Ambiguous(_) => true,
        })?;
    Some((part, lack_of(&rule.keys, trusts_upstream, request)))
}

/// The kind and bytes of a part.
fn with_part(found: &Found<'_>, use_it: impl FnOnce(u8, &[u8])) {
    match found {
        // Clients can make up methods, and must not get a bucket for each.
        Found::Text(PartKind::Method, method) if !MethodSet::is_known(method) => {
            use_it(PartKind::OtherMethod as u8, &[]);
        }
        Found::Text(kind, text) => use_it(*kind as u8, text.as_bytes()),
        Found::Address(kind, IpAddr::V4(address)) => use_it(*kind as u8, &address.octets()),
        Found::Address(kind, IpAddr::V6(address)) => use_it(*kind as u8, &address.octets()),
        Found::Network(kind, network) => {
            let mut bytes = [0; 17];
            let len = match network.addr() {
                IpAddr::V4(address) => {
                    bytes[..4].copy_from_slice(&address.octets());
                    4
                }
                IpAddr::V6(address) => {
                    bytes[..16].copy_from_slice(&address.octets());
                    16
                }
            };
            bytes[len] = network.prefix_len();
            use_it(*kind as u8, &bytes[..=len]);
        }
        Found::Digest(digest) => use_it(PartKind::Fingerprint as u8, digest),
    }
}

#[cfg(test)]
mod tests;
