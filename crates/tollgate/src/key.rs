//! What a client may be called.
//!
//! A key is a kind and some bytes, so that the number 42, the text "42" and an address never share a bucket. Keys are
//! hashed where they are given and not kept.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::CheckError;

/// Longest key, in bytes. A longer one is refused: hash it yourself, or pick a shorter identity.
pub const KEY_BYTES_MAX: usize = 512;

/// Anything that names a bucket: text, bytes, integers, addresses, or `()` for the one bucket that all share.
///
/// Integers of all widths are one kind (`42_u8` and `42_u64` are the same key), as are text and bytes. An IPv4 address
/// mapped into IPv6 is the IPv4 address.
pub trait Key {
    /// The kind and bytes of this key, passed on to `use_it`.
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T;
}

/// What kind of thing a key is. Keys of two kinds are never the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// Text or bytes.
    Bytes = 0,
    /// A number.
    Integer = 1,
    /// A network address.
    Address = 2,
    /// The one bucket of a rule that has only one.
    Everyone = 3,
    /// Several parts in order.
    Path = 4,
}

impl KeyKind {
    pub(crate) const COUNT: usize = 5;

    /// Refuses what is no name for a bucket.
    #[inline]
    pub(crate) fn accept(self, bytes: &[u8]) -> Result<(), CheckError> {
        match (self, bytes.len()) {
            (KeyKind::Bytes | KeyKind::Path, 0) => Err(CheckError::EmptyKey),
            (_, len) if len > KEY_BYTES_MAX => Err(CheckError::KeyTooLong { bytes: len }),
            _ => Ok(()),
        }
    }
}

impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        (**self).with_bytes(use_it)
    }
}

impl Key for [u8] {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Bytes, self)
    }
}

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Bytes, self)
    }
}

impl Key for str {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Bytes, self.as_bytes())
    }
}

impl Key for String {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Bytes, self.as_bytes())
    }
}

impl Key for Box<str> {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Bytes, self.as_bytes())
    }
}

impl Key for Arc<str> {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Bytes, self.as_bytes())
    }
}

impl Key for Cow<'_, str> {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Bytes, self.as_bytes())
    }
}

impl Key for Vec<u8> {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Bytes, self)
    }
}

impl Key for () {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Everyone, &[])
    }
}

impl Key for Ipv4Addr {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        use_it(KeyKind::Address, &self.octets())
    }
}

impl Key for Ipv6Addr {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        match self.to_canonical() {
            IpAddr::V4(v4) => v4.with_bytes(use_it),
            IpAddr::V6(v6) => use_it(KeyKind::Address, &v6.octets()),
        }
    }
}

impl Key for IpAddr {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        match self {
            IpAddr::V4(v4) => v4.with_bytes(use_it),
            IpAddr::V6(v6) => v6.with_bytes(use_it),
        }
    }
}

/// Unsigned integers by value, so that width does not matter: 8 bytes where that is enough, otherwise 16.
impl Key for u128 {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        match u64::try_from(*self) {
            Ok(short) => use_it(KeyKind::Integer, &short.to_le_bytes()),
            Err(_) => use_it(KeyKind::Integer, &self.to_le_bytes()),
        }
    }
}

/// Signed integers by value: as unsigned ones, or 17 bytes if negative.
impl Key for i128 {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        if let Ok(unsigned) = u128::try_from(*self) {
            return unsigned.with_bytes(use_it);
        }
        let mut bytes = [b'-'; 17];
        bytes[1..].copy_from_slice(&self.to_le_bytes());
        use_it(KeyKind::Integer, &bytes)
    }
}

impl Key for usize {
    #[inline]
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        (*self as u128).with_bytes(use_it)
    }
}

macro_rules! narrow_integer_keys {
    ($wide:ty: $($narrow:ty),+) => {$(
        impl Key for $narrow {
            #[inline]
            fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
                <$wide>::from(*self).with_bytes(use_it)
            }
        }
    )+};
}
narrow_integer_keys!(u128: u8, u16, u32, u64);
narrow_integer_keys!(i128: i8, i16, i32, i64);

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: impl Key, b: impl Key) -> bool {
        a.with_bytes(|kind, bytes| b.with_bytes(|other, others| kind == other && bytes == others))
    }

    #[test]
    fn user_42_and_address_42_are_not_the_same() {
        assert!(!same(42_u32, "42"));
        assert!(!same(u32::from(Ipv4Addr::new(0, 0, 0, 42)), Ipv4Addr::new(0, 0, 0, 42)));
        assert!(!same(42_u64, 42_u64.to_le_bytes()));
        assert!(!same(u128::MAX, -1_i128));
    }

    #[test]
    fn one_identity_spelt_two_ways_is_the_same() {
        assert!(same(42_u8, 42_i64));
        assert!(same(-1_i8, -1_i128));
        assert!(same("a", b"a"));
        let mapped: IpAddr = "::ffff:10.1.2.3".parse().unwrap();
        assert!(same(mapped, Ipv4Addr::new(10, 1, 2, 3)));
    }

    #[test]
    fn empty_and_giant_keys_are_refused() {
        assert_eq!(KeyKind::Bytes.accept(b""), Err(CheckError::EmptyKey));
        assert_eq!(KeyKind::Bytes.accept(&[7; KEY_BYTES_MAX]), Ok(()));
        assert_eq!(
            KeyKind::Bytes.accept(&[7; KEY_BYTES_MAX + 1]),
            Err(CheckError::KeyTooLong { bytes: KEY_BYTES_MAX + 1 })
        );
        assert_eq!(KeyKind::Everyone.accept(b""), Ok(()));
    }
}
