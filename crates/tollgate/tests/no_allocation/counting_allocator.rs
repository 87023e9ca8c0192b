//! The system's allocator, with a count of calls for each thread: tests that run beside one another do not disturb.
#![expect(unsafe_code, reason = "GlobalAlloc is an unsafe trait; every call goes to System as it came")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

thread_local!(static CALLS: Cell<u64> = const { Cell::new(0) });

/// How often this thread asks for memory, or gives it back, while `work` runs.
pub(crate) fn allocations_of<T>(work: impl FnOnce() -> T) -> u64 {
    let before = CALLS.get();
    let result = work();
    let calls = CALLS.get() - before;
    drop(result);
    calls
}

struct CountingAllocator;

fn count() {
    // A thread that ends has no cell any more, and counts for nobody.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: each method hands its arguments to `System` unchanged and returns what `System` returned.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is System's too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's pointer came from this allocator, so from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: as for `dealloc`; the caller vouches for `new_size`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
