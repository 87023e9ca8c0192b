//! When a client should come back (H4): the exact wait, and some more, so that clients denied together do not return together.
//!
//! The more is only ever added, and the same client always gets the same share of it.

use siphasher::sip::SipHasher13;
use tollgate_core::Span;

use super::standing::seconds_up;

/// The keys under which clients draw. No secret: whoever picks an identity to return early finds the bucket as empty.
const DRAW_KEYS: (u64, u64) = (0x746f_6c6c_6761_7465, 0x6a69_7474_6572_3031);

/// A wait, and what this client adds to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry {
    wait: Span,
    /// By up to so many percent the wait grows.
    percent: u8,
    /// Even over all clients.
    draw: u64,
}

impl Retry {
    pub(super) fn new(wait: Span, percent: u8, client: &[u8]) -> Retry {
        let (k0, k1) = DRAW_KEYS;
        Retry { wait, percent, draw: SipHasher13::new_with_keys(k0, k1).hash(client) }
    }

    /// The exact wait in milliseconds, rounded up.
    pub(super) fn exact_ms(&self) -> u64 {
        millis_up(self.wait)
    }

    /// One of the whole seconds from the wait to the longest, both rounded up, at least 1.
    ///
    /// ```text
    ///   wait 2.4 s, 50 %:      2.4      3.6             one of 3 and 4, each by half of the clients
    ///                    ───────┼────3───┼───4───►
    /// ```
    pub(super) fn seconds(&self) -> u64 {
        let least = seconds_up(self.wait).max(1);
        let most = seconds_up(self.longest()).max(least);
        // Below 2^35 seconds, so nothing overflows.
        least + share(self.draw, most - least + 1)
    }

    /// The wait and this client's share of the jitter, to the nanosecond: for clients that understand fractions.
    pub(super) fn span(&self) -> Span {
        let jitter = (self.longest() - self.wait).as_nanos();
        self.wait + Span::from_nanos(share(self.draw, jitter.saturating_add(1)))
    }

    /// The wait with all of the jitter, rounded up to the nanosecond; saturates.
    fn longest(&self) -> Span {
        let nanos = (u128::from(self.wait.as_nanos()) * (100 + u128::from(self.percent))).div_ceil(100);
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Whole milliseconds, rounded up.
pub(super) const fn millis_up(span: Span) -> u64 {
    span.as_nanos().div_ceil(1_000_000)
}

/// Maps 64 random bits evenly onto `0..count`.
fn share(draw: u64, count: u64) -> u64 {
    ((u128::from(draw) * u128::from(count)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 1,000 clients are told each number of seconds, from the first that any is told.
    fn spread(wait_ms: u64, percent: u8, client: impl Fn(u32) -> Vec<u8>) -> (u64, Vec<u32>) {
        let wait = Span::from_millis(wait_ms);
        let told: Vec<u64> = (0..1_000).map(|i| Retry::new(wait, percent, &client(i)).seconds()).collect();
        let (first, last) = (*told.iter().min().unwrap(), *told.iter().max().unwrap());
        let count = |second| u32::try_from(told.iter().filter(|&&told| told == second).count()).unwrap();
        (first, (first..=last).map(count).collect())
    }

    #[test]
    fn a_thousand_clients_denied_together_spread_over_every_second_of_the_range() {
        let kinds: [fn(u32) -> Vec<u8>; 5] = [
            |i| i.to_be_bytes().to_vec(),
            |i| format!("user:{i}").into_bytes(),
            |i| format!("192.0.2.{}:{}", i % 250, i / 250).into_bytes(),
            |i| [&[0x20, 0x01, 0x0d, 0xb8][..], &u64::from(i).to_le_bytes()].concat(),
            |i| vec![b'a'; i as usize],
        ];
        for client in kinds {
            for (wait_ms, first, seconds) in
                [(1_000, 1, 2), (2_000, 2, 2), (4_000, 4, 3), (1_500, 2, 2), (10_000, 10, 6)]
            {
                let (least, counts) = spread(wait_ms, 50, client);
                assert_eq!((least, counts.len()), (first, seconds), "wait {wait_ms} ms");
                assert!(
                    counts.iter().all(|&count| count > 0 && count <= 600),
                    "wait {wait_ms} ms: {counts:?}"
                );
            }
        }
    }

    #[test]
    fn the_same_client_is_always_told_the_same() {
        let told = |client: &[u8]| Retry::new(Span::from_secs(600), 50, client).seconds();
        assert_eq!(told(b"ann"), told(b"ann"));
        assert_ne!(told(b"ann"), told(b"bob"));
    }

    #[test]
    fn defect_9_jitter_is_only_ever_added() {
        let mut random = fastrand::Rng::with_seed(9);
        for _ in 0..20_000 {
            let wait = Span::from_nanos(random.u64(..) >> random.u32(0..64));
            let (percent, client) = (random.u8(0..=100), random.u64(..).to_le_bytes());
            let retry = Retry::new(wait, percent, &client);
            let (seconds, nanos) = (u128::from(retry.seconds()), u128::from(wait.as_nanos()));
            assert!(seconds >= 1 && seconds * 1_000_000_000 >= nanos, "{seconds} s for {wait}");
            let longest = nanos * (100 + u128::from(percent));
            assert!(
                (seconds - 1) * 100_000_000_000 < longest.max(1),
                "{seconds} s for {wait} and {percent} %"
            );
            assert!(retry.span() >= wait && u128::from(retry.span().as_nanos()) * 100 <= longest + 100);
        }
    }

    #[test]
    fn defect_9_a_wait_is_rounded_up_and_by_less_than_a_second() {
        for (wait_ns, seconds) in [(0, 1), (1, 1), (999_999_999, 1), (1_000_000_000, 1), (1_000_000_001, 2)] {
            assert_eq!(Retry::new(Span::from_nanos(wait_ns), 0, b"ann").seconds(), seconds, "{wait_ns} ns");
        }
    }
}
