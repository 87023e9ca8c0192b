//! Which client software speaks, as far as the names of its header fields and its HTTP version tell (X4): our own scheme.
//!
//! SHA-256 of the version and the sorted set of names in lower case. The order and number of a name's lines do not
//! matter, since proxies change them. Bounded work: whoever sends more than [`NAMES_MAX`] fields or [`NAME_BYTES_MAX`]
//! bytes of names shares one fingerprint with all who do.

use sha2::{Digest, Sha256};

use crate::Facts;

const NAMES_MAX: usize = 256;
const NAME_BYTES_MAX: usize = 8_192;

/// The fingerprint of a request.
pub(crate) fn of(facts: &Facts<'_>) -> [u8; 32] {
    let mut bytes = [0_u8; NAME_BYTES_MAX];
    let mut names = [(0_usize, 0_usize); NAMES_MAX];
    let (mut count, mut end, mut fits) = (0, 0, true);
    facts.headers.each_name(&mut |name| {
        if !fits {
            return;
        }
        let (Some(slot), Some(room)) = (names.get_mut(count), bytes.get_mut(end..end + name.len())) else {
            fits = false;
            return;
        };
        room.copy_from_slice(name.as_bytes());
        room.make_ascii_lowercase();
        *slot = (end, end + name.len());
        count += 1;
        end += name.len();
    });
    let mut hash = Sha256::new();
    if !fits {
        hash.update(b"more header fields than are looked at");
        return hash.finalize().into();
    }
    let bytes = &bytes;
    let name = |&(start, end): &(usize, usize)| bytes.get(start..end).unwrap_or_default();
    let names = names.get_mut(..count).unwrap_or_default();
    names.sort_unstable_by(|a, b| name(a).cmp(name(b)));
    hash.update(facts.version.as_bytes());
    let mut before: Option<&[u8]> = None;
    for name in names.iter().map(name) {
        // No field name contains a line feed, nor does a version.
        if before.replace(name) != Some(name) {
            hash.update(b"\n");
            hash.update(name);
        }
    }
    hash.finalize().into()
}
