//! A bucket as the key of a map.

use std::hash::{Hash, Hasher};

use crate::identity::BucketId;

/// A bucket as the key of a map: its fingerprint is a keyed hash already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket(pub(super) BucketId);

impl Hash for Bucket {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.fingerprint);
    }
}

/// Spreads a word that nobody can choose, a fingerprint or a ticket: the map looks at the top and at the bottom of it.
#[derive(Debug, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}
