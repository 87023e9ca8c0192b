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

/// Half a window: one cache line.
type Half = [Slot; WINDOW_SLOTS / 2];

/// Eight slots side by side.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Window([Half; 2]);

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
        room.resize_with(windows, || Window([free(), free()]));
        Table(room.into_boxed_slice())
    }

    /// Number of windows.
    #[expect(clippy::cast_possible_truncation, reason = "KEYS_MAX keeps the number of windows below 2^32")]
    pub(crate) fn windows(&self) -> u32 {
        self.0.len() as u32
    }

    /// The slots of one window.
    pub(crate) fn window(&self, window: u32) -> &[Slot] {
        self.0[window as usize].0.as_flattened()
    }

    /// The slot of a bucket and its tag there, if it is in the table. The preferred halves come first: three buckets in four
    /// are in the first of them, one in five in the second.
    #[inline]
    pub(crate) fn find(&self, id: BucketId) -> Option<(&Slot, Tag)> {
        let [first, second] = self.preferred_halves(id);
        let preferred = find_in(first, id.fingerprint).or_else(|| find_in(second, id.fingerprint));
        preferred.or_else(|| self.find_elsewhere(id))
    }

    #[inline(never)]
    fn find_elsewhere(&self, id: BucketId) -> Option<(&Slot, Tag)> {
        let [first, second] = [0, 1].map(|which| self.half(id.windows[which], 1 - id.half(which)));
        find_in(first, id.fingerprint).or_else(|| find_in(second, id.fingerprint))
    }

    /// Starts fetching where a bucket will be looked for soon.
    #[inline]
    pub(crate) fn prefetch(&self, id: BucketId) {
        for half in self.preferred_halves(id) {
            hints::prefetch(half);
        }
    }

    #[inline]
    fn preferred_halves(&self, id: BucketId) -> [&Half; 2] {
        [0, 1].map(|which| self.half(id.windows[which], id.half(which)))
    }

    #[inline]
    fn half(&self, window: u32, half: usize) -> &Half {
        &self.0[window as usize].0[half]
    }

    /// One slot, counted window by window.
    pub(crate) fn slot(&self, index: usize) -> Option<&Slot> {
        self.0.get(index / WINDOW_SLOTS).map(|window| &window.0.as_flattened()[index % WINDOW_SLOTS])
    }

    /// Every slot, window by window.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.0.iter().flat_map(|window| window.0.as_flattened())
    }
}

fn free() -> Half {
    std::array::from_fn(|_| Slot::free())
}

#[inline]
fn find_in(half: &Half, fingerprint: u64) -> Option<(&Slot, Tag)> {
    half.iter().map(|slot| (slot, slot.tag())).find(|(_, tag)| tag.is_of(fingerprint))
}
