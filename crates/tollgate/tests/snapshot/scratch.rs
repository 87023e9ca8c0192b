//! A folder for one test's snapshot, and what a test may do to the bytes of one.

use std::fs;
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;

/// Where the wall clock's time stands in a snapshot.
const WALL_NANOS: std::ops::Range<usize> = 40..48;
/// A snapshot ends with its checksum.
const CHECKSUM_BYTES: usize = 8;

/// An empty folder; gone when it is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(test: &str) -> Scratch {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Where the snapshot is.
    pub(crate) fn file(&self) -> PathBuf {
        self.path("snapshot")
    }

    pub(crate) fn write(&self, bytes: &[u8]) {
        fs::write(self.file(), bytes).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The same snapshot, taken at another time by the wall clock.
pub(crate) fn saved_at(snapshot: &[u8], other: impl FnOnce(u64) -> u64) -> Vec<u8> {
    let mut bytes = snapshot.to_vec();
    let wall = u64::from_le_bytes(bytes[WALL_NANOS].try_into().unwrap());
    bytes[WALL_NANOS].copy_from_slice(&other(wall).to_le_bytes());
    with_checksum(bytes)
}

/// The bytes with a checksum that fits: what a forger would do.
pub(crate) fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let content = bytes.len() - CHECKSUM_BYTES;
    let sum = SipHasher13::new().hash(&bytes[..content]);
    bytes[content..].copy_from_slice(&sum.to_le_bytes());
    bytes
}
