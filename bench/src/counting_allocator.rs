//! The system's allocator, with a count of bytes requested while counting is on.
//!
//! Off except in the child that measures memory: then a call costs one relaxed load more, the same for every subject.
//! Sees what goes through Rust's allocator alone, not memory that a subject maps itself.
#![expect(unsafe_code, reason = "GlobalAlloc is an unsafe trait; every call goes to System as it came")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

static COUNTING: AtomicBool = AtomicBool::new(false);
static REQUESTED: AtomicI64 = AtomicI64::new(0);

/// Counts from now on, from 0.
pub(crate) fn start() {
    REQUESTED.store(0, Relaxed);
    COUNTING.store(true, Relaxed);
}

/// Bytes requested and not given back since [`start`].
pub(crate) fn requested_bytes() -> i64 {
    REQUESTED.load(Relaxed)
}

struct CountingAllocator;

#[inline]
fn count(grown: usize, shrunk: usize) {
    if COUNTING.load(Relaxed) {
        // No allocation exceeds isize::MAX, so both sizes fit.
        REQUESTED.fetch_add(grown.cast_signed() as i64 - shrunk.cast_signed() as i64, Relaxed);
    }
}

// SAFETY: each method hands its arguments to `System` unchanged and returns what `System` returned.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is System's too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller's pointer came from this allocator, so from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size, layout.size());
        // SAFETY: as for `dealloc`; the caller vouches for `new_size`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
