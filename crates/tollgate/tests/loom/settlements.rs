//! Guards, reservations and logs under every interleaving: what is taken can be given back, once.

use std::sync::Arc;

use loom::thread;
use tollgate::proof::{Letter, Paid, World};
use tollgate::{Breadth, TableFull};

use super::{G, H, U, admits, as_in_some_order_of, must_fail, one, prove, prove_within, race};

const P: Letter = ('p', 0);
const L: (Letter, Breadth) = (('l', 1), Breadth::Group);
const TOKEN: u64 = 1_000_000;

/// One is at work and leaves at `leaves` while two others want in, at these ticks. There are `places`.
fn enter_and_leave(places: u32, leaves: u64, enters: [u64; 2]) {
    prove_within(3, move || {
        let world = Arc::new(World::with_places(1, TableFull::DenyNew, places));
        world.put(P, 0, 10);
        let held: Paid = world.pay(P, 10).expect("all places are free");
        let entering = enters.map(|tick| {
            let world = Arc::clone(&world);
            thread::spawn(move || world.pay(P, tick))
        });
        let given = world.give_back(held, TOKEN, leaves);
        let entered: Vec<Paid> = entering.into_iter().filter_map(|enter| enter.join().unwrap()).collect();
        assert_eq!(given, TOKEN, "who left gave its place back");
        assert!(entered.len() <= places as usize, "more at work than there are places");
        assert!(entered.len() + 1 >= places as usize, "a place was free and nobody got it");
        let latest = enters.into_iter().fold(leaves, u64::max);
        let free = i64::from(places) - entered.len() as i64;
        assert_eq!(world.balance(P, latest), free * TOKEN as i64, "no place is lost, and none is made up");
        for paid in entered {
            assert_eq!(world.give_back(paid, TOKEN, latest), TOKEN);
        }
        assert_eq!(world.balance(P, latest), i64::from(places) * TOKEN as i64);
    });
}

fn one_place() {
    enter_and_leave(1, 10, [10, 10]);
}

fn two_places() {
    enter_and_leave(2, 10, [10, 10]);
}

#[test]
fn one_place_is_never_taken_twice() {
    one_place();
}

#[test]
fn of_two_places_none_is_lost() {
    two_places();
}

#[test]
fn a_place_is_given_back_across_generations() {
    enter_and_leave(1, 11, [10, 11]);
    enter_and_leave(2, 11, [11, 12]);
}

#[test]
fn leaving_without_looking_again_is_caught() {
    must_fail("blind", two_places, "no place is lost");
}

/// A reservation of a whole bucket is committed at a part of it and cancelled at the same time.
fn commit_and_cancel() {
    prove(|| {
        let world = Arc::new(World::new(1, TableFull::DenyNew));
        world.put(('a', 0), 0, 2);
        let paid = world.pay(('a', 0), 10).expect("the bucket is full");
        world.reserve(7, paid, 10);
        let committing = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.settle(7, 400_000, 10))
        };
        let (cancelled, committed) = (world.settle(7, TOKEN, 10), committing.join().unwrap());
        match (committed, cancelled) {
            (Some(given), None) => assert_eq!((given, world.balance(('a', 0), 10)), (400_000, 400_000)),
            (None, Some(given)) => assert_eq!((given, world.balance(('a', 0), 10)), (TOKEN, 1_000_000)),
            both => panic!("settled {both:?}, not once"),
        }
    });
}

#[test]
fn a_reservation_is_settled_once() {
    commit_and_cancel();
}

#[test]
fn settling_what_another_may_have_taken_is_caught() {
    must_fail("look, then take", commit_and_cancel, "not once");
}

#[test]
fn a_cancel_and_a_check_are_as_in_some_order() {
    prove(|| {
        let world = Arc::new(World::new(1, TableFull::DenyNew));
        world.put(('a', 0), 0, 2);
        let paid = world.pay(('a', 0), 10).expect("the bucket is full");
        world.reserve(7, paid, 10);
        let checking = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.check(('a', 0), 10).is_admitted())
        };
        assert_eq!(world.settle(7, TOKEN, 10), Some(TOKEN));
        let left = if checking.join().unwrap() { 0 } else { TOKEN };
        assert_eq!(world.balance(('a', 0), 10), left.cast_signed());
    });
}

/// The bucket holds one token: whichever comes first, the reset and the cancel give it one between them, and the check takes it.
fn reset_and_cancel() {
    prove(|| {
        let world = Arc::new(World::new(1, TableFull::DenyNew));
        world.put(('a', 0), 0, 2);
        let paid = world.pay(('a', 0), 10).expect("the bucket is full");
        let resetting = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                world.reset(('a', 0), 10);
                assert!(world.check(('a', 0), 10).is_admitted(), "it was filled");
            })
        };
        world.give_back(paid, TOKEN, 10);
        resetting.join().unwrap();
        assert_eq!(world.balance(('a', 0), 10), 0, "the same token twice");
    });
}

#[test]
fn a_reset_and_a_cancel_do_not_give_the_same_token_twice() {
    reset_and_cancel();
}

#[test]
fn giving_back_what_was_forgiven_is_caught() {
    must_fail("gives back forgiven", reset_and_cancel, "the same token twice");
}

/// A bucket that a reservation has emptied is forgotten once it is full; cancelling then gives nothing.
#[test]
fn a_cancel_and_a_newcomer_in_the_same_slot_do_not_mix() {
    prove(|| {
        let world = Arc::new(World::new(1, TableFull::DenyNew));
        world.put(('a', 0), 0, 2);
        world.put(('x', 0), 1, 12);
        let paid = world.pay(('a', 0), 10).expect("the bucket is full");
        world.reserve(7, paid, 10);
        let verdicts = {
            let other = Arc::clone(&world);
            let cancelling = thread::spawn(move || other.settle(7, TOKEN, 12));
            let verdicts = race(&world, vec![one(('b', 0), 12)]);
            assert_eq!(cancelling.join().unwrap(), Some(0), "it was full again: nothing is given back");
            verdicts
        };
        assert_eq!(admits(&verdicts), 1, "there is room for b");
        assert!(world.is_spent(('b', 0), 12), "b was given what a had reserved");
    });
}

#[test]
fn a_log_and_a_bucket_are_charged_together_or_not_at_all() {
    as_in_some_order_of(&[&[L, U], &[U, L]], &[L, U], true);
    as_in_some_order_of(&[&[L, U], &[L]], &[L, U], true);
}

#[test]
fn a_log_between_two_buckets_is_as_in_some_order() {
    as_in_some_order_of(&[&[U, L, G], &[G, L], &[H]], &[U, L, G, H], true);
}
