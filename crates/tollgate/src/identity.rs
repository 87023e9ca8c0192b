//! Which bucket: a keyed hash of the rule and the key.
//!
//! The hash *is* the identity, so it must not be guessable: SipHash-1-3 with 128 bits of output under a seed drawn at
//! random for each table. 48 bits are stored, the others choose the two windows where the bucket may live: a new key
//! meets a stranger's bucket with probability 16 · 2^-48, about 6 · 10^-14.

use std::hash::{BuildHasher, RandomState};

use siphasher::sip128::SipHasher13;

use crate::key::KeyKind;
use crate::{CheckError, Key};

/// The secret of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seed(pub(crate) [u64; 2]);

/// One rule's own hashes, one for each kind of key.
#[derive(Debug, Clone)]
pub(crate) struct Namespace([SipHasher13; KeyKind::COUNT]);

/// A bucket's name within one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketId {
    /// 48 bits that tell it from its neighbours; stored in the slot.
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
        let named = SipHasher13::new_with_keys(self.0[0], self.0[1]).hash(rule.as_bytes());
        Namespace([0_u8, 1, 2, 3].map(|kind| {
            let derived = SipHasher13::new_with_keys(named.h1, named.h2).hash(&[kind]);
            SipHasher13::new_with_keys(derived.h1, derived.h2)
        }))
    }
}

impl Namespace {
    /// The bucket of `key` in a table of `windows` windows.
    #[inline]
    pub(crate) fn bucket(&self, key: &impl Key, windows: u32) -> Result<BucketId, CheckError> {
        key.with_bytes(|kind, bytes| {
            kind.accept(bytes)?;
            let hash = self.0[kind as usize].hash(bytes);
            Ok(BucketId {
                fingerprint: hash.h1 >> 16,
                windows: [spread(hash.h2 >> 32, windows), spread(hash.h2 & 0xffff_ffff, windows)],
            })
        })
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
        let id = |seed: Seed, rule: &str| seed.namespace(rule).bucket(&"alice", 1_000).unwrap();
        assert_eq!(id(one, "api"), id(one, "api"));
        assert_ne!(id(one, "api"), id(one, "web"));
        assert_ne!(id(one, "api"), id(other, "api"));
    }

    #[test]
    fn windows_are_spread_evenly_whatever_their_number() {
        let (namespace, mut seen) = (Seed::random().namespace("api"), [0_u32; 7]);
        for key in 0..70_000_u32 {
            for window in namespace.bucket(&key, 7).unwrap().windows {
                seen[window as usize] += 1;
            }
        }
        assert!(seen.iter().all(|count| (19_000..21_000).contains(count)), "{seen:?}");
    }
}
