//! What a reservation is called.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use siphasher::sip::SipHasher13;

use crate::identity::Seed;

/// The name of a reservation: 32 hexadecimal digits that nobody can guess.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReservationId(u128);

/// Text that is no name of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservationIdError;

/// Names the reservations of one limiter, or of whoever asks a ledger directly.
pub struct ReservationIds {
    keys: [SipHasher13; 2],
    next: AtomicU64,
}

impl ReservationIds {
    /// Names that follow from a secret of their own: they must not tell anything of the table's.
    pub fn new() -> ReservationIds {
        let keys = [Seed::random(), Seed::random()].map(|Seed([k0, k1])| SipHasher13::new_with_keys(k0, k1));
        ReservationIds { keys, next: AtomicU64::new(0) }
    }

    /// A name that was never given before.
    pub fn next(&self) -> ReservationId {
        let number = self.next.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        let [high, low] = [0, 1].map(|half| u128::from(self.keys[half].hash(&number)));
        ReservationId(high << 64 | low)
    }
}

impl Default for ReservationIds {
    fn default() -> Self {
        ReservationIds::new()
    }
}

/// Without the secret.
impl fmt::Debug for ReservationIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReservationIds").finish_non_exhaustive()
    }
}

impl fmt::Display for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReservationId({self})")
    }
}

impl FromStr for ReservationId {
    type Err = ReservationIdError;

    fn from_str(text: &str) -> Result<ReservationId, ReservationIdError> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.as_bytes().iter().all(is_digit) {
            return Err(ReservationIdError);
        }
        u128::from_str_radix(text, 16).map(ReservationId).map_err(|_| ReservationIdError)
    }
}

impl fmt::Display for ReservationIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "`reservation` is not 32 lower-case hexadecimal digits; give the `id` that `reserve` answered",
        )
    }
}

impl std::error::Error for ReservationIdError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_printed_and_nothing_else_is_one() {
        let ids = ReservationIds::new();
        let (one, other) = (ids.next(), ids.next());
        assert_ne!(one, other);
        assert_eq!(one.to_string().parse(), Ok(one));
        for text in ["", "0", "+0000000000000000000000000000000", "0000000000000000000000000000000G"] {
            assert_eq!(text.parse::<ReservationId>(), Err(ReservationIdError), "{text}");
        }
    }
}
