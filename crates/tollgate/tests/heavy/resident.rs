//! How much physical memory this process holds, as Linux counts it.

/// Resident bytes now; `None` where there is no `/proc`.
pub(crate) fn bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4_096)
}
