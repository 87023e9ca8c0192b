use super::*;
use crate::{Burst, Limit, Rate};

const START: Moment = Moment::from_nanos(3_000_000_000_000);

/// A quarter of 40 per second and 100.
fn share() -> LocalShare {
    LocalShare::new(&Limit::new(Rate::per_second(40), Burst::tokens(100)).unwrap(), 4).unwrap()
}

fn tokens(tokens: u64) -> Tokens {
    Tokens::from_micros(tokens * 1_000_000)
}

#[test]
fn it_starts_with_its_share_of_what_was_seen_or_as_it_is_told() {
    let start = |seen, start| {
        let mut bucket = LocalBucket::enter(&share(), seen, start, START);
        bucket.check(&share(), Cost::micros(1), START)
    };
    let admitted = |micros| LocalDecision::Admit { remaining: Tokens::from_micros(micros) };
    let denied = LocalDecision::Deny { wait: Span::from_nanos(100), remaining: Tokens::ZERO };
    assert_eq!(start(Some(tokens(60)), LocalStart::Empty), admitted(14_999_999));
    assert_eq!(start(Some(Tokens::ZERO), LocalStart::Full), denied);
    assert_eq!(start(None, LocalStart::Full), admitted(24_999_999));
    assert_eq!(start(None, LocalStart::Empty), denied);
}

#[test]
fn it_keeps_its_share_of_the_rate_and_waits_are_exact() {
    let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Empty, START);
    let denied = LocalDecision::Deny { wait: Span::from_millis(100), remaining: Tokens::ZERO };
    assert_eq!(bucket.check(&share(), Cost::ONE, START), denied);
    let admitted = LocalDecision::Admit { remaining: Tokens::ZERO };
    assert_eq!(bucket.check(&share(), Cost::ONE, START + Span::from_millis(100)), admitted);
    assert_eq!(bucket.check(&share(), Cost::tokens(26), START), LocalDecision::BeyondShare);
}

/// Enters with 10 tokens, spends `spent`, and is back a second later, when the store has 20 for it and it has 20 less what was spent.
fn returned(spent: u64) -> (LocalBucket, Moment) {
    let mut bucket = LocalBucket::enter(&share(), Some(tokens(40)), LocalStart::Full, START);
    bucket.check(&share(), Cost::tokens(spent), START);
    let back = START + Span::from_secs(1);
    assert_eq!(bucket.store_is_back(&share(), back), Some(tokens(20)));
    assert_eq!(bucket.store_is_back(&share(), back), None, "said once");
    (bucket, back)
}

#[test]
fn it_takes_its_share_out_of_the_store_and_when_settled_puts_back_what_is_left() {
    let (mut bucket, back) = returned(4);
    bucket.is_charged(&share(), back);
    bucket.check(&share(), Cost::tokens(7), back + Span::from_millis(250));
    assert_eq!(bucket.settled(back + Span::from_nanos(499_999_999)), None);
    assert_eq!(
        bucket.settled(back + Span::from_secs(1)),
        Some(Correction::GiveBack(tokens(9))),
        "20 − 4 − 7"
    );
    bucket.check(&share(), Cost::tokens(11), back + Span::from_millis(450));
    assert_eq!(bucket.settled(back + Span::from_secs(1)), Some(Correction::Charge(tokens(2))));
}

#[test]
fn a_store_that_comes_and_goes_is_charged_for_what_it_refilled_and_no_more() {
    let (mut bucket, back) = returned(10);
    bucket.store_is_gone();
    assert_eq!(bucket.store_is_back(&share(), back), Some(tokens(20)), "it did not take the charge");
    bucket.is_charged(&share(), back);
    bucket.store_is_gone();
    assert_eq!(bucket.settled(back + Span::from_secs(9)), None);
    let again = back + Span::from_millis(300);
    assert_eq!(bucket.store_is_back(&share(), again), Some(tokens(3)), "what it minted since for this node");
}

/// Four tokens that the store has not charged, of 40 that it held.
fn owing() -> LocalBucket {
    let mut bucket = LocalBucket::enter(&share(), Some(tokens(36)), LocalStart::Full, START);
    bucket.owes(Cost::tokens(4));
    bucket
}

#[test]
fn unpaid_admissions_are_charged_once_at_the_return() {
    let mut bucket = owing();
    assert_eq!(bucket.held(&share(), START), tokens(9), "its share of 36");
    assert_eq!(bucket.store_is_back(&share(), START), Some(tokens(13)));
    bucket.store_is_gone();
    assert_eq!(bucket.store_is_back(&share(), START), Some(tokens(13)), "it did not take the charge");
    bucket.is_charged(&share(), START);
    assert_eq!(bucket.settled(START + Span::from_secs(1)), Some(Correction::GiveBack(tokens(9))));
}

#[test]
fn unpaid_admissions_found_during_the_return_are_charged_when_settled() {
    let mut bucket = LocalBucket::enter(&share(), Some(tokens(8)), LocalStart::Full, START);
    assert_eq!(bucket.store_is_back(&share(), START), Some(tokens(2)));
    bucket.owes(Cost::tokens(3));
    bucket.is_charged(&share(), START);
    bucket.owes(Cost::tokens(1));
    let settled = START + Span::from_secs(1);
    assert_eq!(bucket.settled(settled), Some(Correction::Charge(tokens(2))), "3 + 1 − 2");
    bucket.is_corrected(&share(), Correction::Charge(tokens(2)), START);
    assert_eq!(bucket.settled(settled), Some(Correction::GiveBack(Tokens::ZERO)), "it is charged once");
}

#[test]
fn unpaid_admissions_are_paid_by_a_full_refill() {
    let whole = LocalShare::new(&Limit::new(Rate::per_second(10), Burst::tokens(10)).unwrap(), 1).unwrap();
    let mut bucket = LocalBucket::enter(&whole, Some(tokens(5)), LocalStart::Full, START);
    bucket.owes(Cost::tokens(3));
    let back = START + Span::from_millis(400);
    assert_eq!(bucket.store_is_back(&whole, back), Some(tokens(10)), "the store held 8, and is full");
    bucket.is_charged(&whole, back);
    let left = bucket.settled(back + LocalBucket::SETTLING);
    assert_eq!(left, Some(Correction::GiveBack(tokens(9))), "8 − 3 + 4");
}

/// Returns the store's balance after the way back. It held 100 before the outage, and nothing was minted meanwhile.
fn left_in_the_store(spent: u64, late: u64, is_late_while_settling: bool) -> u64 {
    let mut bucket = LocalBucket::enter(&share(), Some(tokens(100)), LocalStart::Full, START);
    let mut store = tokens(100).as_micros();
    let _ = bucket.check(&share(), Cost::tokens(spent), START);
    let charge = |bucket: &mut LocalBucket, store: &mut u64| {
        bucket.store_charged(&share(), Cost::tokens(late), START);
        *store -= tokens(late).as_micros();
    };
    if !is_late_while_settling {
        charge(&mut bucket, &mut store);
    }
    store -= bucket.store_is_back(&share(), START).unwrap().as_micros();
    bucket.is_charged(&share(), START);
    if is_late_while_settling {
        charge(&mut bucket, &mut store);
    }
    match bucket.settled(START + LocalBucket::SETTLING).unwrap() {
        Correction::Charge(more) => store -= more.as_micros(),
        Correction::GiveBack(rest) => store += rest.as_micros(),
    }
    Tokens::from_micros(store).whole()
}

#[test]
fn what_the_store_has_charged_late_is_charged_once_and_given_back_if_the_node_denied() {
    for is_late_while_settling in [false, true] {
        let left = |spent, late| left_in_the_store(spent, late, is_late_while_settling);
        assert_eq!(left(4, 0), 96, "no answer came");
        assert_eq!(left(4, 4), 96, "the node admitted it, and so did the store");
        assert_eq!(left(0, 30), 100, "more than the share: the node denied it");
        assert_eq!(left(20, 26), 80, "one of 20 was admitted, one of 6 denied");
    }
}

/// The store held 1 token and charged it late. The instance assumed a full share of 25 and spent 1 of it.
#[test]
fn whenever_the_store_says_what_it_had_a_wrong_guess_leaves_it_with_what_was_not_spent() {
    for told_at in 0..3 {
        let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Full, START);
        bucket.check(&share(), Cost::ONE, START);
        let mut store = 1_000_000_i64;
        let mut taken = 0;
        for phase in 0..3 {
            if phase == told_at {
                bucket.store_told(&share(), tokens(1), START);
                bucket.store_charged(&share(), Cost::ONE, START);
                store -= 1_000_000;
            }
            match phase {
                0 => taken = signed(bucket.store_is_back(&share(), START).unwrap().as_micros()),
                1 => {
                    store -= taken;
                    bucket.is_charged(&share(), START);
                }
                _ => {}
            }
        }
        assert_eq!(bucket.held(&share(), START), Tokens::ZERO, "a quarter of 1, less 1");
        store += match bucket.settled(START + LocalBucket::SETTLING).unwrap() {
            Correction::Charge(more) => -signed(more.as_micros()),
            Correction::GiveBack(rest) => signed(rest.as_micros()),
        };
        assert_eq!(store, 0, "told in phase {told_at}");
    }
}

#[test]
fn what_is_spent_while_the_store_is_late_to_put_back_the_rest_is_charged_after_it() {
    let (mut bucket, back) = returned(4);
    bucket.is_charged(&share(), back);
    let settled = back + LocalBucket::SETTLING;
    let correction = bucket.settled(settled).unwrap();
    assert_eq!(correction, Correction::GiveBack(tokens(16)));
    bucket.check(&share(), Cost::tokens(3), settled);
    bucket.is_corrected(&share(), correction, settled);
    assert_eq!(bucket.settled(settled), Some(Correction::Charge(tokens(3))));
    bucket.is_corrected(&share(), Correction::Charge(tokens(3)), settled);
    assert_eq!(bucket.settled(settled), Some(Correction::GiveBack(Tokens::ZERO)));
    assert!(bucket.held(&share(), settled) <= tokens(5), "only what was minted while it settled");
}

#[test]
fn a_late_charge_is_not_forgotten_by_a_store_that_comes_and_goes() {
    let mut bucket = LocalBucket::enter(&share(), Some(tokens(100)), LocalStart::Full, START);
    bucket.store_charged(&share(), Cost::tokens(5), START);
    assert_eq!(bucket.store_is_back(&share(), START), Some(tokens(20)), "25 less 5");
    bucket.store_charged(&share(), Cost::tokens(5), START);
    bucket.store_is_gone();
    assert_eq!(bucket.store_is_back(&share(), START), Some(tokens(15)), "it did not take the charge");
    bucket.is_charged(&share(), START);
    bucket.store_is_gone();
    assert_eq!(bucket.store_is_back(&share(), START), Some(Tokens::ZERO));
}

#[test]
fn a_guess_is_corrected_by_the_first_late_answer_and_what_was_spent_stays_spent() {
    let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Full, START);
    bucket.check(&share(), Cost::tokens(5), START);
    bucket.store_told(&share(), tokens(40), START);
    assert_eq!(bucket.held(&share(), START), tokens(5), "a quarter of 40, less 5");
    bucket.store_told(&share(), tokens(100), START);
    assert_eq!(bucket.held(&share(), START), tokens(5), "later answers are of checks since");
    assert_eq!(bucket.store_is_back(&share(), START), Some(tokens(10)));
    let mut empty = LocalBucket::enter(&share(), None, LocalStart::Empty, START);
    empty.store_told(&share(), tokens(40), START);
    assert_eq!(empty.held(&share(), START), tokens(10));
    let mut seen = LocalBucket::enter(&share(), Some(tokens(40)), LocalStart::Full, START);
    seen.store_told(&share(), tokens(100), START);
    assert_eq!(seen.held(&share(), START), tokens(10));
}

/// A quarter of a limit of 40 per second with this burst.
fn quarter_of(burst: u64) -> LocalShare {
    LocalShare::new(&Limit::new(Rate::per_second(40), Burst::tokens(burst)).unwrap(), 4).unwrap()
}

#[test]
fn under_another_share_it_keeps_what_it_holds_and_a_smaller_burst_clamps_for_good() {
    let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Full, START);
    bucket.check(&share(), Cost::tokens(5), START);
    let (small, large) = (quarter_of(40), quarter_of(1_000));
    bucket.share_changes(&share(), START);
    assert_eq!(bucket.held(&large, START), tokens(20), "a larger burst gives nothing away");
    assert_eq!(bucket.held(&small, START), tokens(10));
    bucket.share_changes(&small, START);
    assert_eq!(bucket.held(&large, START), tokens(10), "what was clamped is gone");
    let later = START + Span::from_secs(2);
    assert_eq!(bucket.held(&large, later), tokens(30), "minted since, at 10 per second");
    assert_eq!(bucket.store_is_back(&large, later), Some(tokens(30)));
}

#[test]
fn only_one_that_is_full_here_and_there_and_that_the_store_was_not_told_of_may_be_forgotten() {
    let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Full, START);
    assert!(bucket.is_full(&share(), START));
    bucket.check(&share(), Cost::ONE, START);
    assert!(!bucket.is_full(&share(), START));
    let later = START + Span::from_millis(100);
    assert!(bucket.is_full(&share(), later), "what was spent is minted again");
    bucket.store_charged(&share(), Cost::ONE, later);
    assert!(!bucket.is_full(&share(), later), "the store has charged what is to be given back");
    let later = later + Span::from_millis(100);
    assert!(bucket.is_full(&share(), later));
    assert!(bucket.store_is_back(&share(), later).is_some());
    assert!(!bucket.is_full(&share(), later), "the store has been told to take it out");
}

#[test]
fn a_charge_that_cost_something_else_is_corrected_here_and_so_in_the_store() {
    for (truly, left) in [(2, 98), (9, 91)] {
        let mut bucket = LocalBucket::enter(&share(), Some(tokens(100)), LocalStart::Full, START);
        bucket.check(&share(), Cost::tokens(5), START);
        let taken = bucket.store_is_back(&share(), START).unwrap().whole();
        bucket.is_charged(&share(), START);
        bucket.correct(&share(), Cost::tokens(5), Cost::tokens(truly), START);
        let rest = match bucket.settled(START + LocalBucket::SETTLING).unwrap() {
            Correction::GiveBack(rest) => rest.whole(),
            Correction::Charge(_) => 0,
        };
        assert_eq!(100 - taken + rest, left);
    }
}
