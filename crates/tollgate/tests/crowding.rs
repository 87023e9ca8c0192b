//! A table that is far too small, under each crowding rule: nobody gains a token, and what happens is as documented.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use std::ops::Range;

use tollgate::{
    BucketSet, Burst, Cause, Clock, Cost, Limit, Limiter, Moment, Rate, Span, TableFull, Tokens, Verdict,
};

const START: Moment = Moment::from_nanos(1_000_000_000_000);
/// Far more than the smallest table has places.
const CLIENTS: u32 = 2_000;

/// The smallest table there is, and its clock.
fn tiny(table_full: TableFull, limit: Limit) -> (Limiter, Clock) {
    let clock = Clock::manual(START);
    let settings = Limiter::builder().keys_max(1).table_full(table_full).clock(clock.clone());
    (settings.build(limit).unwrap(), clock)
}

fn per_second(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(tokens), Burst::tokens(burst)).unwrap()
}

/// How many checks of one token are admitted at this moment.
fn drain(limiter: &Limiter, client: u32) -> u64 {
    (0..1_000).take_while(|_| limiter.check(client).is_admitted()).count() as u64
}

#[test]
fn a_newcomer_that_inherits_starts_no_fuller_than_the_one_it_displaces() {
    let (limiter, _) = tiny(TableFull::Inherit, per_second(1, 10));
    for client in 0..CLIENTS {
        let _ = limiter.check_n(client, Cost::tokens(6));
    }
    assert!(limiter.stats().slots_taken < u64::from(CLIENTS) / 10, "the table is full");
    // Whoever is in the table holds at most 4 of 10.
    for client in CLIENTS..2 * CLIENTS {
        let remaining = limiter.check(client).remaining().unwrap();
        assert!(remaining <= Tokens::from_micros(3_000_000), "{client} has {remaining} left");
    }
    assert!(limiter.stats().evicted > 0);
}

#[test]
fn nobody_gains_a_token_by_being_displaced() {
    let (limiter, clock) = tiny(TableFull::Inherit, per_second(1, 10));
    let mut spent = vec![0; CLIENTS as usize];
    for round in 1..=5 {
        for client in 0..CLIENTS {
            spent[client as usize] += drain(&limiter, client);
        }
        let most = *spent.iter().max().unwrap();
        assert!(most <= 10 + (round - 1), "{most} in round {round}");
        clock.advance(Span::from_secs(1));
    }
}

#[test]
fn a_table_that_was_crowded_forgets_it_once_its_buckets_are_full() {
    let (limiter, clock) = tiny(TableFull::Inherit, per_second(1, 10));
    for client in 0..CLIENTS {
        drain(&limiter, client);
    }
    clock.advance(Span::from_secs(20));
    for client in 0..40 {
        assert!(limiter.check_n(client + 2 * CLIENTS, Cost::tokens(10)).is_admitted(), "{client}");
        clock.advance(Span::from_secs(20));
    }
}

#[test]
fn a_client_displaced_from_among_other_limits_gains_nothing() {
    let (limiter, _) = tiny(TableFull::Inherit, per_second(1, 10));
    let other = limiter.rule("other", per_second(1, 10)).unwrap();
    for client in 0..CLIENTS {
        let _ = limiter.check(client);
    }
    // A newcomer displaces a bucket of the other rule of which others stay, and is not displaced by that rule.
    let mut over = 0_u64;
    for client in 0..CLIENTS {
        let first = other.check_n(client, Cost::tokens(10));
        let _ = limiter.check(client);
        over += u64::from(first.is_admitted() && other.check(client).is_admitted());
    }
    assert_eq!(over, 0, "{:?}", limiter.stats());
}

#[test]
fn a_client_displaced_on_one_tier_gains_nothing_on_another() {
    let (limiter, _) = tiny(TableFull::Inherit, per_second(1, 10));
    let pro = limiter.default_rule().tier("pro", per_second(1, 10)).unwrap();
    let mut spent = vec![0; 400];
    for (client, cost) in (0..200_u32).map(|client| (client, 4)).chain((200..400).map(|client| (client, 1))) {
        if limiter.check_n(client, Cost::tokens(cost)).is_admitted() {
            spent[client as usize] += cost;
        }
    }
    for client in 0..400_u32 {
        spent[client as usize] += (0..1_000).take_while(|_| pro.check(client).is_admitted()).count() as u64;
    }
    let over: u64 = spent.iter().map(|spent| spent.saturating_sub(10)).sum();
    assert_eq!(over, 0, "{:?}", limiter.stats());
}

/// A client that moves down to a tier brings more than anyone there holds; whoever was displaced must not inherit that.
#[test]
fn a_client_that_changes_tier_in_a_crowd_makes_nobody_richer() {
    for _ in 0..20 {
        let (limiter, _) = tiny(TableFull::Inherit, per_second(1, 10));
        let free = limiter.default_rule();
        let pro = free.tier("pro", per_second(1, 1_000)).unwrap();
        for client in 0..16 {
            assert!(pro.check(client).is_admitted());
        }
        let mut spent = vec![0; 400];
        let mut ask = |client: u32, cost: u64| {
            let admitted = free.check_n(client, Cost::tokens(cost)).is_admitted();
            spent[client as usize] += if admitted { cost } else { 0 };
        };
        (100..400).for_each(|client| ask(client, 9));
        for client in 0..16 {
            let _ = free.check_n(client, Cost::micros(1));
        }
        (100..400).for_each(|client| ask(client, 9));
        let over: u64 = spent.iter().map(|spent| spent.saturating_sub(10)).sum();
        assert_eq!(over, 0, "{:?}", limiter.stats());
    }
}

/// A5: every client without room is named, and nobody is displaced for a check that is denied.
#[test]
fn a_check_over_several_newcomers_names_all_that_find_no_room() {
    let (limiter, _) = tiny(TableFull::DenyNew, per_second(1, 10));
    let rule = limiter.default_rule();
    let unlucky: Vec<u32> =
        (0..CLIENTS).filter(|client| !rule.check(*client).is_admitted()).take(3).collect();
    let charges: Vec<_> = unlucky.iter().map(|client| rule.charge(*client)).collect();
    let Verdict::Deny { denied, cause, .. } = limiter.check_all(&charges) else { panic!("there is no room") };
    assert_eq!((denied.iter().collect::<Vec<_>>(), cause), (vec![0, 1, 2], Cause::TableFull(denied)));
}

#[test]
fn two_newcomers_that_share_a_bucket_are_not_denied_for_good() {
    let (limiter, _) = tiny(TableFull::SharedOverflow, per_second(1, 10));
    let rule = limiter.default_rule();
    let without_room = |client: &u32| {
        let before = limiter.stats().overflowed;
        rule.check_n(*client, Cost::micros(1)).is_admitted() && limiter.stats().overflowed > before
    };
    let unlucky: Vec<u32> = (0..CLIENTS).filter(without_room).take(2).collect();
    let charges: Vec<_> = unlucky.iter().map(|client| rule.charge_n(*client, Cost::tokens(6))).collect();
    let verdict = limiter.check_all(&charges);
    assert!(matches!(verdict, Verdict::Deny { cause: Cause::TableFull(_), .. }), "{verdict}");
}

#[test]
fn a_newcomer_is_denied_until_there_is_room() {
    let (limiter, clock) = tiny(TableFull::DenyNew, per_second(1, 10));
    let mut clients = 0..CLIENTS;
    let unlucky = clients.find(|client| !limiter.check(*client).is_admitted()).unwrap();
    let taken = limiter.stats().slots_taken;
    assert_eq!(limiter.stats().denied_new, 1);
    assert_eq!(taken, u64::from(unlucky), "everybody before had a place");

    // All others spent one token at the same moment and are full in a second; and a clock error later surely so.
    let wait = Span::from_secs(1) + tollgate::CLOCK_ERROR_MAX;
    let denied = Verdict::Deny {
        wait,
        remaining: Tokens::ZERO,
        denied: BucketSet::FIRST,
        cause: Cause::TableFull(BucketSet::FIRST),
    };
    assert_eq!(limiter.check(unlucky), denied);
    assert_eq!(limiter.peek(unlucky), denied);
    assert_eq!(limiter.stats().denied_new, 2, "a peek is not counted");

    clock.advance(Span::from_nanos(wait.as_nanos() - 1));
    assert!(!limiter.check(unlucky).is_admitted());
    clock.advance(Span::from_nanos(1));
    assert_eq!(
        limiter.check(unlucky),
        Verdict::Admit { remaining: Tokens::from_micros(9_000_000), delay: Span::ZERO }
    );
    assert_eq!((limiter.stats().slots_taken, limiter.stats().reclaimed), (taken, 1));
}

#[test]
fn a_newcomer_that_is_denied_disturbs_nobody() {
    let (limiter, _) = tiny(TableFull::DenyNew, per_second(1, 10));
    let housed: Vec<u32> = (0..CLIENTS).filter(|client| limiter.check(*client).is_admitted()).collect();
    assert!(housed.iter().all(|client| drain(&limiter, *client) == 9));
    assert_eq!(limiter.stats().slots_taken, housed.len() as u64);
    assert_eq!(limiter.stats().denied_new, u64::from(CLIENTS) - housed.len() as u64);
    assert_eq!(limiter.stats().evicted, 0);
}

#[test]
fn a_check_over_several_buckets_names_the_one_without_room() {
    let (limiter, _) = tiny(TableFull::DenyNew, per_second(1, 10));
    let rule = limiter.default_rule();
    assert!(limiter.check("housed").is_admitted());
    let roomless: Vec<u32> = (0..CLIENTS).filter(|client| !limiter.check(*client).is_admitted()).collect();
    let verdict = limiter.check_all(&[rule.charge("housed"), rule.charge(roomless[0])]);
    let Verdict::Deny { denied, cause, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!((denied, cause), (BucketSet::of(1), Cause::TableFull(denied)));
    assert_eq!(drain_text(&limiter, "housed"), 9, "and charges none");
}

fn drain_text(limiter: &Limiter, client: &str) -> usize {
    (0..1_000).take_while(|_| limiter.check(client).is_admitted()).count()
}

#[test]
fn newcomers_without_room_share_one_bucket() {
    let (limiter, clock) = tiny(TableFull::SharedOverflow, per_second(1, 10));
    let admitted =
        |clients: Range<u32>| clients.filter(|client| limiter.check(*client).is_admitted()).count() as u64;
    let mut in_all = admitted(0..CLIENTS);
    assert_eq!(limiter.stats().overflowed, 10, "one burst for all of them");
    assert_eq!(in_all, limiter.stats().slots_taken + 10);

    // Their shared bucket refills as one: one check a second.
    clock.advance(Span::from_millis(999));
    in_all += admitted(CLIENTS..2 * CLIENTS);
    assert_eq!(in_all, limiter.stats().slots_taken + 10);
    clock.advance(Span::from_micros(1_050));
    in_all += admitted(CLIENTS..2 * CLIENTS);
    assert_eq!((limiter.stats().overflowed, limiter.stats().evicted), (11, 0));
    assert_eq!(in_all, limiter.stats().slots_taken + 11);
}

#[test]
fn newcomers_of_two_limits_do_not_share() {
    let (limiter, _) = tiny(TableFull::SharedOverflow, per_second(1, 10));
    let other = limiter.rule("other", per_second(1, 7)).unwrap();
    for client in 0..CLIENTS {
        let _ = limiter.check(client);
    }
    let before = limiter.stats();
    let admitted = (0..CLIENTS).filter(|client| other.check(*client).is_admitted()).count() as u64;
    let after = limiter.stats();
    assert_eq!(after.overflowed - before.overflowed, 7);
    assert_eq!(admitted, 7 + after.slots_taken - before.slots_taken);
}

#[test]
fn nobody_gains_a_token_by_moving_out_of_the_shared_bucket() {
    let (limiter, clock) = tiny(TableFull::SharedOverflow, per_second(1, 10));
    let mut spent = vec![0; CLIENTS as usize];
    for round in 0..40 {
        for client in (0..CLIENTS).rev() {
            spent[client as usize] += drain(&limiter, client);
        }
        let most = *spent.iter().max().unwrap();
        assert!(most <= 10 + round, "{most} in round {round}");
        clock.advance(Span::from_secs(1));
    }
}

#[test]
fn several_roomless_clients_of_one_check_pay_from_the_one_shared_bucket() {
    let (limiter, _) = tiny(TableFull::SharedOverflow, per_second(1, 10));
    let rule = limiter.default_rule();
    let charge = |client: u32| rule.charge_n(client, Cost::tokens(1));
    for client in 0..CLIENTS {
        let _ = limiter.check_n(client, Cost::tokens(5));
    }
    // Whatever is left in the shared bucket, a check over three that share it asks for three at once.
    let left = limiter.peek(3 * CLIENTS).remaining().unwrap().whole() + 1;
    let three = [charge(3 * CLIENTS), charge(3 * CLIENTS + 1), charge(3 * CLIENTS + 2)];
    let admitted = (0..10).filter(|_| limiter.check_all(&three).is_admitted()).count() as u64;
    assert!(admitted <= left / 3, "{admitted} checks of 3 from {left} tokens");
}

/// Whoever is displaced comes back no fuller than who stayed: so nobody who stays may be given more than that.
#[test]
fn a_gift_to_one_makes_nobody_else_richer() {
    let (limiter, clock) = tiny(TableFull::Inherit, per_second(1, 10));
    let rule = limiter.default_rule();
    let (mut spent, mut given) = (vec![0; CLIENTS as usize], vec![0; CLIENTS as usize]);
    for round in 0..4 {
        for client in 0..CLIENTS {
            spent[client as usize] += drain(&limiter, client);
            let gift =
                if client % 2 == 0 { rule.reset(client) } else { rule.refund(client, Cost::tokens(5)) };
            given[client as usize] += gift.unwrap().given.as_micros();
        }
        for (spent, given) in spent.iter().zip(&given) {
            assert!(
                *spent * 1_000_000 <= 10_000_000 + round * 1_000_000 + given,
                "{spent} spent, {given} given"
            );
        }
        clock.advance(Span::from_secs(1));
    }
}
