//! A store that is made when it is first asked for: address space is reserved at once, memory is filled then.

use std::collections::TryReserveError;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::identity::Namespace;
use crate::memory::Crowding;
use crate::memory::explicit::store::ExplicitStore;
use crate::memory::explicit::table::{Table, Window, reserve, windows_for};

/// The explicit buckets of a limiter, once somebody has used one.
#[derive(Debug)]
pub(crate) struct LazyStore {
    pub(crate) keys_max: usize,
    windows: u32,
    /// Taken when the store is made.
    room: Mutex<Vec<Window>>,
    store: OnceLock<ExplicitStore>,
}

impl LazyStore {
    /// Reserves room for `keys` buckets. Nothing of it is touched before it is needed.
    pub(crate) fn try_for_keys(keys_max: usize) -> Result<LazyStore, TryReserveError> {
        let windows = windows_for(keys_max);
        Ok(LazyStore { keys_max, windows, room: Mutex::new(reserve(windows)?), store: OnceLock::new() })
    }

    /// The same, which aborts if there is no memory for it, as allocations do.
    pub(crate) fn for_keys(keys_max: usize) -> LazyStore {
        let windows = windows_for(keys_max);
        let room = Mutex::new(Vec::with_capacity(windows as usize));
        LazyStore { keys_max, windows, room, store: OnceLock::new() }
    }

    /// The store, made now if it was not before.
    pub(crate) fn get_or_make(
        &self,
        namespace: impl FnOnce() -> Namespace,
        crowding: Crowding,
    ) -> &ExplicitStore {
        self.store.get_or_init(|| {
            let room = std::mem::take(&mut *self.room.lock().unwrap_or_else(PoisonError::into_inner));
            ExplicitStore::new(Table::in_room(room, self.windows), self.windows, namespace(), crowding)
        })
    }

    /// The store, if somebody has used it.
    pub(crate) fn get(&self) -> Option<&ExplicitStore> {
        self.store.get()
    }
}
