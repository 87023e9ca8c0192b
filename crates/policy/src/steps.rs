//! Counts the bytes that readers of values and paths look at, for tests that bound the work.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts one byte.
pub(crate) fn count() {
    STEPS.set(STEPS.get() + 1);
}

/// Returns how many bytes `work` looks at.
pub(crate) fn of(work: impl FnOnce()) -> usize {
    let before = STEPS.get();
    work();
    STEPS.get() - before
}
