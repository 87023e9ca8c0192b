//! A flat array of explicit buckets in windows of eight; a bucket lives in one of two windows that its hash names.
//!
//! Never resized, never swept. In each of its windows a bucket prefers one cache line of two slots, which is looked at first.

use std::io;

use crate::identity::BucketId;
use crate::memory::explicit::crowd::Crowd;
use crate::memory::explicit::slot::{Slot, Tag};
use crate::memory::gates::{GATE_BYTES, Gates};
use crate::memory::hints;
use crate::memory::room::Room;

/// Slots in one cache line.
const LINE_SLOTS: usize = if cfg!(loom) { 1 } else { 2 };
/// Cache lines in one window.
const WINDOW_LINES: usize = if cfg!(loom) { 2 } else { 4 };
/// Slots in one window: four cache lines. Loom explores a smaller world.
pub(crate) const WINDOW_SLOTS: usize = LINE_SLOTS * WINDOW_LINES;
/// Buckets that a window is sized for: a table of capacity N holds N buckets at 45.5 bytes each.
const WINDOW_BUCKETS: usize = if cfg!(loom) { 2 } else { 6 };
/// Fewest windows, so that the buckets of one check find room even in a table for one key.
const WINDOWS_MIN: usize = if cfg!(loom) { 1 } else { 8 };

/// Bytes of memory that one key of [`crate::LimiterBuilder::explicit_keys_max`] reserves, rounded up.
pub const EXPLICIT_KEY_BYTES: usize =
    (size_of::<Window>() + size_of::<Crowd>() + GATE_BYTES).div_ceil(WINDOW_BUCKETS);

/// Eight slots side by side.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
#[repr(align(128))]
pub(crate) struct Window([[Slot; LINE_SLOTS]; WINDOW_LINES]);

/// All slots, and what each window remembers of whom it evicted.
#[derive(Debug)]
pub(crate) struct Table {
    windows: Room<Window>,
    pub(super) crowds: Room<Crowd>,
    pub(super) gates: Gates,
}

/// The bucket of a key with this hash.
#[inline]
pub(crate) fn bucket_id(hash: u64, windows: u32) -> BucketId {
    BucketId { fingerprint: Tag::of_hash(hash).word(), ..BucketId::new(hash, windows) }
}

/// The tag of a bucket.
#[inline]
pub(crate) fn tag_of(id: BucketId) -> Tag {
    Tag::of_hash(id.fingerprint)
}

/// The line that a bucket prefers in its first (0) or second (1) window: by bits that do not choose its
/// first window, or all its neighbours there would prefer the same line.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a few bits")]
const fn preferred(id: BucketId, which: usize) -> usize {
    (id.fingerprint >> (20 + 2 * which)) as usize % WINDOW_LINES
}

impl Table {
    /// An empty table for `keys` buckets, or an error if there is no memory for it.
    pub(crate) fn try_for_keys(keys: usize) -> io::Result<Table> {
        Table::try_of_windows(keys.div_ceil(WINDOW_BUCKETS).max(WINDOWS_MIN))
    }

    /// An empty table of so many windows.
    pub(crate) fn try_of_windows(windows: usize) -> io::Result<Table> {
        let (crowds, gates) = (Room::try_for(windows)?, Gates::try_for(windows)?);
        Ok(Table { windows: Room::try_for(windows)?, crowds, gates })
    }

    /// Number of windows.
    #[expect(clippy::cast_possible_truncation, reason = "KEYS_MAX keeps the number of windows below 2^32")]
    pub(crate) fn windows(&self) -> u32 {
        self.windows.len() as u32
    }

    /// Starts fetching the two lines where a bucket most likely is.
    #[inline]
    pub(crate) fn prefetch(&self, id: BucketId) {
        hints::prefetch(self.line(id, 0));
        hints::prefetch(self.line(id, 1));
    }

    /// Starts fetching all lines of both windows for a bucket that is not where it most likely is.
    #[inline]
    pub(crate) fn prefetch_rest(&self, id: BucketId) {
        if self.find_likely(id).is_none() {
            let windows = id.windows.into_iter();
            windows.flat_map(|window| &self.windows[window as usize].0).for_each(hints::prefetch);
        }
    }

    /// The slot of a bucket, if it is in the table: where it most likely is, then anywhere.
    #[inline]
    pub(crate) fn find(&self, id: BucketId) -> Option<&Slot> {
        self.find_likely(id).or_else(|| self.find_anywhere(id, tag_of(id)))
    }

    #[inline]
    fn find_likely(&self, id: BucketId) -> Option<&Slot> {
        let tag = tag_of(id);
        find_in(self.line(id, 0), tag).or_else(|| find_in(self.line(id, 1), tag))
    }

    #[inline(never)]
    fn find_anywhere(&self, id: BucketId, tag: Tag) -> Option<&Slot> {
        let windows = if id.windows[0] == id.windows[1] { 1 } else { 2 };
        let windows = id.windows.into_iter().take(windows);
        windows.flat_map(|window| self.window(window)).find(|slot| slot.is_of(tag))
    }

    /// The slots of one window.
    #[inline]
    pub(crate) fn window(&self, window: u32) -> &[Slot] {
        self.windows[window as usize].0.as_flattened()
    }

    /// Every slot of windows that were ever used, with its number, in the order of these.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let numbered = |window: u32| (window as usize * WINDOW_SLOTS..).zip(self.window(window));
        self.gates.used().flat_map(numbered)
    }

    /// The slot of this number.
    pub(crate) fn slot(&self, index: usize) -> Option<&Slot> {
        self.windows.get(index / WINDOW_SLOTS)?.0.as_flattened().get(index % WINDOW_SLOTS)
    }

    /// The slots of a bucket's first (0) or second (1) window, each with whether the bucket prefers it.
    pub(crate) fn seats(&self, id: BucketId, which: usize) -> impl Iterator<Item = (&Slot, bool)> + use<'_> {
        let line = preferred(id, which);
        let slots = self.window(id.windows[which]).iter().enumerate();
        slots.map(move |(index, slot)| (slot, index / LINE_SLOTS == line))
    }

    /// The line that a bucket prefers in its first (0) or second (1) window.
    #[inline]
    fn line(&self, id: BucketId, which: usize) -> &[Slot; LINE_SLOTS] {
        &self.windows[id.windows[which] as usize].0[preferred(id, which)]
    }
}

/// The slot with this tag, without a branch on which it is: a wrong guess would keep the processor from starting the next
/// check meanwhile.
#[inline]
fn find_in(line: &[Slot; LINE_SLOTS], tag: Tag) -> Option<&Slot> {
    let at = (0..LINE_SLOTS).fold(LINE_SLOTS, |at, index| if line[index].is_of(tag) { index } else { at });
    line.get(at)
}
