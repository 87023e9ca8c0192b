//! Room for a table: memory full of zeros, on large pages where the system has them.
//!
//! Promises that what was never touched takes up address space alone, so that a table for many keys costs what its keys cost.
//! Audited for `unsafe`: the system's pages come as addresses.

pub(crate) use self::pages::Room;

#[cfg(not(loom))]
mod blank {
    use std::sync::atomic::{AtomicU8, AtomicU64};

    use crate::memory::explicit::crowd::Crowd;
    use crate::memory::{explicit, table};

    /// A value that is blank when all its bytes are zero.
    ///
    /// # Safety
    /// Zeros are a value of the type, which needs no drop.
    #[expect(unsafe_code, reason = "the compiler cannot know which types these are")]
    pub(crate) unsafe trait Blank: Sized {}

    macro_rules! blank {
        ($($kind:ty),*) => {$(
            // SAFETY: atomic integers and nothing else.
            #[expect(unsafe_code, reason = "made of atomic integers alone")]
            unsafe impl Blank for $kind {}
        )*};
    }

    blank!(AtomicU8, AtomicU64, table::Window, explicit::table::Window, Crowd);
}

#[cfg(not(loom))]
pub(crate) use blank::Blank;

/// Loom's values are made one by one.
#[cfg(loom)]
pub(crate) use std::default::Default as Blank;

#[cfg(all(target_os = "linux", not(loom)))]
#[expect(unsafe_code, reason = "pages of the system, as a slice")]
mod pages {
    use std::io;
    use std::ops::Deref;
    use std::ptr::{self, NonNull};

    use super::Blank;

    /// A large page, in bytes. A random look into one costs one miss, not two.
    const LARGE_PAGE: usize = 2 << 20;

    /// Blank values until somebody writes into them.
    #[derive(Debug)]
    pub(crate) struct Room<T: Blank> {
        values: NonNull<[T]>,
        mapping: NonNull<libc::c_void>,
        mapping_bytes: usize,
    }

    // SAFETY: a room owns its values, as a box does.
    unsafe impl<T: Blank + Send> Send for Room<T> {}
    // SAFETY: a shared room gives out shared references alone.
    unsafe impl<T: Blank + Sync> Sync for Room<T> {}

    impl<T: Blank> Room<T> {
        /// Room for so many values, or an error if the machine does not have as much.
        pub(crate) fn try_for(count: usize) -> io::Result<Room<T>> {
            const { assert!(!std::mem::needs_drop::<T>() && align_of::<T>() <= LARGE_PAGE) };
            let bytes = count.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(LARGE_PAGE));
            let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a new mapping that touches no other.
            let mapping = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
            let found = NonNull::new(mapping).filter(|_| mapping != libc::MAP_FAILED);
            let mapping = found.ok_or_else(io::Error::last_os_error)?;
            // One page more than needed was asked for, so that the values begin at a large one.
            let skipped = mapping.addr().get().next_multiple_of(LARGE_PAGE) - mapping.addr().get();
            // SAFETY: less than a large page, so within the mapping.
            let start = unsafe { mapping.byte_add(skipped) };
            // SAFETY: the range lies within the new mapping. A refusal is of no consequence.
            unsafe { libc::madvise(start.as_ptr(), bytes - LARGE_PAGE, libc::MADV_HUGEPAGE) };
            let values = NonNull::slice_from_raw_parts(start.cast(), count);
            Ok(Room { values, mapping, mapping_bytes: bytes })
        }
    }

    impl<T: Blank> Deref for Room<T> {
        type Target = [T];

        #[inline]
        fn deref(&self) -> &[T] {
            // SAFETY: the mapping lives as long as the room, is aligned, holds `count` values, and is all zeros where nobody wrote,
            // which is a value of a `Blank` type. Nobody has an exclusive reference into it.
            unsafe { self.values.as_ref() }
        }
    }

    impl<T: Blank> Drop for Room<T> {
        fn drop(&mut self) {
            // SAFETY: the mapping is ours, and all references into it have ended.
            unsafe { libc::munmap(self.mapping.as_ptr(), self.mapping_bytes) };
        }
    }
}

#[cfg(any(not(target_os = "linux"), loom))]
mod pages {
    use std::io;
    use std::ops::Deref;

    use super::Blank;

    /// Blank values until somebody writes into them.
    #[derive(Debug)]
    pub(crate) struct Room<T: Blank>(Box<[T]>);

    impl<T: Blank> Room<T> {
        /// Room for so many values, or an error if there is no memory for them.
        pub(crate) fn try_for(count: usize) -> io::Result<Room<T>> {
            let mut room = Vec::new();
            room.try_reserve_exact(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
            room.resize_with(count, blank);
            Ok(Room(room.into_boxed_slice()))
        }
    }

    #[cfg(loom)]
    fn blank<T: Blank>() -> T {
        T::default()
    }

    #[cfg(not(loom))]
    #[expect(unsafe_code, reason = "zeros as a value")]
    fn blank<T: Blank>() -> T {
        // SAFETY: that is what `Blank` promises.
        unsafe { std::mem::zeroed() }
    }

    impl<T: Blank> Deref for Room<T> {
        type Target = [T];

        #[inline]
        fn deref(&self) -> &[T] {
            &self.0
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Room;

    #[test]
    fn room_is_zeros_and_keeps_what_is_written() {
        let room = Room::<AtomicU64>::try_for(1_000_000).unwrap();
        assert_eq!(room.len(), 1_000_000);
        assert!(room.iter().all(|word| word.load(Ordering::Relaxed) == 0));
        room[999_999].store(7, Ordering::Relaxed);
        assert_eq!(room[999_999].load(Ordering::Relaxed), 7);
    }

    #[test]
    fn room_that_no_machine_has_is_refused() {
        assert!(Room::<AtomicU64>::try_for(usize::MAX / 8).is_err());
        assert!(Room::<AtomicU64>::try_for(usize::MAX).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn room_takes_up_memory_only_where_it_was_touched() {
        let resident = || {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
        };
        let before = resident();
        // A gigabyte.
        let room = Room::<AtomicU64>::try_for(1 << 27).unwrap();
        room[1 << 26].store(1, Ordering::Relaxed);
        assert!(resident() < before + (64 << 20));
    }
}
