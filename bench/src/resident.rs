//! How much physical memory this process holds, as Linux counts it.

use std::fs;

use crate::problem::Problem;

/// Resident bytes of this process now (`VmRSS`: the count of `/proc/self/statm`, but with its unit).
pub(crate) fn bytes() -> Result<u64, Problem> {
    bytes_of(std::process::id())
}

/// Resident bytes of another process now.
pub(crate) fn bytes_of(process: u32) -> Result<u64, Problem> {
    let file = format!("/proc/{process}/status");
    let status = fs::read_to_string(&file);
    let status = status.map_err(|error| Problem::failed(format!("cannot read {file}: {error}")))?;
    parse(&status).ok_or_else(|| Problem::failed(format!("{file} has no line `VmRSS: N kB`")))
}

fn parse(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::{bytes, parse};

    #[test]
    fn resident_memory_is_read_in_bytes() {
        assert_eq!(parse("VmPeak:\t  900 kB\nVmRSS:\t     512 kB\n"), Some(524_288));
        assert_eq!(parse("VmPeak:\t  900 kB\n"), None);
        assert!(bytes().unwrap() > 0);
    }
}
