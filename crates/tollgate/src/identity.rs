//! Which bucket: a keyed hash of the rule and the key.
//!
//! The hash *is* the identity, so it must not be guessable: its secrets come from a seed drawn at random for each table. 48 of
//! its 64 bits are stored; the others decide in which two windows the bucket may live, so that a stranger with the same 48
//! bits is seldom met: a new key takes another's bucket for its own with probability 24 · 2^-48, about 10^-13.

use std::hash::{BuildHasher, RandomState};

use siphasher::sip::SipHasher13;

use crate::key::KeyKind;
use crate::keyed_hash::KeyedHash;
use crate::memory::LimitId;
use crate::{CheckError, Key};

/// The secret of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seed(pub(crate) [u64; 2]);

/// One rule's own hashes, one for each kind of key.
#[derive(Debug, Clone)]
pub(crate) struct Namespace([KeyedHash; KeyKind::COUNT]);

/// A bucket's name within one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BucketId {
    /// 48 bits that tell it from its neighbours; stored in the slot. All 64 where the limit comes with the call.
    pub(crate) fingerprint: u64,
    /// The two windows where it may live; they may be the same.
    pub(crate) windows: [u32; 2],
}

impl Seed {
    /// A fresh secret from the operating system's randomness, by way of the standard library.
    pub(crate) fn random() -> Seed {
        Seed([random_word(), random_word()])
    }

    /// The hashes of the rule with this name.
    pub(crate) fn namespace(&self, rule: &str) -> Namespace {
        let [k0, k1] = self.0;
        let (named, mut drawn) = (SipHasher13::new_with_keys(k0, k1), 0_u64);
        let mut secret = || {
            drawn += 1;
            named.hash(&[rule.as_bytes(), &drawn.to_le_bytes()].concat())
        };
        Namespace(std::array::from_fn(|_| KeyedHash::new(&mut secret)))
    }
}

impl Namespace {
    /// The hash of `key`; [`BucketId::new`] makes a bucket of it.
    #[inline]
    pub(crate) fn hash(&self, key: &impl Key) -> Result<u64, CheckError> {
        key.with_bytes(|kind, bytes| {
            kind.accept(bytes)?;
            Ok(self.0[kind as usize].hash(bytes))
        })
    }
}

impl BucketId {
    /// The bucket that all clients share who find no room under this limit, for those who wait for it: in no window of any table.
    pub(crate) fn overflow_of(limit: LimitId) -> BucketId {
        BucketId { fingerprint: u64::from(limit.get()), windows: [u32::MAX; 2] }
    }

    /// Whether it is one of those.
    pub(crate) fn is_overflow(&self) -> bool {
        self.windows == [u32::MAX; 2]
    }

    /// The bucket with this hash in a table of `windows` windows.
    #[inline]
    pub(crate) fn new(hash: u64, windows: u32) -> BucketId {
        // The first window by the 16 bits that are not stored, the second by a product in which they reach every bit: of two
        // buckets with one fingerprint, each is somewhere else.
        let scrambled = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let windows = [hash.rotate_left(48) >> 32, scrambled >> 32].map(|bits| spread(bits, windows));
        BucketId { fingerprint: hash >> 16, windows }
    }

    /// Which half of its first (0) or second (1) window the bucket prefers: 0 or 1.
    #[inline]
    pub(crate) const fn half(&self, which: usize) -> usize {
        (self.fingerprint >> which & 1) as usize
    }
}

/// Maps 32 random bits evenly onto `0..windows`, which need not be a power of two.
fn spread(bits: u64, windows: u32) -> u32 {
    ((bits * u64::from(windows)) >> 32) as u32
}

/// 64 random bits: the standard library seeds its hash maps from the operating system.
pub(crate) fn random_word() -> u64 {
    RandomState::new().hash_one(0_u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_seeds_do_not_share_buckets() {
        let (one, other) = (Seed([1, 2]), Seed([1, 3]));
        let id = |seed: Seed, rule: &str| seed.namespace(rule).hash(&"alice").unwrap();
        assert_eq!(id(one, "api"), id(one, "api"));
        assert_ne!(id(one, "api"), id(one, "web"));
        assert_ne!(id(one, "api"), id(other, "api"));
    }

    #[test]
    fn windows_are_spread_evenly_whatever_their_number() {
        let (namespace, mut seen) = (Seed::random().namespace("api"), [0_u32; 7]);
        for key in 0..70_000_u32 {
            for window in BucketId::new(namespace.hash(&key).unwrap(), 7).windows {
                seen[window as usize] += 1;
            }
        }
        assert!(seen.iter().all(|count| (19_000..21_000).contains(count)), "{seen:?}");
    }
}
