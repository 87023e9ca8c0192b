//! Hints to the processor. They change speed, never results.
//!
//! Audited for `unsafe`: the intrinsic takes an address.

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
