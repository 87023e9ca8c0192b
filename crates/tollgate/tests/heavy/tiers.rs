//! Clients on two tiers at once, by the machine's clock: however threads are preempted between reading it and acting on it,
//! a bucket that goes back and forth between a slow tier and a fast one refills no faster than the fast one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate::{Burst, Cost, Limit, Limiter, Rate, Span};

const FAST_PER_SECOND: u64 = 20_000;
const BURST: u64 = 20_000;
/// More threads than cores, so that some are always preempted in the middle.
const THREADS: usize = 8;
const RUN: Span = Span::from_secs(2);
/// Between two changes to the slow tier.
const PAUSE: Span = Span::from_micros(200);

#[test]
fn a_bucket_that_changes_tiers_refills_no_faster_than_the_faster_tier() {
    let limit = |per_second| Limit::new(Rate::per_second(per_second), Burst::tokens(BURST)).unwrap();
    let limiter = Limiter::new(limit(1));
    let slow = limiter.default_rule();
    let fast = slow.tier("fast", limit(FAST_PER_SECOND)).unwrap();
    assert!(fast.check_n("client", Cost::tokens(BURST)).is_admitted(), "emptied at the start");

    let (start, admitted) = (limiter.now(), AtomicU64::new(0));
    let is_over = || limiter.now().since(start) >= RUN;
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !is_over() {
                    let paid = (0..200).filter(|_| fast.check("client").is_admitted()).count();
                    admitted.fetch_add(paid as u64, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            while !is_over() {
                // Denied, mostly; but it carries the bucket over to the slow tier.
                let _ = slow.check_n("client", Cost::tokens(BURST));
                let next = limiter.now() + PAUSE;
                while limiter.now() < next {
                    thread::yield_now();
                }
            }
        });
    });
    let minted =
        u128::from(limiter.now().since(start).as_nanos()) * u128::from(FAST_PER_SECOND) / 1_000_000_000;
    let (admitted, relabelled) = (admitted.into_inner(), limiter.stats().relabelled);
    println!("{admitted} admitted, {minted} minted at the faster rate, {relabelled} changes of tier");
    assert!(relabelled > 100, "{relabelled}");
    // A hundredth for clock errors, each worth two tokens at most.
    assert!(u128::from(admitted) <= minted + minted / 100, "{admitted} admitted of {minted}");
}
