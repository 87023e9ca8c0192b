//! Checks whose limits come with the call.

use tollgate::{Cost, ExplicitCharge, Limiter, TableFull};

use super::{allocates_nothing, per_second};

fn limiter(keys: usize, table_full: TableFull) -> Limiter {
    Limiter::builder().explicit_keys_max(keys).table_full(table_full).build(per_second(1, 3)).unwrap()
}

#[test]
fn no_way_of_asking_with_a_limit_allocates() {
    let limiter = limiter(10_000, TableFull::Inherit);
    // The table is made when it is first asked for.
    let explicit = limiter.explicit();
    let too_long = "k".repeat(513);
    for round in 0..5 {
        // The first takes a place in the table, the fourth is denied, and the limit is another every time.
        let limit = per_second(1, 3 + round);
        allocates_nothing(|| limiter.explicit());
        allocates_nothing(|| explicit.check("alice", &limit, Cost::ONE));
        allocates_nothing(|| explicit.check("", &limit, Cost::ONE));
        allocates_nothing(|| explicit.check(&too_long, &limit, Cost::ONE));
        allocates_nothing(|| explicit.check("alice", &limit, Cost::tokens(100)));
        allocates_nothing(|| explicit.check_at("bob", &limit, Cost::ONE, limiter.now()));
        allocates_nothing(|| explicit.peek("alice", &limit, Cost::ONE));
        allocates_nothing(|| explicit.peek("never seen", &limit, Cost::ONE));
        allocates_nothing(|| explicit.refund("alice", &limit, Cost::micros(1)));
        allocates_nothing(|| limiter.stats());
    }
}

#[test]
fn a_batch_and_several_buckets_with_limits_allocate_nothing() {
    let limiter = limiter(10_000, TableFull::Inherit);
    let (explicit, mut verdicts) = (limiter.explicit(), Vec::with_capacity(1_000));
    for round in 0..10_u32 {
        let charge = |client: u32| explicit.charge(client / 3 + round, &per_second(1, 3), Cost::ONE);
        let charges: Vec<ExplicitCharge> = (0..1_000).map(charge).collect();
        allocates_nothing(|| explicit.check_each(&charges, &mut verdicts));
        for several in charges.chunks(16).take(10) {
            allocates_nothing(|| explicit.check_all(several));
            allocates_nothing(|| explicit.peek_all(several));
        }
    }
}

#[test]
fn a_crowded_table_of_explicit_buckets_allocates_nothing() {
    for table_full in [TableFull::Inherit, TableFull::DenyNew] {
        let limiter = limiter(1, table_full);
        let (explicit, limit) = (limiter.explicit(), per_second(1, 3));
        for client in 0..2_000_u32 {
            allocates_nothing(|| explicit.check(client, &limit, Cost::ONE));
            let pair = [client, client + 7_000].map(|client| explicit.charge(client, &limit, Cost::ONE));
            allocates_nothing(|| explicit.check_all(&pair));
        }
        let stats = limiter.stats().explicit;
        assert!(stats.evicted + stats.denied_new > 0);
    }
}
