//! The memory of tables is reserved, not touched, until keys come.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate::{Burst, Limit, Limiter, Rate};

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}

#[test]
fn ten_million_keys_take_no_memory_before_they_come() {
    let limit = Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap();
    let before = resident_bytes();
    let limiter = Limiter::builder().keys_max(10_000_000).explicit_keys_max(10_000_000).build(limit).unwrap();
    // The tables have 700 MB of room.
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes");
    assert!(limiter.check("ann").is_admitted());
}
