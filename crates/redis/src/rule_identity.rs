//! Which rule: its policy and its name, never a position.

use sha2::{Digest, Sha256};

/// Characters of a rule's digest in the names of its keys: 48 bits. Should two rules ever have the same, whoever declares the
/// second is told: the record of the first holds its names.
const DIGEST_CHARACTERS: usize = 8;

/// The identity of a rule on the server. Two programs that mean the same rule must give the same policy and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuleIdentity {
    policy: String,
    name: String,
    /// Empty for the rule's own limit.
    tier: String,
    digest: String,
}

impl RuleIdentity {
    /// The rule of this name in this policy.
    pub fn new(policy: &str, name: &str) -> RuleIdentity {
        // The length before the policy: no name can pretend to be part of it.
        let mut hash = Sha256::new();
        hash.update((policy.len() as u64).to_be_bytes());
        hash.update(policy.as_bytes());
        hash.update(name.as_bytes());
        let digest = base64_url(&hash.finalize(), DIGEST_CHARACTERS);
        RuleIdentity { policy: policy.to_owned(), name: name.to_owned(), tier: String::new(), digest }
    }

    /// A tier of the same rule: the same buckets under another limit, with a history of its own. The empty name is the rule's own limit.
    #[must_use]
    pub fn tier(&self, name: &str) -> RuleIdentity {
        RuleIdentity { tier: name.to_owned(), ..self.clone() }
    }

    /// The name of the tier; empty for the rule's own limit.
    pub fn tier_name(&self) -> &str {
        &self.tier
    }

    /// The number that stands for the tier in a bucket: 0 for the rule's own limit, else from 1 to 65,535. Should two tiers of a rule
    /// have the same, whoever declares the second is told.
    pub fn tag(&self) -> u16 {
        if self.tier.is_empty() {
            return 0;
        }
        let digest = Sha256::digest(self.tier.as_bytes());
        u16::from_be_bytes([digest[0], digest[1]]).max(1)
    }

    /// The policy.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The rule's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Eight characters that stand for both in the names of keys.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// The first characters of `bytes` in the base64 alphabet for URLs.
pub(crate) fn base64_url(bytes: &[u8], characters: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(characters);
    for index in 0..characters {
        let (byte, shift) = (index * 6 / 8, index * 6 % 8);
        let pair = u16::from_be_bytes([
            bytes.get(byte).copied().unwrap_or(0),
            bytes.get(byte + 1).copied().unwrap_or(0),
        ]);
        let sixth = usize::from(pair >> (10 - shift) & 63);
        text.push(char::from(ALPHABET[sixth]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_and_a_name_cannot_be_split_another_way() {
        let one = RuleIdentity::new("shop", "api");
        assert_ne!(one.digest(), RuleIdentity::new("shopa", "pi").digest());
        assert_ne!(one.digest(), RuleIdentity::new("", "shopapi").digest());
        assert_eq!(one.digest(), RuleIdentity::new("shop", "api").digest());
        assert_eq!(one.digest().len(), 8);
    }

    #[test]
    fn digests_are_base64_for_urls() {
        assert_eq!(base64_url(b"foobar", 8), "Zm9vYmFy");
        assert_eq!(base64_url(&[0xff, 0xff], 2), "__");
    }
}
