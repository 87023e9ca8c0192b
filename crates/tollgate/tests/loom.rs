//! All interleavings of the slot, insert, reclaim, several-buckets and waiting protocols, and the mistakes they must not make.
//!
//! Each proof is run twice over: as it is, and with each deliberate mistake switched on, which must make it fail.
#![cfg(loom)]

#[path = "loom/explicit.rs"]
mod explicit;
#[path = "loom/settlements.rs"]
mod settlements;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use loom::thread;
use tollgate::proof::waiting::Room;
use tollgate::proof::{Letter, Pair, World, set_mutant};
use tollgate::{Breadth, Cause, TableFull, Verdict};

const A: Letter = ('a', 0);
const B: Letter = ('b', 0);
const C: Letter = ('c', 0);
const D: Letter = ('d', 0);
const X: Letter = ('x', 0);
/// A bucket of another rule, and one that cannot be evicted.
const O: Letter = ('o', 0);
const P: Letter = ('p', 0);
const U: (Letter, Breadth) = (('u', 0), Breadth::Client);
const G: (Letter, Breadth) = (('g', 1), Breadth::Group);
const H: (Letter, Breadth) = (('h', 1), Breadth::Everyone);

/// Explores every interleaving with at most three preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
fn prove(model: impl Fn() + Sync + Send + 'static) {
    prove_within(3, model);
}

/// The same for worlds so large that a third preemption takes minutes: `LOOM_MAX_PREEMPTIONS=3` explores them, too.
fn prove_within(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 5_000;
    builder.check(model);
}

/// The proof must fail with this mistake switched on, and say why.
fn must_fail(mutant: &'static str, proof: fn(), complaint: &str) {
    set_mutant(mutant);
    let outcome = catch_unwind(AssertUnwindSafe(proof));
    set_mutant("");
    let panic = outcome.expect_err("the proof does not notice the mistake");
    let said =
        panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(ToString::to_string));
    assert!(said.as_ref().is_some_and(|said| said.contains(complaint)), "{mutant:?} gives {said:?}");
}

type Check = Box<dyn FnOnce(&World) -> Verdict + Send>;

fn one(letter: Letter, tick: u64) -> Check {
    Box::new(move |world| world.check(letter, tick))
}

fn all(letters: &'static [(Letter, Breadth)], tick: u64) -> Check {
    Box::new(move |world| world.check_all(letters, tick))
}

/// Runs each check in a thread of its own; the verdicts, in the order of the checks.
fn race(world: &Arc<World>, checks: Vec<Check>) -> Vec<Verdict> {
    let run = |check: Check| {
        let world = Arc::clone(world);
        thread::spawn(move || check(&world))
    };
    let threads: Vec<_> = checks.into_iter().map(run).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn admits(verdicts: &[Verdict]) -> usize {
    verdicts.iter().filter(|verdict| verdict.is_admitted()).count()
}

fn is_for_want_of_room(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Deny { cause: Cause::TableFull(_), .. })
}

/// A full bucket is charged twice while another client wants its slot.
fn charge_and_take() {
    prove_within(2, || {
        let world = Arc::new(World::new(1, TableFull::DenyNew));
        world.put(A, 0, 2); // full by now
        world.put(X, 1, 10); // spent just now: stays
        let verdicts = race(&world, vec![one(A, 10), one(B, 10), one(A, 10)]);
        let a = [verdicts[0], verdicts[2]];
        assert!(admits(&a) <= 1, "a holds one token and was admitted twice");
        assert!(admits(&a) == 1 || a.iter().all(is_for_want_of_room), "a was denied for what others spent");
        let b = verdicts[1];
        assert!(b.is_admitted() || is_for_want_of_room(&b), "b was charged for a");
        assert!(world.places(A) <= 1 && world.places(B) <= 1);
    });
}

/// Two threads insert the same client while a third inserts another.
fn insert_twice() {
    prove_within(2, || {
        let world = Arc::new(World::new(1, TableFull::DenyNew));
        let verdicts = race(&world, vec![one(C, 10), one(C, 10), one(D, 10)]);
        assert_eq!(world.places(C), 1, "c lives in one slot");
        assert_eq!(admits(&verdicts[..2]), 1, "c holds one token");
        assert!(verdicts[2].is_admitted(), "there is room for d");
    });
}

/// A client spent its token at tick 9 and asks again at tick 9, but late: by tick 11 it was full and was forgotten.
fn return_with_an_old_clock() {
    prove(|| {
        let world = Arc::new(World::new(1, TableFull::DenyNew));
        world.put(A, 0, 9);
        world.put(X, 1, 2);
        let verdicts = race(&world, vec![one(A, 9), one(B, 11)]);
        assert!(!verdicts[0].is_admitted(), "a was admitted twice at one moment");
        assert!(verdicts[1].is_admitted());
    });
}

/// Every order of the checks gives one outcome; the race must give one of these, and leave what that order leaves.
fn as_in_some_order(checks: &'static [&'static [(Letter, Breadth)]], put: bool) {
    as_in_some_order_of(checks, &[U, G, H], put);
}

/// The same over other buckets than three token buckets.
fn as_in_some_order_of(
    checks: &'static [&'static [(Letter, Breadth)]],
    buckets: &'static [(Letter, Breadth)],
    put: bool,
) {
    // loom runs the model many times; what it may answer does not change.
    let allowed = Arc::new(orders(checks));
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let reached = Arc::clone(&seen);
    prove(move || {
        let world = Arc::new(World::new(2, TableFull::Inherit));
        if put {
            world.put(U.0, 0, 2);
            world.put(G.0, 0, 2);
            world.put(H.0, 1, 2);
        }
        let verdicts = race(&world, checks.iter().map(|letters| all(letters, 10)).collect());
        let outcome: Vec<bool> = verdicts.iter().map(Verdict::is_admitted).collect();
        assert!(allowed.contains(&outcome), "{outcome:?} fits no order of {checks:?}");
        for (letter, _) in buckets {
            let charged = checks
                .iter()
                .zip(&outcome)
                .any(|(letters, admitted)| *admitted && letters.iter().any(|(other, _)| other == letter));
            assert_eq!(world.is_spent(*letter, 10), charged, "{letter:?} after {outcome:?}");
        }
        seen.lock().unwrap().insert(outcome);
    });
    assert!(!reached.lock().unwrap().is_empty());
}

/// The outcomes of all orders, each bucket holding one token.
fn orders(checks: &[&[(Letter, Breadth)]]) -> BTreeSet<Vec<bool>> {
    fn go(
        checks: &[&[(Letter, Breadth)]],
        left: Vec<usize>,
        spent: Vec<Letter>,
        outcome: Vec<bool>,
        all: &mut BTreeSet<Vec<bool>>,
    ) {
        if left.is_empty() {
            all.insert(outcome);
            return;
        }
        for (position, check) in left.iter().enumerate() {
            let (mut left, mut spent, mut outcome) = (left.clone(), spent.clone(), outcome.clone());
            left.remove(position);
            if checks[*check].iter().all(|(letter, _)| !spent.contains(letter)) {
                spent.extend(checks[*check].iter().map(|(letter, _)| *letter));
                outcome[*check] = true;
            }
            go(checks, left, spent, outcome, all);
        }
    }
    let mut all = BTreeSet::new();
    go(checks, (0..checks.len()).collect(), Vec::new(), vec![false; checks.len()], &mut all);
    all
}

/// A window of a used-up bucket of another rule and one that cannot be evicted: a newcomer is denied, and the other rule's
/// client gains nothing.
fn last_of_another_rule() {
    prove(|| {
        let world = Arc::new(World::new(1, TableFull::Inherit));
        world.put(O, 0, 0);
        assert!(world.pay(P, 0).is_some());
        let newcomer = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.check(A, 0).is_admitted())
        };
        let meanwhile = world.check(O, 0).is_admitted();
        let newcomer = newcomer.join().unwrap();
        let afterwards = world.check(O, 0).is_admitted();
        assert!(!newcomer && !meanwhile && !afterwards, "a client gained by being evicted");
    });
}

#[test]
fn last_bucket_of_a_limit_is_not_evicted_by_another_rule() {
    last_of_another_rule();
}

#[test]
fn evicting_the_last_bucket_of_a_limit_is_caught() {
    must_fail("evicts the last of its limit", last_of_another_rule, "gained by being evicted");
}

fn two_buckets_in_two_orders() {
    as_in_some_order(&[&[U, G], &[G, U], &[U]], true);
}

#[test]
fn a_charge_and_a_take_never_both_win() {
    charge_and_take();
}

#[test]
fn a_charge_that_does_not_read_the_tag_again_is_caught() {
    must_fail("no tag re-read", charge_and_take, "for what others spent");
}

#[test]
fn a_client_is_inserted_once() {
    insert_twice();
}

#[test]
fn an_insert_without_the_gate_is_caught() {
    must_fail("no gate", insert_twice, "c lives in one slot");
}

#[test]
fn a_forgotten_client_gains_nothing_by_an_old_clock() {
    return_with_an_old_clock();
}

#[test]
fn an_insert_that_trusts_an_old_clock_is_caught() {
    must_fail("old clock", return_with_an_old_clock, "admitted twice at one moment");
}

#[test]
fn a_pair_against_its_parts_is_as_in_some_order() {
    as_in_some_order(&[&[U, G], &[U], &[G]], true);
}

#[test]
fn pairs_given_in_two_orders_are_as_in_some_order() {
    two_buckets_in_two_orders();
}

#[test]
fn buckets_held_in_any_order_are_caught() {
    must_fail("unsorted", two_buckets_in_two_orders, "deadlock");
}

#[test]
fn a_triple_against_a_pair_and_the_broadest_is_as_in_some_order() {
    as_in_some_order(&[&[U, G, H], &[U, G], &[H]], true);
}

#[test]
fn a_pair_of_new_clients_in_one_window_with_another_moving_in() {
    const NEW: &[(Letter, Breadth)] = &[(C, Breadth::Client), (D, Breadth::Everyone)];
    prove(|| {
        let world = Arc::new(World::new(1, TableFull::DenyNew));
        let verdicts = race(&world, vec![all(NEW, 10), one(B, 10)]);
        assert!(admits(&verdicts) >= 1, "somebody finds room");
        assert!(verdicts.iter().all(|verdict| verdict.is_admitted() || is_for_want_of_room(verdict)));
        assert_eq!(world.is_spent(C, 10), verdicts[0].is_admitted());
        assert_eq!(world.is_spent(D, 10), verdicts[0].is_admitted());
        assert_eq!(world.is_spent(B, 10), verdicts[1].is_admitted());
    });
}

#[test]
fn words_under_a_sequence_lock_are_read_together() {
    prove(|| {
        let pair = Arc::new(Pair::new(1));
        let writer = {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                pair.add(1);
                pair.add(1);
            })
        };
        if let Some([one, other]) = pair.try_read() {
            assert_eq!(one, other);
        }
        writer.join().unwrap();
        assert_eq!(pair.try_read(), Some([3, 3]));
    });
}

/// Some wait for a bucket that is spent, others join and give up, another asks and does not wait.
fn wait_and_give_up(waiters: usize, quitters: usize, checkers: usize) {
    prove_within(2, move || {
        let room = Arc::new(Room::new());
        let run = |visit: fn(&Room) -> u64| {
            let room = Arc::clone(&room);
            thread::spawn(move || visit(&room))
        };
        let visits =
            [(waiters, Room::wait as fn(&Room) -> u64), (quitters, Room::give_up), (checkers, Room::check)];
        let visits = visits.into_iter().flat_map(|(count, visit)| vec![visit; count]);
        let threads: Vec<_> = visits.map(run).collect();
        let left: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert!(left >= waiters as u64, "all who wait leave");
        assert_eq!(room.spent(), left, "who left was charged, and nobody else");
        assert!(room.ticks() >= left, "nobody leaves before its tokens were minted");
        assert_eq!(room.waiters(), 0, "nobody is left behind");
    });
}

fn two_wait_in_line() {
    wait_and_give_up(2, 0, 0);
}

fn one_waits_behind_one_who_gives_up() {
    wait_and_give_up(1, 1, 0);
}

#[test]
fn whoever_leaves_wakes_the_next() {
    two_wait_in_line();
}

#[test]
fn a_head_that_leaves_without_a_word_is_caught() {
    must_fail("no wake on leaving", two_wait_in_line, "deadlock");
}

#[test]
fn whoever_gives_up_wakes_the_next() {
    one_waits_behind_one_who_gives_up();
}

#[test]
fn a_head_that_gives_up_without_a_word_is_caught() {
    must_fail("no wake on cancel", one_waits_behind_one_who_gives_up, "deadlock");
}

#[test]
fn a_place_that_is_not_given_back_is_caught() {
    must_fail("no give back", one_waits_behind_one_who_gives_up, "who left was charged, and nobody else");
}

#[test]
fn two_wait_while_another_gives_up() {
    wait_and_give_up(2, 1, 0);
}

#[test]
fn nobody_is_lost_when_a_check_comes_between() {
    wait_and_give_up(1, 1, 1);
}
