//! The bytes of a key, as people read it and type it again.

use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::part::claim_value;
use super::typed::{ALL_TEXT, ANONYMOUS_TEXT, HASHED};
use super::{ANONYMOUS, IS_HASHED, OF_PARTS};
use crate::value::PartKind;
use crate::{KeyShape, KeySource, Rule};

impl Rule {
    /// What an operator types for this key ([`Rule::key_of`]), on one line; `None` if it is none of this rule's, or one hash of
    /// many parts.
    pub fn keys_text(&self, key: &[u8]) -> Option<String> {
        text_of(&self.keys, key)
    }
}

impl KeyShape {
    /// What an operator types for this key.
    pub(crate) fn text_of(&self, key: &[u8]) -> Option<String> {
        text_of(&self.keys, key)
    }
}

fn text_of(keys: &[KeySource], key: &[u8]) -> Option<String> {
    let (&form, mut rest) = key.split_first()?;
    if form == ANONYMOUS && rest.is_empty() && !keys.is_empty() {
        return Some(ANONYMOUS_TEXT.to_owned());
    }
    if form != OF_PARTS {
        return None;
    }
    let mut parts = Vec::with_capacity(keys.len());
    for source in keys {
        let [kind, high, low, after @ ..] = rest else { return None };
        let (bytes, after) = after.split_at_checked(usize::from(u16::from_be_bytes([*high, *low])))?;
        rest = after;
        parts.push(Part { source, kind: *kind, bytes });
    }
    match &parts[..] {
        _ if !rest.is_empty() => None,
        [] => Some(ALL_TEXT.to_owned()),
        [part] => part.alone().or_else(|| part.named()),
        parts => Some(parts.iter().map(Part::named).collect::<Option<Vec<_>>>()?.join(",")),
    }
}

struct Part<'k> {
    source: &'k KeySource,
    kind: u8,
    bytes: &'k [u8],
}

impl Part<'_> {
    fn is(&self, kind: PartKind) -> bool {
        self.kind == kind as u8
    }

    /// The short form of the only part: `user:42`, `ip:192.0.2.7`.
    fn alone(&self) -> Option<String> {
        match self.source {
            KeySource::User if self.is(PartKind::User) => {
                let user = str::from_utf8(self.bytes).ok()?;
                (!user.chars().any(char::is_control)).then(|| format!("user:{user}"))
            }
            KeySource::User | KeySource::Address | KeySource::Prefix { .. } => {
                Some(format!("ip:{}", self.address()?))
            }
            _ => None,
        }
    }

    /// `header:x-api-key=abc`.
    fn named(&self) -> Option<String> {
        let word = match self.source {
            KeySource::User if self.is(PartKind::UserAddress) => "ip".to_owned(),
            KeySource::Path if self.kind & !IS_HASHED == PartKind::Route as u8 => "route".to_owned(),
            source => encoded(&source.to_string(), true),
        };
        Some(format!("{word}={}", self.value()?))
    }

    fn value(&self) -> Option<String> {
        if self.kind & IS_HASHED != 0 {
            return Some(format!("{HASHED}{}", hex(self.bytes)));
        }
        if let Some(address) = self.address() {
            return Some(address);
        }
        if self.is(PartKind::Fingerprint) {
            return Some(hex(self.bytes));
        }
        if self.is(PartKind::OtherMethod) {
            return Some("OTHER".to_owned());
        }
        let text = str::from_utf8(self.bytes).ok()?;
        let looks_like_another = || claim_value(text) != Value::String(text.to_owned());
        if self.is(PartKind::ClaimText) && looks_like_another() {
            return Some(encoded(&Value::String(text.to_owned()).to_string(), false));
        }
        Some(encoded(text, false))
    }

    /// An address or a network; the network of one address is that address.
    fn address(&self) -> Option<String> {
        let is_network = |bits: usize| self.bytes.len() == bits / 8 + 1;
        if !(self.is(PartKind::Address) || self.is(PartKind::Network) || self.is(PartKind::UserAddress)) {
            return None;
        }
        let (address, bits): (IpAddr, Option<&u8>) = match self.bytes {
            [a, b, c, d, bits @ ..] if self.bytes.len() == 4 || is_network(32) => {
                ([*a, *b, *c, *d].into(), bits.first())
            }
            bytes if bytes.len() == 16 || is_network(128) => {
                (<[u8; 16]>::try_from(bytes.get(..16)?).ok()?.into(), bytes.get(16))
            }
            _ => return None,
        };
        let Some(bits) = bits else { return Some(address.to_string()) };
        let network = IpNet::new(address, *bits).ok()?;
        let is_one = network.prefix_len() == network.max_prefix_len();
        Some(if is_one { address.to_string() } else { network.to_string() })
    }
}

/// The text with percent signs for what would mean something else: commas, percent signs, control characters, and in names
/// the equals sign.
pub(super) fn encoded(text: &str, is_name: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    let stands_for_a_hash = !is_name && text.starts_with(HASHED);
    for (at, sign) in text.char_indices() {
        let is_special = matches!(sign, '%' | ',') || sign.is_control() || (is_name && sign == '=');
        if is_special || (at == 0 && stands_for_a_hash) {
            for byte in sign.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(encoded, "%{byte:02X}");
            }
        } else {
            encoded.push(sign);
        }
    }
    encoded
}

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
