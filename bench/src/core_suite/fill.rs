//! Gives every key its bucket before anything is measured.

use std::fmt::Write as _;

use super::subject::Subject;

/// Keys handed over at a time.
pub(crate) const CHUNK_KEYS: u32 = 1_000;
/// Room for `user:4294967295`.
const KEY_BYTES_MAX: usize = 15;

/// A chunk of keys whose memory is taken once, so that filling adds nothing to what a subject is charged with.
pub(crate) struct Filler {
    chunk: Vec<String>,
}

impl Filler {
    /// Takes its memory.
    pub(crate) fn new() -> Self {
        Self { chunk: (0..CHUNK_KEYS).map(|_| String::with_capacity(KEY_BYTES_MAX)).collect() }
    }

    /// Checks `user:0` up to `user:{keys - 1}` once each. Returns how many were admitted.
    pub(crate) fn fill(&mut self, subject: &dyn Subject, keys: u32) -> u64 {
        let mut admitted = 0;
        let mut user = 0;
        while user < keys {
            let count = CHUNK_KEYS.min(keys - user);
            let chunk = &mut self.chunk[..count as usize];
            for key in chunk.iter_mut() {
                key.clear();
                // Writing to a String cannot fail.
                let _ = write!(key, "user:{user}");
                user += 1;
            }
            admitted += subject.fill_stream(chunk);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use super::{Filler, Subject};

    #[derive(Default)]
    struct Seen(Mutex<HashSet<String>>);

    impl Subject for Seen {
        fn check_stream(&self, keys: &[String]) -> u64 {
            let mut seen = self.0.lock().unwrap();
            keys.iter().map(|key| u64::from(seen.insert(key.clone()))).sum()
        }
    }

    #[test]
    fn every_key_is_checked_once() {
        let seen = Seen::default();
        assert_eq!(Filler::new().fill(&seen, 2_345), 2_345);
        assert!(seen.0.lock().unwrap().contains("user:2344"));
        assert_eq!(seen.0.lock().unwrap().len(), 2_345);
    }
}
