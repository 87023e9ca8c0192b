//! Ports that nobody uses, for programs that cannot say which one they chose.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that the system gives to outgoing connections, so that none of these takes one before its program does.
const FIRST: u16 = 12_000;
const COUNT: u16 = 18_000;

/// A free port, another with every call.
pub(crate) fn free() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test programs that run beside each other begin far apart.
    let begin = std::process::id().wrapping_mul(977) % u32::from(COUNT);
    loop {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = FIRST + u16::try_from((begin + step) % u32::from(COUNT)).unwrap();
        if TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return port;
        }
    }
}
