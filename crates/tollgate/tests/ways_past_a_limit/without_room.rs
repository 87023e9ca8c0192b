//! Clients that find no room share one bucket: it pays their overruns, and nobody is told that it is theirs.

use tollgate::{Clock, Cost, Limit, Limiter, TableFull};

use super::{MINUTE, admitted, slow, with};

/// A table that has no room for anyone else.
fn crowded(limit: Limit) -> (Limiter, Clock) {
    let (limiter, clock) = with(Limiter::builder().keys_max(1).table_full(TableFull::SharedOverflow), limit);
    let filler = limiter.rule("filler", slow(5)).unwrap();
    for client in 0..2_000_u64 {
        let _ = filler.check(client);
    }
    (limiter, clock)
}

#[test]
fn an_overrun_of_a_client_without_room_becomes_debt() {
    let (limiter, _) = crowded(slow(10));
    let rule = limiter.default_rule();
    let held = rule.reserve("ann", Cost::ONE, MINUTE).unwrap();
    let settled = held.commit(Cost::tokens(13)).unwrap();
    assert_eq!((settled.charged.whole(), settled.forgiven.whole()), (12, 0));
    assert_eq!(admitted(rule), 0);
    assert!(!rule.check("bob").is_admitted(), "they share it");
}

#[test]
fn overruns_of_clients_without_room_are_bounded() {
    let (limiter, _) = crowded(slow(10));
    let rule = limiter.default_rule();
    let mut used = 0;
    while let Ok(held) = rule.reserve("ann", Cost::ONE, MINUTE) {
        held.commit(Cost::tokens(10)).unwrap();
        used += 10;
    }
    assert!(used <= 20, "burst 10 and debt 10 allow 20; {used} were used");
}

#[test]
fn a_gift_says_what_it_did_for_a_client_without_room() {
    let (limiter, _) = crowded(slow(10));
    let rule = limiter.default_rule();
    assert_eq!(admitted(rule), 10);
    for given in [rule.reset("ann").unwrap(), rule.refund("ann", Cost::tokens(3)).unwrap()] {
        assert_eq!((given.given.whole(), given.balance), (0, rule.balance("ann").unwrap()));
    }
    assert_eq!(admitted(rule), 0);
}

#[test]
fn a_reset_of_a_client_without_room_leaves_it_its_reservations() {
    let (limiter, _) = crowded(slow(10));
    let rule = limiter.default_rule();
    let held = rule.reserve("ann", Cost::tokens(4), MINUTE).unwrap();
    rule.reset("ann").unwrap();
    assert_eq!(held.cancel().unwrap().returned.whole(), 4, "it was forgiven nothing");
    assert_eq!(admitted(rule), 10);
}
