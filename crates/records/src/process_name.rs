//! What one process is called among those that share a database.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};

/// A name that no other process has: 128 random bits in hex digits, and others with each call.
pub fn process_name() -> String {
    let mut name = String::new();
    for part in 0..2_u64 {
        // Writing to a text cannot fail.
        let _ = write!(name, "{:016x}", RandomState::new().hash_one(part));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::process_name;

    #[test]
    fn no_two_names_are_the_same() {
        let (one, other) = (process_name(), process_name());
        assert!(one.len() == 32 && other.len() == 32 && one != other, "{one} {other}");
    }
}
