//! A flat array of slots in windows of eight; a bucket lives in one of two windows that its hash names.
//!
//! Never resized, never swept. With five buckets to a window on average, hardly a newcomer finds both its windows full.

use std::io;

use crate::identity::BucketId;
use crate::memory::gates::{GATE_BYTES, Gates};
use crate::memory::hints;
use crate::memory::room::Room;
use crate::memory::slot::{Slot, Tag};

/// Slots in one window: two cache lines. Loom explores a smaller world.
pub(crate) const WINDOW_SLOTS: usize = if cfg!(loom) { 2 } else { 8 };
pub(crate) const HALF_SLOTS: usize = WINDOW_SLOTS / 2;
/// Buckets that a window is sized for: a table of capacity N holds N buckets at 25.8 bytes each.
const WINDOW_BUCKETS: usize = if cfg!(loom) { 2 } else { 5 };
/// Fewest windows, so that the buckets of one check find room even in a table for one key.
const WINDOWS_MIN: usize = if cfg!(loom) { 1 } else { 8 };
/// Most buckets one table can be sized for: its windows are numbered in 32 bits.
pub const KEYS_MAX: usize = if usize::BITS >= 64 { 20_000_000_000 } else { 100_000_000 };

/// Bytes of memory that one key of [`crate::LimiterBuilder::keys_max`] reserves, rounded up.
pub const KEY_BYTES: usize = (size_of::<Window>() + GATE_BYTES).div_ceil(WINDOW_BUCKETS);

/// Half a window: one cache line.
type Half = [Slot; HALF_SLOTS];

/// Eight slots side by side.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
#[repr(align(128))]
pub(crate) struct Window([Half; 2]);

/// The two cache lines where a bucket most likely is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Likely<'t>([&'t Half; 2]);

/// All slots, and the gates of their windows.
#[derive(Debug)]
pub(crate) struct Table {
    windows: Room<Window>,
    pub(crate) gates: Gates,
}

impl Table {
    /// An empty table for `keys` buckets, or an error if there is no memory for it.
    pub(crate) fn try_for_keys(keys: usize) -> io::Result<Table> {
        let windows = windows_for(keys);
        Ok(Table { windows: Room::try_for(windows)?, gates: Gates::try_for(windows)? })
    }

    /// Number of windows.
    #[expect(clippy::cast_possible_truncation, reason = "KEYS_MAX keeps the number of windows below 2^32")]
    pub(crate) fn windows(&self) -> u32 {
        self.windows.len() as u32
    }

    /// The slots of one window.
    pub(crate) fn window(&self, window: u32) -> &[Slot] {
        self.windows[window as usize].0.as_flattened()
    }

    /// Where a bucket most likely is: seven in eight are in the preferred half of their first window, half of the others in
    /// that of their second. Starts fetching both.
    #[inline]
    pub(crate) fn likely(&self, id: BucketId) -> Likely<'_> {
        let half = |which: usize| &self.windows[id.windows[which] as usize].0[id.half(which)];
        // Not by `map`, which is not always inlined: every check passes here.
        let halves = [half(0), half(1)];
        halves.into_iter().for_each(hints::prefetch);
        Likely(halves)
    }

    /// The slot of a bucket and its tag there, if it is in the table.
    pub(crate) fn find(&self, id: BucketId) -> Option<(&Slot, Tag)> {
        let slots = id.windows.into_iter().flat_map(|window| self.window(window));
        slots.map(|slot| (slot, slot.tag())).find(|(_, tag)| tag.is_of(id.fingerprint))
    }

    /// One slot, counted window by window.
    pub(crate) fn slot(&self, index: usize) -> Option<&Slot> {
        self.windows.get(index / WINDOW_SLOTS).map(|window| &window.0.as_flattened()[index % WINDOW_SLOTS])
    }

    /// Every slot of windows that were ever used, with its number.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let numbered = |window: u32| (window as usize * WINDOW_SLOTS..).zip(self.window(window));
        self.gates.used().flat_map(numbered)
    }
}

/// How many windows a table for `keys` buckets has.
fn windows_for(keys: usize) -> usize {
    keys.div_ceil(WINDOW_BUCKETS).max(WINDOWS_MIN)
}

impl<'t> Likely<'t> {
    /// The slot with this very tag, if it is here.
    #[inline]
    pub(crate) fn find(self, tag: Tag) -> Option<&'t Slot> {
        find_in(self.0[0], tag).or_else(|| find_in(self.0[1], tag))
    }
}

/// The slot with this tag, without a branch on which it is: a wrong guess would keep the processor from starting the next
/// check meanwhile.
#[inline]
fn find_in(half: &Half, tag: Tag) -> Option<&Slot> {
    let at = (0..HALF_SLOTS).fold(HALF_SLOTS, |at, index| if half[index].tag() == tag { index } else { at });
    half.get(at)
}
