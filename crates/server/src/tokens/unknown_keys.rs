//! Names of keys (`kid`) that were asked for lately and are in no key set: they are not asked for again and again.
//!
//! Promises bounded memory and no lock. Many names at once push one another out, and are then asked for again: how often key sets
//! are fetched at most is the refresher's promise, not this one's.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// So many names are remembered.
const NAMES_MAX: usize = 64;

/// Names that were asked for, by their hash.
#[derive(Debug)]
pub(super) struct UnknownKeys {
    /// Nobody can choose names that push others out.
    hasher: RandomState,
    /// 0 is none.
    slots: [AtomicU64; NAMES_MAX],
}

impl Default for UnknownKeys {
    fn default() -> UnknownKeys {
        UnknownKeys { hasher: RandomState::new(), slots: [const { AtomicU64::new(0) }; NAMES_MAX] }
    }
}

impl UnknownKeys {
    /// Whether the name was not asked for yet, since [`UnknownKeys::forget`]; it counts as asked for from now on.
    pub(super) fn is_news(&self, kid: Option<&str>) -> bool {
        let hash = self.hasher.hash_one(kid) | 1;
        let at = (hash >> 1) as usize % NAMES_MAX;
        let Some(slot) = self.slots.get(at) else { return true };
        // Look before writing: a flood of one name only reads.
        slot.load(Ordering::Relaxed) != hash && slot.swap(hash, Ordering::Relaxed) != hash
    }

    /// Any name may be asked for again.
    pub(super) fn forget(&self) {
        self.slots.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_asked_for_once_until_it_is_forgotten() {
        let unknown = UnknownKeys::default();
        for _ in 0..2 {
            for kid in [None, Some("a")] {
                unknown.forget();
                assert!(unknown.is_news(kid));
                assert!(!unknown.is_news(kid) && !unknown.is_news(kid), "{kid:?}");
            }
        }
    }

    #[test]
    fn no_name_and_an_empty_name_are_two() {
        let unknown = UnknownKeys::default();
        assert!(unknown.is_news(None) && unknown.is_news(Some("")));
    }
}
