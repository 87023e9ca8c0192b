//! Which keys a rule's roll-out has come to: the same on every node, and more of the same as the percentage grows.

use sha2::{Digest, Sha256};

use crate::Rule;
use crate::key::Key;
use crate::request::Request;

/// Whether the rule is enforced for the request's key. Rules of different names begin with different keys.
pub(crate) fn has_come_to(rule: &Rule, request: &Request<'_>) -> bool {
    match rule.rollout_percent {
        0 => false,
        100.. => true,
        percent => percent_of(&rule.name, Key::new().build(rule, request)) < u64::from(percent),
    }
}

/// Where in the roll-out this key stands, 0 to 99.
fn percent_of(rule: &str, key: &[u8]) -> u64 {
    let mut hash = Sha256::new();
    hash.update((rule.len() as u64).to_be_bytes());
    hash.update(rule);
    hash.update(key);
    let digest: [u8; 32] = hash.finalize().into();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first) % 100
}
