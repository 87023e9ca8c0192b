//! Hints to the processor and the kernel. They change speed, never results.
//!
//! The only `unsafe` of the memory store.

/// Starts fetching the cache line of `place`, which may be written soon.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the intrinsic takes a raw pointer")]
#[inline]
pub(crate) fn prefetch<T>(place: &T) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch never faults and never writes; the pointer comes from a live reference.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
}

/// Starts fetching the cache line of `place`; no such hint on this kind of processor.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn prefetch<T>(_place: &T) {}

/// Asks for large pages behind memory that is about to be filled, so that a random look into it costs one miss, not two.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a system call on an address range")]
pub(crate) fn want_huge_pages<T>(room: &mut Vec<T>) {
    const PAGE: usize = 2 << 20;
    let start = room.as_mut_ptr().addr().next_multiple_of(PAGE);
    let end = (room.as_mut_ptr().addr() + room.capacity() * size_of::<T>()) / PAGE * PAGE;
    if start < end {
        let first = room.as_mut_ptr().with_addr(start);
        // SAFETY: the range lies within an allocation that we own mutably, and MADV_HUGEPAGE only changes which pages back
        // it. A refusal is of no consequence.
        unsafe { libc::madvise(first.cast(), end - start, libc::MADV_HUGEPAGE) };
    }
}

/// Asks for large pages; no such call on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn want_huge_pages<T>(_room: &mut Vec<T>) {}
