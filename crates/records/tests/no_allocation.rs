//! A denial that is only counted asks for no memory.

#[path = "../../tollgate/tests/no_allocation/counting_allocator.rs"]
mod counting_allocator;

use tollgate_records::{MicroTokens, Timestamp, Violation, ViolationLog, ViolationSettings};

use counting_allocator::allocations_of;

#[tokio::test]
async fn a_denial_that_is_only_counted_asks_for_no_memory() {
    let log = ViolationLog::new(None, ViolationSettings::default());
    let denial = Violation {
        rule: "login",
        key: "user:1234567890",
        user: Some("1234567890"),
        address: Some("203.0.113.7".parse().unwrap()),
        endpoint: Some("/login"),
        at: Timestamp::from_unix_seconds(1_794_801_600),
        tokens: MicroTokens(0),
        cost: MicroTokens::whole(1),
        reason: "rate_limited",
        door: "http",
    };
    for _ in 0..3 {
        log.note(denial);
    }
    let calls = allocations_of(|| {
        for _ in 0..10_000 {
            log.note(denial);
        }
    });
    assert_eq!((calls, log.totals().denied), (0, 10_003));
}
