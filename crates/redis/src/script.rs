//! The scripts that run on the server, and the names by which it knows them.

use std::fmt::Write;
use std::sync::LazyLock;

use sha1::{Digest, Sha1};

/// The version of the scripts' arguments, replies and stored values. Another version is another contract.
pub const SCRIPT_VERSION: u32 = 1;

/// A script, to be called by its digest and sent whole when the server does not know it.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    text: &'static str,
    sha: String,
}

static DECIDE: LazyLock<Script> = LazyLock::new(|| Script::new("decide", include_str!("script/decide.lua")));
static CENSUS: LazyLock<Script> = LazyLock::new(|| Script::new("census", include_str!("script/census.lua")));
static DECLARE: LazyLock<Script> =
    LazyLock::new(|| Script::new("declare", include_str!("script/declare.lua")));

impl Script {
    fn new(name: &'static str, text: &'static str) -> Script {
        let mut sha = String::with_capacity(40);
        for byte in Sha1::digest(text.as_bytes()) {
            let _ = write!(sha, "{byte:02x}");
        }
        Script { name, text, sha }
    }

    /// Decides a batch of checks and other operations.
    pub fn decide() -> &'static Script {
        &DECIDE
    }

    /// Reads and changes the limits that a rule has had.
    pub fn declare() -> &'static Script {
        &DECLARE
    }

    /// Counts the instances that share the store.
    pub fn census() -> &'static Script {
        &CENSUS
    }

    /// What it is called in messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its source, for `EVAL` and `SCRIPT LOAD`.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Its SHA-1 in lower-case hexadecimal, for `EVALSHA`. Computed here: the server need not be asked.
    pub fn sha(&self) -> &str {
        &self.sha
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_forty_digits_and_that_of_the_text() {
        assert_eq!(
            Script::new("empty", "").sha(),
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "the digest of nothing is well known"
        );
        assert!(
            [Script::decide(), Script::declare(), Script::census()]
                .iter()
                .all(|script| script.sha().len() == 40)
        );
    }

    /// A decimal number of more than 14 digits is cut by `..` and `tostring`, and `%` is inexact where `fmod` is not.
    #[test]
    fn no_script_prints_or_divides_inexactly() {
        for script in [Script::decide(), Script::declare(), Script::census()] {
            for line in script.text().lines() {
                let code = line.split("--").next().unwrap_or_default();
                assert!(!code.contains("tostring(") || code.contains("tostring(argv[1])"), "{line}");
                assert!(!code.replace(" % 1 ~= 0", "").contains(" % "), "{line}");
            }
        }
    }
}
