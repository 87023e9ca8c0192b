//! Reads the processor's time-stamp counter.
//!
//! The only `unsafe` of the clock. Knows nothing of nanoseconds: see `anchor.rs`.

/// The counter now. Not ordered with the instructions around it: an ordered read would keep the cache misses of
/// neighbouring checks from overlapping.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the intrinsic is unsafe by declaration only")]
#[inline]
pub(super) fn read() -> u64 {
    // SAFETY: `rdtsc` exists on every x86-64 processor and touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// No counter on this kind of processor; [`is_trusted`] keeps this from being used.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn read() -> u64 {
    0
}

/// Whether the kernel keeps its own time by this counter, so that it is constant, never stops and is the same on
/// every core.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(super) fn is_trusted() -> bool {
    const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(CLOCKSOURCE).is_ok_and(|name| name.trim() == "tsc")
}

/// Whether the kernel keeps its own time by this counter: here there is no way to know.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(super) fn is_trusted() -> bool {
    false
}
