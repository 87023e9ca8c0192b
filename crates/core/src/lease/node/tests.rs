use super::*;
use crate::{Burst, LEASE_LIFE, Limit, Rate};

const START: Moment = Moment::from_nanos(77_000_000_000);

/// 1,000 per second, burst 1,000, four nodes: slices of up to 125 tokens, or 25 while little is left.
fn terms() -> LeaseTerms {
    LeaseTerms::new(&Limit::new(Rate::per_second(1_000), Burst::tokens(1_000)).unwrap(), 4, LEASE_LIFE)
        .unwrap()
}

fn after(millis: u64) -> Moment {
    START + Span::from_millis(millis)
}

fn tokens(tokens: u64) -> Tokens {
    Tokens::from_micros(tokens * 1_000_000)
}

fn granted(ask: &Ask, granted: u64, left: i64) -> Answer {
    let held = Tokens::from_micros(ask.unspent.as_micros() + granted * 1_000_000);
    Answer { granted: tokens(granted), wait: Span::ZERO, held, balance: left * 1_000_000 }
}

fn denied(ask: &Ask, millis: u64, left: i64) -> Answer {
    Answer { wait: Span::from_millis(millis), ..granted(ask, 0, left) }
}

/// A lease with so many tokens ready at the start.
fn with_slice(slice: u64, left: i64) -> Lease {
    let mut lease = Lease::default();
    let Spending::Asks(ask) = lease.spend(&terms(), Cost::ONE, START) else { panic!() };
    assert!(lease.answered(&terms(), ask.seq, &granted(&ask, slice, left), START));
    lease
}

#[test]
fn one_ask_is_on_its_way_at_a_time_and_others_wait_for_its_answer() {
    let mut lease = Lease::default();
    let Spending::Asks(ask) = lease.spend(&terms(), Cost::ONE, START) else { panic!() };
    assert_eq!((ask.seq, ask.want, ask.least), (1, tokens(1), tokens(1)), "nothing is known of the demand");
    assert_eq!(lease.spend(&terms(), Cost::ONE, after(1)), Spending::OnItsWay);
    assert_eq!(lease.balance_seen(), None);
    assert!(lease.answered(&terms(), 1, &granted(&ask, 1, 999), after(2)));
    assert_eq!(lease.balance_seen(), Some(tokens(999)));
    assert!(matches!(lease.spend(&terms(), Cost::ONE, after(2)), Spending::Spent { .. }));
    assert_eq!(lease.spend(&terms(), Cost::tokens(1_001), after(2)), Spending::Never);
}

#[test]
fn a_check_decided_at_once_is_decided_as_any_other() {
    let (mut quick, mut usual) = (Lease::default(), Lease::default());
    let (mut at_once, mut asked, mut now) = (0, 0, START);
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for step in 0..20_000 {
        now = now + Span::from_micros(random(if step % 500 == 0 { 900_000 } else { 800 }));
        let most = if random(50) == 0 { 1_100_000_000 } else { 2_000_000 };
        let cost = Cost::micros(1 + random(most));
        let told = usual.spend(&terms(), cost, now);
        if let Some(remaining) = quick.spend_at_once(&terms(), cost, now) {
            assert_eq!(told, Spending::Spent { remaining, ask: None }, "step {step}");
            at_once += 1;
        } else {
            assert_eq!(told, quick.spend(&terms(), cost, now), "step {step}");
        }
        if let Some((ask, _)) = usual.on_its_way().filter(|_| random(3) == 0) {
            let left = random(1_200).cast_signed() - 200;
            let grant = if left < -100 { 0 } else { ask.want.as_micros() / 1_000_000 };
            let wait = Span::from_millis(if left < 0 { random(30) } else { 0 });
            let answer = Answer { wait, ..granted(&ask, grant, left) };
            assert!(usual.answered(&terms(), ask.seq, &answer, now));
            assert!(quick.answered(&terms(), ask.seq, &answer, now));
            asked += 1;
        }
    }
    assert!(at_once > 5_000 && asked > 100, "{at_once} at once, {asked} asks");
}

#[test]
fn a_slice_is_as_large_as_the_demand_and_the_balance_left_allow() {
    let want_of = |checks, left| {
        let mut lease = with_slice(checks, left);
        let mut asks = (0..checks).filter_map(|_| match lease.spend(&terms(), Cost::ONE, after(1)) {
            Spending::Spent { ask, .. } => ask,
            other => panic!("{other:?}"),
        });
        asks.next().unwrap().want
    };
    assert_eq!(want_of(20, 999), tokens(15), "what was asked for lately");
    assert_eq!(want_of(300, 999), tokens(125), "at most a node's part of half a burst");
    assert_eq!(want_of(300, 499), tokens(25), "and of what may be given ahead while little is left");
}

#[test]
fn what_is_left_lives_as_long_as_what_was_granted_last() {
    let mut lease = with_slice(10, 999);
    let Spending::Asks(ask) = lease.spend(&terms(), Cost::tokens(50), after(300)) else { panic!() };
    assert_eq!((ask.unspent, ask.least), (tokens(10), tokens(40)));
    lease.answered(&terms(), ask.seq, &denied(&ask, 5, 0), after(301));
    assert_eq!(lease.ready(after(699)), tokens(10), "renewed even so");
    assert_eq!(lease.ready(after(700)), Tokens::ZERO);
}

#[test]
fn a_lost_ask_renews_nothing_and_its_late_answer_is_ignored() {
    let mut lease = with_slice(10, 999);
    let Spending::Asks(ask) = lease.spend(&terms(), Cost::tokens(50), after(300)) else { panic!() };
    lease.lost(&terms(), ask.seq, after(315));
    assert!(!lease.answered(&terms(), ask.seq, &granted(&ask, 40, 900), after(316)));
    assert_eq!(lease.ready(after(399)), tokens(10));
    assert_eq!(lease.ready(after(400)), Tokens::ZERO);
    let Spending::Asks(next) = lease.spend(&terms(), Cost::ONE, after(400)) else { panic!() };
    assert_eq!(
        (next.seq, next.unspent, next.back),
        (ask.seq + 1, Tokens::ZERO, tokens(10)),
        "lapsed goes back"
    );
}

/// Else the ledger would take it for part of what it has granted since, which may be spent by now.
#[test]
fn what_lapsed_while_the_ledger_took_it_back_is_not_given_back() {
    let mut lease = with_slice(10, 999);
    let Spending::Asks(ask) = lease.spend(&terms(), Cost::tokens(50), after(399)) else { panic!() };
    let late = Answer { held: tokens(3), ..granted(&ask, 3, 900) };
    assert!(lease.answered(&terms(), ask.seq, &late, after(500)));
    let Spending::Spent { ask: Some(next), .. } = lease.spend(&terms(), Cost::tokens(3), after(501)) else {
        panic!()
    };
    assert_eq!((next.unspent, next.back), (Tokens::ZERO, Tokens::ZERO));
}

#[test]
fn what_the_ledger_denied_is_denied_here_by_each_checks_own_cost() {
    let mut lease = Lease::default();
    let Spending::Asks(ask) = lease.spend(&terms(), Cost::tokens(50), START) else { panic!() };
    lease.answered(&terms(), ask.seq, &denied(&ask, 40, 10), after(2));
    let again = Spending::Denied { wait: Span::from_millis(37), ask: None };
    assert_eq!(lease.spend(&terms(), Cost::tokens(50), after(3)), again);
    assert!(
        matches!(lease.spend(&terms(), Cost::tokens(10), after(3)), Spending::Asks(_)),
        "so much is left"
    );
}

#[test]
fn what_vests_is_denied_until_then_and_not_asked_for_twice() {
    let mut lease = Lease::default();
    let Spending::Asks(ask) = lease.spend(&terms(), Cost::tokens(20), START) else { panic!() };
    let ahead = Answer { wait: Span::from_millis(20), ..granted(&ask, 20, -20) };
    lease.answered(&terms(), ask.seq, &ahead, after(1));
    let Spending::Denied { wait, ask: None } = lease.spend(&terms(), Cost::tokens(20), after(1)) else {
        panic!()
    };
    assert!(wait >= Span::from_millis(20) && wait < Span::from_micros(20_030), "{wait}");
    assert!(matches!(lease.spend(&terms(), Cost::tokens(20), after(1) + wait), Spending::Spent { .. }));
}

#[test]
fn what_a_check_took_in_vain_is_put_back_unless_the_ledger_counts_it_as_spent() {
    let mut lease = with_slice(10, 999);
    let taken = lease.take(&terms(), Cost::tokens(4), after(1)).unwrap();
    assert_eq!(lease.ready(after(1)), tokens(6));
    assert!(lease.put_back(taken, after(2)));
    assert_eq!(lease.ready(after(2)), tokens(10));
    assert!(lease.take(&terms(), Cost::tokens(11), after(2)).is_none());
    let taken = lease.take(&terms(), Cost::tokens(9), after(3)).unwrap();
    let ask = lease.top_up(&terms(), Cost::tokens(9), after(3)).unwrap();
    assert_eq!(ask.unspent, tokens(1), "so the ledger will count the nine as spent");
    assert!(!lease.put_back(taken, after(4)));
    assert_eq!(lease.held(after(4)), tokens(1));
}

#[test]
fn what_was_taken_is_not_put_back_if_the_ledger_took_the_slice_back_meanwhile() {
    let mut lease = with_slice(10, 999);
    let ask = match lease.spend(&terms(), Cost::tokens(7), after(1)) {
        Spending::Spent { ask: Some(ask), .. } => ask,
        other => panic!("{other:?}"),
    };
    let taken = lease.take(&terms(), Cost::tokens(3), after(2)).unwrap();
    let answer = Answer { granted: tokens(0), wait: Span::ZERO, held: tokens(0), balance: 0 };
    assert!(lease.answered(&terms(), ask.seq, &answer, after(3)));
    assert!(!lease.put_back(taken, after(3)));
    assert_eq!(lease.held(after(3)), Tokens::ZERO);
}

#[test]
fn what_is_put_back_too_late_lapses_and_is_counted() {
    let mut lease = with_slice(10, 999);
    let taken = lease.take(&terms(), Cost::tokens(3), after(2)).unwrap();
    assert!(lease.put_back(taken, after(500)));
    assert_eq!((lease.ready(after(500)), lease.take_stranded()), (Tokens::ZERO, tokens(10)));
    assert!(!lease.is_over(&terms(), after(900)), "there is something to give back");
    assert_eq!(lease.give_back(&terms(), after(501)).unwrap().back, tokens(10));
}

#[test]
fn no_answer_makes_it_panic() {
    for micros in [0, 1, u64::MAX / 2, u64::MAX] {
        for (held, balance) in [(0, i64::MIN), (u64::MAX, i64::MAX), (micros, -1)] {
            let mut lease = with_slice(10, 999);
            for wait in [Span::ZERO, Span::MAX, Span::from_nanos(1)] {
                let (granted, held) = (Tokens::from_micros(micros), Tokens::from_micros(held));
                lease.give_back(&terms(), after(1));
                let seq = lease.on_its_way().map_or(0, |(ask, _)| ask.seq);
                lease.answered(&terms(), seq, &Answer { granted, wait, held, balance }, after(2));
                lease.spend(&terms(), Cost::tokens(1_000), after(3));
                lease.answered(&terms(), seq + 1, &Answer { granted, wait, held, balance }, after(4));
                lease.idle(&terms(), after(500));
            }
        }
    }
}

#[test]
fn an_idle_node_gives_everything_back_and_cannot_spend_it() {
    let mut lease = with_slice(10, 999);
    assert_eq!(lease.idle(&terms(), after(99)), None);
    let ask = lease.idle(&terms(), after(100)).unwrap();
    assert_eq!((ask.back, ask.unspent, ask.want), (tokens(10), Tokens::ZERO, Tokens::ZERO));
    assert_eq!(lease.spend(&terms(), Cost::ONE, after(101)), Spending::OnItsWay);
    lease.answered(&terms(), ask.seq, &granted(&ask, 0, 1_000), after(102));
    assert_eq!(lease.give_back(&terms(), after(103)), None, "nothing is left");
    assert!(
        matches!(lease.spend(&terms(), Cost::ONE, after(104)), Spending::Asks(_)),
        "and it may ask at once"
    );
}
