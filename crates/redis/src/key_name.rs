//! What keys are called on the server. A contract: other languages must build the same names.
//!
//! ```text
//! prefix ":" [ "{" tag "}" ] rule kind bytes        rule: 8 characters of its digest, or "*" where the limit comes with the call
//! tg:Xa3_9kQz:user:123456     text or bytes         tg:Xa3_9kQz!               the one bucket of all
//! tg:Xa3_9kQz#42              a number              tg:Xa3_9kQz/…              several parts, each after its length
//! tg:Xa3_9kQz@192.0.2.7       an address            tg:Xa3_9kQz~…              32 characters of a digest, where the key is long
//! tg:Xa3_9kQz=                the limits the rule has had; of a tier, with its tag: tg:Xa3_9kQz=4711
//! tg:$0123…                   a reservation         tg:?…                      an idempotency key
//! tg:&                        the instances that share the store
//! tg:%{tg:Xa3_9kQz!}node      what a node holds of a bucket
//! ```
//! The kind stands at a known place and everything after it is the key, so no key can pretend to be another (K1). A key that
//! is long or has a brace in it, which Cluster would take for a tag, is known by its digest.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use sha2::{Digest, Sha256};
use tollgate::{CheckError, KEY_BYTES_MAX, Key, KeyKind, ReservationId};

use crate::rule_identity::base64_url;
use crate::{Charge, RuleIdentity};

/// Longest key that stands in a name as it is; a longer one is known by its digest.
const PLAIN_BYTES_MAX: usize = 64;
/// Characters of a digest: 192 bits, which nobody collides.
const DIGEST_CHARACTERS: usize = 32;
/// Longest prefix.
const PREFIX_BYTES_MAX: usize = 32;
/// Longest tag: as long as policies allow.
const TAG_BYTES_MAX: usize = 64;
/// Longest name of a key, in bytes.
pub const KEY_NAME_BYTES_MAX: usize = PREFIX_BYTES_MAX + TAG_BYTES_MAX + 3 + 8 + 1 + PLAIN_BYTES_MAX;

/// The name of one key on the server.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyName(Vec<u8>);

/// Where the keys of one deployment live: what their names begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySpace {
    /// Up to and with the tag.
    begin: String,
}

/// Why a prefix or a tag is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySpaceError {
    /// Empty, too long, or with a character that has a meaning.
    BadPrefix(String),
    /// The same of a tag.
    BadTag(String),
}

impl Default for KeySpace {
    fn default() -> KeySpace {
        KeySpace { begin: "tg:".to_owned() }
    }
}

impl KeySpace {
    /// Names that begin with `prefix` and a colon: letters, digits, `.`, `_` and `-`, at most 32.
    pub fn new(prefix: &str) -> Result<KeySpace, KeySpaceError> {
        if is_plain(prefix, PREFIX_BYTES_MAX, b"._-") {
            Ok(KeySpace { begin: format!("{prefix}:") })
        } else {
            Err(KeySpaceError::BadPrefix(prefix.to_owned()))
        }
    }

    /// The same with a hash tag, so that in Cluster all its keys are in one slot: checks over several buckets are atomic there. Letters,
    /// digits, `.`, `_`, `-` and `:`, at most 64. Under another tag, or none, every bucket is another.
    pub fn tagged(&self, tag: &str) -> Result<KeySpace, KeySpaceError> {
        let prefix = self.begin.split(':').next().unwrap_or_default();
        if is_plain(tag, TAG_BYTES_MAX, b"._-:") {
            Ok(KeySpace { begin: format!("{prefix}:{{{tag}}}") })
        } else {
            Err(KeySpaceError::BadTag(tag.to_owned()))
        }
    }

    /// What every name begins with, the tag included.
    pub(crate) fn begin(&self) -> &str {
        &self.begin
    }

    /// The bucket of `key` under a rule.
    pub fn bucket(&self, rule: &RuleIdentity, key: impl Key) -> Result<KeyName, CheckError> {
        self.named(rule.digest(), &key)
    }

    /// The bucket of `key` whose limit comes with the call.
    pub fn explicit(&self, key: impl Key) -> Result<KeyName, CheckError> {
        self.named("*", &key)
    }

    /// The limits that a rule has had.
    pub fn history(&self, rule: &RuleIdentity) -> KeyName {
        let tier = if rule.tag() == 0 { String::new() } else { rule.tag().to_string() };
        KeyName(format!("{}{}={tier}", self.begin, rule.digest()).into_bytes())
    }

    /// The instances that share the store.
    pub fn instances(&self) -> KeyName {
        KeyName(format!("{}&", self.begin).into_bytes())
    }

    /// A reservation.
    pub fn reservation(&self, id: ReservationId) -> KeyName {
        KeyName(format!("{}${id}", self.begin).into_bytes())
    }

    /// An idempotency key, bound to all that it is used for: with other buckets, costs or limits that come with the call it is
    /// another.
    pub fn once(&self, idempotency_key: impl Key, charges: &[Charge]) -> Result<KeyName, CheckError> {
        let mut hash = idempotency_key.with_bytes(|kind, bytes| match bytes.len() {
            0 if kind != KeyKind::Everyone => Err(CheckError::EmptyIdempotencyKey),
            bytes if bytes > KEY_BYTES_MAX => Err(CheckError::KeyTooLong { bytes }),
            _ => Ok(with_lengths(Sha256::new(), [&[kind as u8][..], bytes])),
        })?;
        for Charge { key, limit, cost, keep } in charges {
            let (cost, keep) = (cost.as_micros().to_be_bytes(), keep.as_micros().to_be_bytes());
            let terms = if limit.is_explicit() { limit.words().join(" ") } else { String::new() };
            hash = with_lengths(hash, [key.as_bytes(), &cost, &keep, terms.as_bytes()]);
        }
        let digest = base64_url(&hash.finalize(), DIGEST_CHARACTERS);
        Ok(KeyName(format!("{}?{digest}", self.begin).into_bytes()))
    }

    /// What the names of a rule's buckets begin with, where [`is_plain_key`] stands behind it.
    pub(crate) fn plain_begin(&self, rule: &RuleIdentity) -> Vec<u8> {
        [self.begin.as_bytes(), rule.digest().as_bytes(), &[mark_of(KeyKind::Bytes)]].concat()
    }

    fn named(&self, rule: &str, key: &impl Key) -> Result<KeyName, CheckError> {
        key.with_bytes(|kind, bytes| {
            match (kind, bytes.len()) {
                (KeyKind::Bytes | KeyKind::Path, 0) => return Err(CheckError::EmptyKey),
                (_, bytes) if bytes > KEY_BYTES_MAX => return Err(CheckError::KeyTooLong { bytes }),
                _ => {}
            }
            let mut name = Vec::with_capacity(self.begin.len() + rule.len() + 1 + PLAIN_BYTES_MAX);
            name.extend_from_slice(self.begin.as_bytes());
            name.extend_from_slice(rule.as_bytes());
            push_key(&mut name, kind, bytes);
            Ok(KeyName(name))
        })
    }
}

/// Appends the kind and the key.
fn push_key(name: &mut Vec<u8>, kind: KeyKind, bytes: &[u8]) {
    match kind {
        KeyKind::Everyone => name.push(b'!'),
        KeyKind::Integer => {
            name.push(b'#');
            name.extend_from_slice(integer_text(bytes).as_bytes());
        }
        KeyKind::Address => {
            name.push(b'@');
            name.extend_from_slice(address_text(bytes).as_bytes());
        }
        KeyKind::Bytes | KeyKind::Path => {
            if is_named_as_it_is(kind, bytes) {
                name.push(mark_of(kind));
                name.extend_from_slice(bytes);
            } else {
                let hash = with_lengths(Sha256::new(), [&[kind as u8][..], bytes]).finalize();
                name.push(b'~');
                name.extend_from_slice(base64_url(&hash, DIGEST_CHARACTERS).as_bytes());
            }
        }
    }
}

/// Feeds parts, each after its length: none can pretend to be two.
/// Whether a key stands in its name as it is.
#[inline]
fn is_named_as_it_is(kind: KeyKind, bytes: &[u8]) -> bool {
    matches!(kind, KeyKind::Bytes | KeyKind::Path) && bytes.len() <= PLAIN_BYTES_MAX && !bytes.contains(&b'{')
}

/// Whether the name of a bucket is [`KeySpace::plain_begin`] and then this key, which is text or bytes.
#[inline]
pub(crate) fn is_plain_key(bytes: &[u8]) -> bool {
    !bytes.is_empty() && is_named_as_it_is(KeyKind::Bytes, bytes)
}

/// What stands before such a key.
#[inline]
fn mark_of(kind: KeyKind) -> u8 {
    if kind == KeyKind::Path { b'/' } else { b':' }
}

fn with_lengths<'p>(mut hash: Sha256, parts: impl IntoIterator<Item = &'p [u8]>) -> Sha256 {
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash
}

/// An integer as [`Key`] spells it, in decimal.
fn integer_text(bytes: &[u8]) -> String {
    match bytes {
        [b'-', magnitude @ ..] if magnitude.len() == 16 => {
            let mut word = [0; 16];
            word.copy_from_slice(magnitude);
            i128::from_le_bytes(word).to_string()
        }
        bytes => {
            let mut word = [0; 16];
            let length = bytes.len().min(16);
            word[..length].copy_from_slice(&bytes[..length]);
            u128::from_le_bytes(word).to_string()
        }
    }
}

fn address_text(bytes: &[u8]) -> String {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Ipv4Addr::from(octets).to_string();
    }
    match <[u8; 16]>::try_from(bytes) {
        Ok(octets) => Ipv6Addr::from(octets).to_string(),
        Err(_) => base64_url(bytes, bytes.len() * 4 / 3 + 1),
    }
}

/// Whether a text is a prefix or a tag: it has no character that means something where it stands.
fn is_plain(text: &str, bytes_max: usize, marks: &[u8]) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || marks.contains(&byte);
    (1..=bytes_max).contains(&text.len()) && text.bytes().all(is_plain)
}

impl KeyName {
    /// As it is sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What the store remembers of a node that holds a slice of this bucket, in the bucket's slot. `node` is of letters, digits, `.`, `_`
    /// and `-`, and names a node that never was before. `None` where Cluster would take part of the bucket's name for a tag.
    pub fn lease_record(&self, node: &str) -> Option<KeyName> {
        let begin = self.0.iter().position(|byte| *byte == b':')? + 1;
        let (prefix, rest) = self.0.split_at(begin);
        let is_tagged = rest.first() == Some(&b'{');
        let name = if is_tagged {
            let tag = rest.iter().position(|byte| *byte == b'}')? + 1;
            let (tag, rest) = rest.split_at(tag);
            [prefix, tag, b"%", node.as_bytes(), b"%", rest].concat()
        } else if rest.contains(&b'}') {
            return None;
        } else {
            [prefix, b"%{", &self.0, b"}", node.as_bytes()].concat()
        };
        Some(KeyName(name))
    }

    /// The name that was written down, in the note of a reservation for instance.
    pub fn from_bytes(bytes: Vec<u8>) -> KeyName {
        KeyName(bytes)
    }
}

impl fmt::Debug for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyName({})", self.0.escape_ascii())
    }
}

impl fmt::Display for KeySpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPrefix(value) => write!(
                f,
                "`prefix` is `{value}`; use 1 to {PREFIX_BYTES_MAX} of the characters A-Z a-z 0-9 . _ -"
            ),
            Self::BadTag(value) => write!(
                f,
                "`hash_tag` is `{value}`; use 1 to {TAG_BYTES_MAX} of the characters A-Z a-z 0-9 . _ - :"
            ),
        }
    }
}

impl std::error::Error for KeySpaceError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use tollgate::Path;

    fn text(name: &KeyName) -> String {
        name.as_bytes().escape_ascii().to_string()
    }

    #[test]
    fn names_are_as_the_contract_says() {
        let (keys, rule) = (KeySpace::default(), RuleIdentity::new("default", "user"));
        let digest = rule.digest();
        let name = |name: Result<KeyName, CheckError>| text(&name.unwrap());
        assert_eq!(name(keys.bucket(&rule, "user:123456")), format!("tg:{digest}:user:123456"));
        assert_eq!(name(keys.bucket(&rule, 42_u8)), format!("tg:{digest}#42"));
        assert_eq!(name(keys.bucket(&rule, -42_i64)), format!("tg:{digest}#-42"));
        assert_eq!(name(keys.bucket(&rule, IpAddr::from([192, 0, 2, 7]))), format!("tg:{digest}@192.0.2.7"));
        assert_eq!(name(keys.bucket(&rule, ())), format!("tg:{digest}!"));
        assert_eq!(name(keys.explicit("a")), "tg:*:a");
        assert_eq!(text(&keys.history(&rule)), format!("tg:{digest}="));
        let tagged = keys.tagged("acme").unwrap();
        assert_eq!(name(tagged.explicit("a")), "tg:{acme}*:a");
        assert_eq!(name(tagged.tagged("b").unwrap().explicit("a")), "tg:{b}*:a");
    }

    #[test]
    fn the_name_of_a_plain_key_is_its_beginning_and_the_key() {
        let rule = RuleIdentity::new("default", "user");
        for keys in [KeySpace::default(), KeySpace::new(&"p".repeat(32)).unwrap().tagged("t").unwrap()] {
            for key in [b"a".as_slice(), b"user:000007", b"a}b", &[b'x'; 64], &[1, 0, 255]] {
                assert!(is_plain_key(key));
                let begun = [&*keys.plain_begin(&rule), key].concat();
                assert_eq!(begun, keys.bucket(&rule, key).unwrap().as_bytes());
            }
        }
        for key in [b"".as_slice(), b"a{b", &[b'x'; 65]] {
            assert!(!is_plain_key(key));
        }
    }

    #[test]
    fn keys_of_two_kinds_never_share_a_bucket() {
        let (keys, rule) = (KeySpace::default(), RuleIdentity::new("default", "user"));
        let mut names = vec![
            keys.bucket(&rule, "42").unwrap(),
            keys.bucket(&rule, 42).unwrap(),
            keys.bucket(&rule, IpAddr::from([0, 0, 0, 42])).unwrap(),
            keys.bucket(&rule, Path(&["42"])).unwrap(),
            keys.bucket(&rule, Path(&["4", "2"])).unwrap(),
            keys.bucket(&rule, ()).unwrap(),
            keys.bucket(&RuleIdentity::new("default", "use"), "42").unwrap(),
            keys.explicit("42").unwrap(),
        ];
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 8);
    }

    #[test]
    fn long_keys_and_braces_are_digested_and_every_name_is_bounded() {
        let keys = KeySpace::new(&"p".repeat(32)).unwrap().tagged(&"t".repeat(64)).unwrap();
        let rule = RuleIdentity::new("default", "user");
        for key in ["x".repeat(64), "x".repeat(65), "x".repeat(512), "a{b}c".to_owned()] {
            let name = keys.bucket(&rule, key.as_str()).unwrap();
            assert!(name.as_bytes().len() <= KEY_NAME_BYTES_MAX);
            let begins_at = name.as_bytes().iter().rposition(|byte| *byte == b'{');
            assert_eq!(begins_at, Some(33), "the tag's own is the last brace");
        }
        assert_ne!(keys.explicit("x".repeat(65)).unwrap(), keys.explicit("x".repeat(66)).unwrap());
        assert_eq!(keys.explicit("x".repeat(513)), Err(CheckError::KeyTooLong { bytes: 513 }));
        assert_eq!(keys.explicit(""), Err(CheckError::EmptyKey));
    }

    #[test]
    fn a_node_s_record_is_in_the_slot_of_its_bucket() {
        let keys = KeySpace::default();
        for keys in [&keys, &keys.tagged("acme").unwrap()] {
            for key in ["a", "a:b%c", "{", &"x".repeat(99)] {
                let bucket = keys.explicit(key).unwrap();
                let record = bucket.lease_record("n1").unwrap();
                assert_eq!(
                    crate::slot_of(record.as_bytes()),
                    crate::slot_of(bucket.as_bytes()),
                    "{record:?}"
                );
                assert!(record.as_bytes().starts_with(b"tg:"));
            }
        }
        let name = |keys: &KeySpace| text(&keys.explicit("a").unwrap().lease_record("n1").unwrap());
        assert_eq!(name(&keys), "tg:%{tg:*:a}n1");
        assert_eq!(name(&keys.tagged("acme").unwrap()), "tg:{acme}%n1%*:a");
        assert_eq!(keys.explicit("a}b").unwrap().lease_record("n1"), None);
    }

    #[test]
    fn a_prefix_or_tag_with_a_meaning_is_refused_with_the_cure() {
        for bad in ["", "{a}", &"x".repeat(65), "ä", "a b"] {
            assert!(KeySpace::new(bad).unwrap_err().to_string().contains("use 1 to 32"));
            assert!(KeySpace::default().tagged(bad).unwrap_err().to_string().contains("use 1 to 64"));
        }
        // The name's own colon ends a prefix; braces end a tag.
        assert!(KeySpace::new("a:b").is_err() && KeySpace::new(&"x".repeat(33)).is_err());
        assert_eq!(
            text(&KeySpace::default().tagged("shop:eu-1").unwrap().explicit("a").unwrap()),
            "tg:{shop:eu-1}*:a"
        );
    }
}
