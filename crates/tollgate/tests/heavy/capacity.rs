//! A table of capacity N holds N buckets none of which is full; where keys land is drawn anew for every table.

use tollgate::{Burst, Clock, Cost, Limit, Limiter, Moment, Rate, TableFull};

const KEYS: u64 = 1_000_000;
/// How many of a million may meet the crowding rule.
const UNLUCKY_MAX: u64 = 100;
/// Tables under each rule, each with a seed of its own.
const TABLES: usize = 4;
const MODES: [TableFull; 3] = [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow];

#[test]
fn of_a_million_keys_at_most_a_hundred_meet_the_crowding_rule_inherit() {
    fill_many(TableFull::Inherit);
}

#[test]
fn of_a_million_keys_at_most_a_hundred_meet_the_crowding_rule_deny_new() {
    fill_many(TableFull::DenyNew);
}

#[test]
fn of_a_million_keys_at_most_a_hundred_meet_the_crowding_rule_shared_overflow() {
    fill_many(TableFull::SharedOverflow);
}

/// A million clients of which a handful find no room: all others are none the worse for it.
#[test]
fn whoever_has_a_place_has_its_whole_burst() {
    let filled = MODES.map(|table_full| (table_full, fill(table_full).short));
    assert!(
        filled.iter().all(|(_, short)| *short <= UNLUCKY_MAX),
        "clients short of their burst: {filled:?}"
    );
}

fn fill_many(table_full: TableFull) {
    let filled: Vec<Filled> = (0..TABLES).map(|_| fill(table_full)).collect();
    println!("{table_full:?}: {filled:?}");
    for Filled { unlucky, over, .. } in filled {
        assert!(unlucky <= UNLUCKY_MAX, "{unlucky} under {table_full:?}");
        assert!(over <= unlucky, "{over} of {unlucky} are over their limit under {table_full:?}");
    }
}

/// How many of a million clients fared otherwise than they would have alone.
#[derive(Debug)]
struct Filled {
    /// Met the crowding rule.
    unlucky: u64,
    /// Were admitted less than their burst.
    short: u64,
    /// Were admitted more than their burst.
    over: u64,
}

/// Fills a table, spends every bucket, and counts.
fn fill(table_full: TableFull) -> Filled {
    let clock = Clock::manual(Moment::from_nanos(1_000_000_000));
    let keys_max = usize::try_from(KEYS).unwrap();
    let settings = Limiter::builder().keys_max(keys_max).table_full(table_full).clock(clock);
    let limiter = settings.build(Limit::new(Rate::per_year(1), Burst::tokens(4)).unwrap()).unwrap();
    let mut spent = vec![0; keys_max];
    let mut charge_all = |cost: u64| {
        for (key, spent) in (0..KEYS).zip(&mut spent) {
            *spent += if limiter.check_n(key, Cost::tokens(cost)).is_admitted() { cost } else { 0 };
        }
    };

    charge_all(1);
    let stats = limiter.stats();
    // Whoever took no free slot met the crowding rule, whether it was admitted then or not.
    let unlucky = KEYS - stats.slots_taken;
    assert!(stats.evicted + stats.denied_new + stats.overflowed <= unlucky, "{stats:?}");
    assert_eq!(stats.reclaimed, 0);
    // One token is spent; three more are all that anybody may have.
    [3, 1, 1, 1].into_iter().for_each(charge_all);
    let count = |is: fn(&u64) -> bool| spent.iter().filter(|spent| is(spent)).count() as u64;
    Filled { unlucky, short: count(|spent| *spent < 4), over: count(|spent| *spent > 4) }
}
