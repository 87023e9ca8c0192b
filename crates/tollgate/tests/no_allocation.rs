//! No check allocates: not one that is admitted, denied or refused, not one that takes a place in the table.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "no_allocation/counting_allocator.rs"]
mod counting_allocator;

#[cfg(feature = "policy")]
#[path = "no_allocation/client_address.rs"]
mod client_address;

#[path = "no_allocation/explicit.rs"]
mod explicit;

#[cfg(feature = "policy")]
#[path = "no_allocation/policy.rs"]
mod policy;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use counting_allocator::allocations_of;
use tollgate::{Breadth, Burst, Charge, Clock, Cost, Limit, Limiter, Rate, Rule, TableFull};

fn per_second(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(tokens), Burst::tokens(burst)).unwrap()
}

fn limiter(keys: usize, table_full: TableFull) -> Limiter {
    Limiter::builder().keys_max(keys).table_full(table_full).build(per_second(1, 3)).unwrap()
}

#[track_caller]
fn allocates_nothing<T>(work: impl FnOnce() -> T) {
    let calls = allocations_of(work);
    assert_eq!(calls, 0, "{calls} calls of the allocator");
}

#[test]
fn the_count_counts() {
    assert_eq!(allocations_of(|| Box::new(1)), 1);
    assert_eq!(allocations_of(|| drop(Vec::<u8>::with_capacity(10))), 2);
    assert_eq!(allocations_of(|| 1), 0);
}

#[test]
fn a_check_allocates_nothing_whatever_its_key() {
    let limiter = limiter(10_000, TableFull::Inherit);
    let keys = ["user:1".to_owned(), "user:123456".to_owned(), "k".repeat(512)];
    // The first of each takes a place in the table, the fourth is denied.
    for _ in 0..5 {
        for key in &keys {
            allocates_nothing(|| limiter.check(key.as_str()));
            allocates_nothing(|| limiter.check(key));
            allocates_nothing(|| limiter.check(key.as_bytes()));
        }
        allocates_nothing(|| limiter.check(42_u64));
        allocates_nothing(|| limiter.check(-42_i128));
        allocates_nothing(|| limiter.check(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        allocates_nothing(|| limiter.check(IpAddr::V6(Ipv6Addr::LOCALHOST)));
        allocates_nothing(|| limiter.check(Ipv4Addr::LOCALHOST.to_ipv6_mapped()));
        allocates_nothing(|| limiter.check(()));
    }
    assert!(!limiter.check("user:1").is_admitted());
}

#[test]
fn no_way_of_asking_allocates() {
    let limiter = limiter(10_000, TableFull::Inherit);
    let rule = limiter.default_rule().clone();
    for round in 0..5 {
        allocates_nothing(|| limiter.check_n("alice", Cost::micros(1)));
        allocates_nothing(|| limiter.check_at("alice", Cost::ONE, limiter.now()));
        allocates_nothing(|| limiter.peek("alice"));
        allocates_nothing(|| limiter.peek("never seen"));
        allocates_nothing(|| rule.peek_at("alice", Cost::ONE, limiter.now()));
        allocates_nothing(|| rule.check("bob"));
        allocates_nothing(|| rule.charge("carol"));
        allocates_nothing(|| limiter.stats());
        allocates_nothing(|| rule.set_limit(per_second(1, 3 + round)).unwrap());
        allocates_nothing(|| rule.limit());
    }
}

#[test]
fn acquiring_what_is_there_allocates_nothing() {
    let limiter = limiter(10_000, TableFull::Inherit);
    for client in 0..100_u32 {
        for _ in 0..3 {
            allocates_nothing(|| limiter.acquire(client, Cost::ONE).blocking().unwrap());
        }
        let refused =
            || limiter.acquire(client, Cost::ONE).within(tollgate::Span::ZERO).blocking().unwrap_err();
        refused(); // the first one of a shard makes room for a queue
        allocates_nothing(refused);
    }
}

#[cfg(feature = "tokio")]
#[test]
fn awaiting_what_is_there_allocates_nothing() {
    use std::task::{Context, Poll, Waker};
    let limiter = limiter(10_000, TableFull::Inherit);
    for client in 0..100_u32 {
        allocates_nothing(|| {
            let acquire = std::pin::pin!(limiter.acquire(client, Cost::ONE));
            let poll = acquire.poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(poll, Poll::Ready(Ok(_))));
        });
    }
}

#[test]
fn what_is_refused_allocates_nothing() {
    let limiter = limiter(10_000, TableFull::Inherit);
    let too_long = "k".repeat(513);
    allocates_nothing(|| limiter.check(""));
    allocates_nothing(|| limiter.check(&too_long));
    allocates_nothing(|| limiter.check_n("alice", Cost::micros(0)));
    allocates_nothing(|| limiter.check_n("alice", Cost::tokens(4)));
    allocates_nothing(|| limiter.check_all(&[]));
}

#[test]
fn a_check_over_several_buckets_allocates_nothing() {
    let limiter = limiter(10_000, TableFull::Inherit);
    let pro = limiter.default_rule().tier("pro", per_second(1, 30)).unwrap();
    let global = limiter.shared_rule("global", per_second(1, 100), Breadth::Everyone).unwrap();
    for round in 0..10 {
        let rule = if round % 2 == 0 { &pro } else { limiter.default_rule() };
        allocates_nothing(|| limiter.check_all(&[rule.charge("alice"), global.charge(())]));
        let clients = |client: u32| rule.charge(100 * round + client);
        let sixteen: [Charge; 16] = std::array::from_fn(|client| clients(u32::try_from(client).unwrap()));
        allocates_nothing(|| limiter.check_all(&sixteen));
        allocates_nothing(|| limiter.check_all_at(&sixteen, limiter.now()));
    }
}

#[test]
fn a_batch_into_reserved_room_allocates_nothing() {
    let limiter = limiter(10_000, TableFull::Inherit);
    let mut verdicts = Vec::with_capacity(100);
    for round in 0..20_u32 {
        let charges: Vec<Charge> =
            (0..100).map(|client| limiter.default_rule().charge(client / 3 + round)).collect();
        allocates_nothing(|| limiter.check_each(&charges, &mut verdicts));
        allocates_nothing(|| limiter.check_each_at(&charges, limiter.now(), &mut verdicts));
    }
}

#[test]
fn a_crowded_table_allocates_nothing() {
    for table_full in [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow] {
        let limiter = limiter(1, table_full);
        let rule: &Rule = limiter.default_rule();
        for client in 0..2_000_u32 {
            allocates_nothing(|| limiter.check(client));
            allocates_nothing(|| limiter.check_all(&[rule.charge(client), rule.charge(client + 7_000)]));
        }
        let stats = limiter.stats();
        assert!(stats.evicted + stats.denied_new + stats.overflowed > 0);
    }
}

#[test]
fn a_full_bucket_is_forgotten_without_the_allocator() {
    let clock = Clock::manual(tollgate::Moment::from_nanos(1_000_000_000));
    let limiter = Limiter::builder().keys_max(1).clock(clock.clone()).build(per_second(1, 3)).unwrap();
    for client in 0..2_000_u32 {
        clock.advance(tollgate::Span::from_secs(1));
        allocates_nothing(|| limiter.check(client));
    }
    assert!(limiter.stats().reclaimed > 1_000);
}

/// The first check of a thread has to find out which counters are its own.
#[test]
fn the_first_check_of_a_thread_allocates_nothing() {
    let limiter = limiter(10_000, TableFull::Inherit);
    std::thread::scope(|scope| {
        for client in 0..20_u32 {
            let limiter = &limiter;
            scope.spawn(move || allocates_nothing(|| limiter.check(client)));
        }
    });
}

/// A line of the clock is drawn ten times a second; the loop lasts long enough to see some.
#[test]
fn the_machine_clock_allocates_nothing() {
    let clock = Clock::system();
    let end = clock.now() + tollgate::Span::from_millis(350);
    allocates_nothing(|| while clock.now() < end {});
}
