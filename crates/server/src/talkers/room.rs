//! How many clients all summaries of the program may count together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Places that are left.
#[derive(Debug)]
pub(super) struct Room(AtomicUsize);

impl Room {
    pub(super) fn of(places: usize) -> Room {
        Room(AtomicUsize::new(places))
    }

    /// Takes a place, if one is left.
    pub(super) fn take(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.0.try_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    pub(super) fn give_back(&self, places: usize) {
        self.0.fetch_add(places, Ordering::Relaxed);
    }
}
