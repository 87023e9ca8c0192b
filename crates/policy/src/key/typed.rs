//! What an operator types for a client of a rule, read as the key that the doors would build for it (K1).
//!
//! ```text
//!  one part       42   user:42   ip:192.0.2.7   header:x-api-key=abc
//!  several        user=42,path=/api/search            in a value `%2C` is a comma, `%25` a percent sign
//!  a long part    header:x-api-key=sha256:9f86d0…     as keys are shown that are kept as a hash
//!  no parts       all                                 the rule has one bucket
//!  lacking parts  anonymous                           the bucket that all share who lack a part
//! ```

use super::part::{DIGEST_BYTES, digest, read};
use super::text::encoded;
use super::{ANONYMOUS, IS_HASHED, Key, KeyMistake, OF_PARTS, with_part};
use crate::value::PartKind;
use crate::{KeyShape, KeySource, Rule};

/// Longest text that is read as a key, in bytes.
const TYPED_BYTES_MAX: usize = 16 * 1024;
/// Stands before the hash of a part that is too long for a key.
pub(super) const HASHED: &str = "sha256:";
/// The bucket of whoever lacks a part, and the only bucket of a rule without keys.
pub(super) const ANONYMOUS_TEXT: &str = "anonymous";
pub(super) const ALL_TEXT: &str = "all";

impl Rule {
    /// The key of the bucket that `typed` names, as [`crate::Hit::key`] has it.
    ///
    /// A rule of one part takes the value alone, or as `user:42`, `ip:192.0.2.7` or `header:x-api-key=abc`. A rule of several takes
    /// `user=42,path=/api/search`, in order; there `%2C` is a comma and `%25` a percent sign.
    ///
    /// ```
    /// # use tollgate_policy::*;
    /// let policy = Policy::parse("p", "{name: r, scope: user, rate: 1, burst: 1}")?;
    /// let rule = &policy.rules[0];
    /// assert_eq!(rule.key_of("42"), rule.key_of("user:42"));
    /// assert_ne!(rule.key_of("user:192.0.2.7"), rule.key_of("ip:192.0.2.7"));
    /// let key = rule.key_of("user:42").unwrap();
    /// assert_eq!(rule.keys_text(&key).unwrap(), "user:42");
    /// # Ok::<(), Mistakes>(())
    /// ```
    pub fn key_of(&self, typed: &str) -> Result<Vec<u8>, KeyMistake> {
        key_of(&self.keys, typed)
    }

    /// What its keys are made of.
    pub fn key_shape(&self) -> KeyShape {
        KeyShape { keys: self.keys.clone(), trusts_upstream_claims: self.trusts_upstream_claims }
    }
}

fn key_of(keys: &[KeySource], typed: &str) -> Result<Vec<u8>, KeyMistake> {
    if typed.len() > TYPED_BYTES_MAX {
        let what = format!("the key is {} bytes long, the most is {TYPED_BYTES_MAX}", typed.len());
        return Err(KeyMistake::new(what, "write its hash, as `tollgate keys` shows it"));
    }
    let mut key = Key::new();
    key.bytes.push(OF_PARTS);
    match keys {
        [] if matches!(typed, "" | ALL_TEXT) => {}
        [] => {
            let what = format!("`{typed}` is no key: the rule has one bucket for all");
            return Err(KeyMistake::new(what, format!("write `{ALL_TEXT}`")));
        }
        _ if typed == ANONYMOUS_TEXT => return Ok(vec![ANONYMOUS]),
        [source] => match named(source, typed) {
            Some((word, value)) => push(&mut key, 1, source, word, value)?,
            None => push_alone(&mut key, source, typed)?,
        },
        keys => {
            let parts: Vec<&str> = typed.split(',').collect();
            if parts.len() != keys.len() {
                let what =
                    format!("`{typed}` has {} parts, and a key of this rule {}", parts.len(), keys.len());
                return Err(KeyMistake::new(what, form(keys)));
            }
            for (source, part) in keys.iter().zip(parts) {
                let Some((word, value)) = named(source, part) else {
                    return Err(KeyMistake::new(format!("`{part}` is not `{source}=…`"), form(keys)));
                };
                push(&mut key, keys.len(), source, word, value)?;
            }
        }
    }
    Ok(key.bytes.to_vec())
}

/// How a key of several parts is typed.
fn form(keys: &[KeySource]) -> String {
    let parts: Vec<String> =
        keys.iter().map(|source| format!("{}=…", encoded(&source.to_string(), true))).collect();
    format!("write `{}`, with `%2C` for a comma in a value", parts.join(","))
}

/// The word and the value of `user=42`, if it is a part of this source.
fn named<'t>(source: &KeySource, part: &'t str) -> Option<(&'static str, &'t str)> {
    let other = match source {
        KeySource::User => "ip",
        KeySource::Path => "route",
        _ => "",
    };
    let after = |word: &str| part.strip_prefix(word)?.strip_prefix('=');
    after(&encoded(&source.to_string(), true))
        .map(|value| ("", value))
        .or_else(|| after(other).filter(|_| !other.is_empty()).map(|value| (other, value)))
}

/// A part whose value is written with percent signs.
fn push(key: &mut Key, count: usize, source: &KeySource, word: &str, value: &str) -> Result<(), KeyMistake> {
    if let (Some(digest), Some(kind)) =
        (value.strip_prefix(HASHED).and_then(digest), hashed_kind(source, word))
    {
        let digest: [u8; DIGEST_BYTES] = digest;
        key.push(kind as u8 | IS_HASHED, &digest);
        return Ok(());
    }
    let value = decoded(value).ok_or_else(|| {
        let what = format!("`{value}` has a percent sign that stands for nothing");
        KeyMistake::new(what, "write `%25` for a percent sign and `%2C` for a comma")
    })?;
    read(source, word, &value, |found| with_part(found, |kind, bytes| key.push_part(count, kind, bytes)))
}

/// The only part of a key, its value exactly as typed.
fn push_alone(key: &mut Key, source: &KeySource, typed: &str) -> Result<(), KeyMistake> {
    let (word, value) = match source {
        KeySource::User => match (typed.strip_prefix("user:"), typed.strip_prefix("ip:")) {
            (Some(user), _) => ("", user),
            (None, Some(address)) => ("ip", address),
            (None, None) => ("", typed),
        },
        KeySource::Address | KeySource::Prefix { .. } => ("", typed.strip_prefix("ip:").unwrap_or(typed)),
        KeySource::Path if typed.contains('{') => ("route", typed),
        _ => ("", typed),
    };
    read(source, word, value, |found| with_part(found, |kind, bytes| key.push_part(1, kind, bytes)))
}

/// The kind of a part that may be long enough to be hashed.
fn hashed_kind(source: &KeySource, word: &str) -> Option<PartKind> {
    Some(match source {
        KeySource::User => PartKind::User,
        KeySource::Header(_) => PartKind::Header,
        KeySource::Query(_) => PartKind::Query,
        KeySource::Cookie(_) => PartKind::Cookie,
        KeySource::Claim(_) => PartKind::ClaimText,
        KeySource::Plan => PartKind::Plan,
        KeySource::Path if word == "route" => PartKind::Route,
        KeySource::Path => PartKind::Path,
        KeySource::Host => PartKind::Host,
        _ => return None,
    })
}

/// A text with its percent signs read; `None` if one stands for nothing, or the whole is no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| byte.and_then(crate::path::hex_value);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(high << 4 | low);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
