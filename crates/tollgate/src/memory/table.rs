//! A flat array of slots in windows of eight; a bucket lives in one of two windows that its hash names.
//!
//! Never resized, never swept. With six buckets to a window on average, one newcomer in 10^5 finds both its windows full.

use crate::identity::BucketId;
use crate::memory::hints;
use crate::memory::slot::{Slot, Tag};

/// Slots in one window: two cache lines. Loom explores a smaller world.
pub(crate) const WINDOW_SLOTS: usize = if cfg!(loom) { 2 } else { 8 };
/// Buckets that a window is sized for: a table of capacity N holds N buckets at 21.3 bytes each.
const WINDOW_BUCKETS: usize = if cfg!(loom) { 2 } else { 6 };
/// Fewest windows, so that the buckets of one check find room even in a table for one key.
const WINDOWS_MIN: usize = if cfg!(loom) { 1 } else { 8 };
/// Most buckets one table can be sized for: its windows are numbered in 32 bits.
pub const KEYS_MAX: usize = if usize::BITS >= 64 { 24_000_000_000 } else { 100_000_000 };

/// Eight slots side by side.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Window([Slot; WINDOW_SLOTS]);

/// All slots.
#[derive(Debug)]
pub(crate) struct Table(Box<[Window]>);

impl Table {
    /// How many windows a table for `keys` buckets has.
    pub(crate) fn windows_for(keys: usize) -> usize {
        keys.div_ceil(WINDOW_BUCKETS).max(WINDOWS_MIN)
    }

    /// An empty table.
    pub(crate) fn new(windows: usize) -> Table {
        let mut room = Vec::with_capacity(windows);
        hints::want_huge_pages(&mut room);
        room.resize_with(windows, || Window(std::array::from_fn(|_| Slot::free())));
        Table(room.into_boxed_slice())
    }

    /// Number of windows.
    #[expect(clippy::cast_possible_truncation, reason = "KEYS_MAX keeps the number of windows below 2^32")]
    pub(crate) fn windows(&self) -> u32 {
        self.0.len() as u32
    }

    /// The slots of one window.
    #[inline]
    pub(crate) fn window(&self, window: u32) -> &[Slot; WINDOW_SLOTS] {
        &self.0[window as usize].0
    }

    /// The slot of a bucket and its tag there, if it is in the table.
    #[inline]
    pub(crate) fn find(&self, id: BucketId) -> Option<(&Slot, Tag)> {
        for window in id.windows {
            for slot in self.window(window) {
                let tag = slot.tag();
                if tag.is_of(id.fingerprint) {
                    return Some((slot, tag));
                }
            }
        }
        None
    }

    /// Starts fetching the windows of a bucket that will be looked for soon.
    #[inline]
    pub(crate) fn prefetch(&self, id: BucketId) {
        for window in id.windows {
            let slots = self.window(window);
            hints::prefetch(&slots[0]);
            hints::prefetch(&slots[WINDOW_SLOTS / 2]);
        }
    }

    /// One slot, counted window by window.
    pub(crate) fn slot(&self, index: usize) -> Option<&Slot> {
        self.0.get(index / WINDOW_SLOTS).map(|window| &window.0[index % WINDOW_SLOTS])
    }

    /// Every slot, window by window.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.0.iter().flat_map(|window| &window.0)
    }
}
