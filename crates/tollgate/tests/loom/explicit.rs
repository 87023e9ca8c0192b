//! Limits that come with the call, under every interleaving: the slot, taking it over, and several buckets at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use loom::thread;
use tollgate::proof::Letter;
use tollgate::proof::explicit::ExplicitWorld;
use tollgate::{TableFull, Verdict};

use super::{A, B, C, D, X, admits, is_for_want_of_room, must_fail, prove, prove_within};

const Y: Letter = ('y', 1);

type Check = Box<dyn FnOnce(&ExplicitWorld) -> Vec<Verdict> + Send>;

fn one(letter: Letter, tokens: u64, tick: u64) -> Check {
    Box::new(move |world| vec![world.check(letter, tokens, tick)])
}

/// The same check twice, one after the other.
fn twice(letter: Letter, tick: u64) -> Check {
    Box::new(move |world| vec![world.check(letter, 1, tick), world.check(letter, 1, tick)])
}

/// Runs each check in a thread of its own; the verdicts, in the order of the checks.
fn race(world: &Arc<ExplicitWorld>, checks: Vec<Check>) -> Vec<Verdict> {
    let run = |check: Check| {
        let world = Arc::clone(world);
        thread::spawn(move || check(&world))
    };
    let threads: Vec<_> = checks.into_iter().map(run).collect();
    threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
}

/// One token, and two who want it.
fn charge_twice() {
    prove(|| {
        let world = Arc::new(ExplicitWorld::new(1, TableFull::DenyNew, 1));
        world.put(A, 0, 0, 9);
        let verdicts = race(&world, vec![one(A, 1, 10), one(A, 1, 10)]);
        assert_eq!(admits(&verdicts), 1, "one token was given to {} checks", admits(&verdicts));
        assert_eq!((world.held(A, 10), world.places(A)), (0, 1));
    });
}

/// A full bucket is charged twice while another client wants its slot: one after the other, or at the same time.
fn charge_and_take(preemptions: usize, charges: fn() -> Vec<Check>) {
    prove_within(preemptions, move || {
        let world = Arc::new(ExplicitWorld::new(1, TableFull::DenyNew, 1));
        world.put(A, 0, 0, 2); // full by now
        world.put(X, 1, 0, 10); // spent just now: stays
        let mut checks = charges();
        checks.push(one(B, 1, 10));
        let verdicts = race(&world, checks);
        let (a, b) = (&verdicts[..2], &verdicts[2]);
        assert!(admits(a) <= 1, "a holds one token and was admitted twice");
        assert!(admits(a) == 1 || a.iter().all(is_for_want_of_room), "a was denied for what others spent");
        assert!(b.is_admitted() || is_for_want_of_room(b), "b was charged for a");
        assert!(world.places(A) <= 1 && world.places(B) <= 1);
    });
}

/// The bucket that is nearest to full is charged twice while a newcomer evicts it.
fn charge_and_evict() {
    prove(|| {
        let world = Arc::new(ExplicitWorld::new(1, TableFull::Inherit, 3));
        world.put(A, 0, 1, 10);
        world.put(X, 1, 0, 10);
        let verdicts = race(&world, vec![twice(A, 10), one(B, 3, 10)]);
        assert!(admits(&verdicts[..2]) <= 1, "a held one token and was admitted twice");
        assert!(world.places(A) <= 1 && world.places(B) <= 1);
    });
}

/// Two threads insert the same client, and there is room for another.
fn insert_twice() {
    prove(|| {
        let world = Arc::new(ExplicitWorld::new(1, TableFull::DenyNew, 1));
        let verdicts = race(&world, vec![one(C, 1, 10), one(C, 1, 10)]);
        assert_eq!(world.places(C), 1, "c lives in one slot");
        assert_eq!(admits(&verdicts), 1, "c holds one token");
        assert!(world.check(D, 1, 10).is_admitted(), "there is room for d");
    });
}

/// The same while a third inserts another.
fn insert_three() {
    prove_within(2, || {
        let world = Arc::new(ExplicitWorld::new(1, TableFull::DenyNew, 1));
        let verdicts = race(&world, vec![one(C, 1, 10), one(C, 1, 10), one(D, 1, 10)]);
        assert_eq!(world.places(C), 1, "c lives in one slot");
        assert_eq!(admits(&verdicts[..2]), 1, "c holds one token");
        assert!(verdicts[2].is_admitted(), "there is room for d");
    });
}

/// A client spent its token at tick 9 and asks again at tick 9, but late: by tick 12 it was full and was forgotten.
fn return_with_an_old_clock() {
    prove(|| {
        let world = Arc::new(ExplicitWorld::new(1, TableFull::DenyNew, 1));
        world.put(A, 0, 0, 9);
        world.put(X, 1, 0, 2);
        let verdicts = race(&world, vec![one(A, 1, 9), one(B, 1, 12)]);
        assert!(!verdicts[0].is_admitted(), "a was admitted twice at one moment");
        assert!(verdicts[1].is_admitted());
    });
}

/// One spends all while another looks: it sees what was there before or what is there after.
fn look_while_it_is_charged() {
    prove(|| {
        let world = Arc::new(ExplicitWorld::new(1, TableFull::DenyNew, 2));
        world.put(A, 0, 1, 9); // two by now
        let look = |world: Arc<ExplicitWorld>| thread::spawn(move || world.held(A, 10));
        let charge = |world: Arc<ExplicitWorld>| thread::spawn(move || world.check(A, 2, 10));
        let (looker, charger) = (look(Arc::clone(&world)), charge(Arc::clone(&world)));
        assert!(charger.join().unwrap().is_admitted());
        let seen = looker.join().unwrap();
        assert!(seen == 2 || seen == 0, "half of a charge was seen: {seen}");
    });
}

/// Every order of the checks gives one outcome; the race must give one of these, and leave what that order leaves.
fn as_in_some_order(preemptions: usize, checks: &'static [&'static [Letter]], put: bool) {
    let allowed = Arc::new(orders(checks));
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let reached = Arc::clone(&seen);
    prove_within(preemptions, move || {
        let world = Arc::new(ExplicitWorld::new(2, TableFull::Inherit, 1));
        if put {
            world.put(A, 0, 0, 9);
            world.put(B, 1, 0, 9);
            world.put(Y, 0, 0, 9);
        }
        let check = |letters: &&'static [Letter]| {
            let letters = *letters;
            Box::new(move |world: &ExplicitWorld| vec![world.check_all(letters, 10)]) as Check
        };
        let verdicts = race(&world, checks.iter().map(check).collect());
        let outcome: Vec<bool> = verdicts.iter().map(Verdict::is_admitted).collect();
        assert!(allowed.contains(&outcome), "{outcome:?} fits no order of {checks:?}");
        for letter in [A, B, Y] {
            let charged =
                checks.iter().zip(&outcome).any(|(letters, admitted)| *admitted && letters.contains(&letter));
            assert_eq!(world.held(letter, 10) == 0, charged, "{letter:?} after {outcome:?}");
            assert!(world.places(letter) <= 1);
        }
        seen.lock().unwrap().insert(outcome);
    });
    assert!(!reached.lock().unwrap().is_empty());
}

/// The outcomes of all orders, each bucket holding one token.
fn orders(checks: &[&[Letter]]) -> BTreeSet<Vec<bool>> {
    fn go(
        checks: &[&[Letter]],
        left: &[usize],
        spent: &[Letter],
        outcome: &[bool],
        all: &mut BTreeSet<Vec<bool>>,
    ) {
        if left.is_empty() {
            all.insert(outcome.to_vec());
        }
        for check in left {
            let (mut spent, mut outcome) = (spent.to_vec(), outcome.to_vec());
            if checks[*check].iter().all(|letter| !spent.contains(letter)) {
                spent.extend_from_slice(checks[*check]);
                outcome[*check] = true;
            }
            let left: Vec<usize> = left.iter().copied().filter(|other| other != check).collect();
            go(checks, &left, &spent, &outcome, all);
        }
    }
    let mut all = BTreeSet::new();
    let left: Vec<usize> = (0..checks.len()).collect();
    go(checks, &left, &[], &vec![false; checks.len()], &mut all);
    all
}

fn two_buckets_in_two_orders() {
    as_in_some_order(3, &[&[A, B], &[B, A]], true);
}

/// A second preemption takes four minutes: `LOOM_MAX_PREEMPTIONS=2` explores it, too.
fn two_pairs_and_a_single() {
    as_in_some_order(1, &[&[A, B], &[B, A], &[A]], true);
}

#[test]
fn one_token_is_given_to_one_check() {
    charge_twice();
}

#[test]
fn a_charge_that_holds_nothing_is_caught() {
    must_fail("explicit: no hold", charge_twice, "one token was given to 2 checks");
}

#[test]
fn an_explicit_charge_and_a_take_never_both_win() {
    charge_and_take(3, || vec![twice(A, 10)]);
}

#[test]
fn two_explicit_charges_and_a_take_never_both_win() {
    charge_and_take(1, || vec![one(A, 1, 10), one(A, 1, 10)]);
}

#[test]
fn whoever_is_evicted_gains_nothing() {
    charge_and_evict();
}

#[test]
fn an_explicit_client_is_inserted_once() {
    insert_twice();
}

#[test]
fn an_explicit_client_is_inserted_once_beside_another() {
    insert_three();
}

#[test]
fn an_explicit_insert_without_the_gate_is_caught() {
    must_fail("no gate", insert_twice, "c lives in one slot");
}

#[test]
fn a_forgotten_explicit_client_gains_nothing_by_an_old_clock() {
    return_with_an_old_clock();
}

#[test]
fn an_explicit_insert_that_trusts_an_old_clock_is_caught() {
    must_fail("old clock", return_with_an_old_clock, "admitted twice at one moment");
}

#[test]
fn a_balance_is_read_with_its_stamp() {
    look_while_it_is_charged();
}

#[test]
fn a_read_that_does_not_look_twice_is_caught() {
    must_fail("explicit: no second look", look_while_it_is_charged, "half of a charge was seen");
}

#[test]
fn explicit_pairs_given_in_two_orders_are_as_in_some_order() {
    two_buckets_in_two_orders();
}

#[test]
fn explicit_pairs_given_in_two_orders_beside_a_single_are_as_in_some_order() {
    two_pairs_and_a_single();
}

#[test]
fn explicit_buckets_held_in_any_order_are_caught() {
    must_fail("unsorted", two_pairs_and_a_single, "deadlock");
}

#[test]
fn an_explicit_pair_against_its_parts_in_two_windows_is_as_in_some_order() {
    as_in_some_order(2, &[&[A, Y], &[A], &[Y]], true);
}

#[test]
fn an_explicit_pair_of_newcomers_against_one_of_them_is_as_in_some_order() {
    as_in_some_order(2, &[&[A, B], &[A]], false);
}
