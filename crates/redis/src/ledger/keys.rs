//! Where this ledger's keys live: what their names begin with, and the hash tag that the policy in force sets.
//!
//! The tag is a part of every name, so under another one every bucket, and every record of a limit, is another: full, and never charged. It
//! does not know which slots there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, Guard};
use tollgate::ledger::LedgerRefusal;

use crate::KeySpace;

/// The key space in force.
#[derive(Debug)]
pub(super) struct Keys {
    /// As the ledger was opened with: that of a policy without a tag.
    untagged: KeySpace,
    in_force: ArcSwap<KeySpace>,
    /// Whether a policy was in force before.
    is_in_use: AtomicBool,
}

impl Keys {
    pub(super) fn new(untagged: &KeySpace) -> Keys {
        let in_force = ArcSwap::from_pointee(untagged.clone());
        Keys { untagged: untagged.clone(), in_force, is_in_use: AtomicBool::new(false) }
    }

    /// The one in force.
    pub(super) fn now(&self) -> Guard<Arc<KeySpace>> {
        self.in_force.load()
    }

    /// The space of a policy that sets this tag, or none.
    pub(super) fn of_tag(&self, tag: Option<&str>) -> Result<KeySpace, LedgerRefusal> {
        let Some(tag) = tag else { return Ok(self.untagged.clone()) };
        self.untagged.tagged(tag).map_err(|error| LedgerRefusal { rule: 0, problem: error.to_string() })
    }

    /// Puts a space in force; whether it is another than before.
    pub(super) fn put(&self, keys: KeySpace) -> bool {
        let was_in_use = self.is_in_use.swap(true, Ordering::Relaxed);
        let before = self.in_force.load_full();
        if *before == keys {
            return false;
        }
        if was_in_use {
            tracing::warn!(
                before = before.begin(),
                now = keys.begin(),
                "`hash_tag` has changed: all buckets are others from now on, and begin full; open reservations stand as they are"
            );
        }
        self.in_force.store(Arc::new(keys));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_put_in_force_and_taken_away_again() {
        let keys = Keys::new(&KeySpace::default());
        let name = || keys.now().explicit("a").unwrap();
        let untagged = name();
        assert!(keys.put(keys.of_tag(Some("shop")).unwrap()));
        assert_eq!(name().as_bytes(), b"tg:{shop}*:a");
        assert!(!keys.put(keys.of_tag(Some("shop")).unwrap()), "the same is no change");
        assert!(keys.put(keys.of_tag(None).unwrap()));
        assert_eq!(name(), untagged);
        assert!(keys.of_tag(Some("{shop}")).unwrap_err().problem.contains("`hash_tag` is `{shop}`"));
    }
}
