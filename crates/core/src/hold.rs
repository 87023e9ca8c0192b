//! A charge that may have to be taken back: how a check over buckets of several slots is all or nothing.
//!
//! No script reaches two slots of a cluster, so the buckets of a check are held one after the other, narrow before broad: a
//! client that is denied by its own bucket never touches the one that everybody shares. When one denies, those before it are released.
//! A held bucket is simply charged, so nobody is falsely admitted meanwhile; for as long as the hold lasts others may be falsely denied.
//!
//! ```text
//!   user ──── hold ✓ ──────────────────────── release
//!   org         └──── hold ✓ ──────────── release
//!   global               └──── hold ✗ denied
//! ```
//!
//! Releasing all of the cost would give tokens away: the bucket refills meanwhile as if they had been spent, and would then hold them as
//! well. So what was minted since the hold is kept back. It does not know slots, scripts or the order of anybody's buckets.
//!
//! Why that is never too much, whatever else is held at the time: let `P` be what the bucket holds and what all holds would give back
//! together. A hold and a release leave `P` as it is; a spend lowers it; when `m` is minted the bucket gains at most `m`, and every hold
//! that has something to give back loses `m` or all of it. So `P` is never above the burst, and an interval admits at most `P` at its
//! begin and what is minted in it. It would not do to keep back only what would have run over had this one not been held: what the
//! bucket held before is too little where another hold was released since.

use crate::{Cost, Tokens};

/// One bucket, charged on probation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    cost: Cost,
}

impl Hold {
    /// A bucket was charged `cost`.
    pub const fn new(cost: Cost) -> Hold {
        Hold { cost }
    }

    /// What to give back when `minted` was minted since: the cost, less that. The bucket is then no fuller than if it had not been held, and
    /// lacks at most what was minted during the hold.
    pub const fn release(&self, minted: Tokens) -> Tokens {
        Tokens::from_micros(self.cost.as_micros().saturating_sub(minted.as_micros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    const BURST: u64 = 4;

    fn tokens(tokens: u64) -> Tokens {
        Tokens::from_micros(tokens * 1_000_000)
    }

    #[test]
    fn what_was_minted_meanwhile_is_not_given_back() {
        let hold = Hold::new(Cost::tokens(4));
        assert_eq!(hold.release(Tokens::ZERO), tokens(4));
        assert_eq!(hold.release(tokens(3)), tokens(1));
        assert_eq!(hold.release(tokens(900)), Tokens::ZERO);
    }

    /// A bucket that is held by some, and how full it would be had nobody held it.
    #[derive(Clone)]
    struct World {
        held: u64,
        untouched: u64,
        /// Of each hold: its cost, what was there before it, what was minted since.
        holds: Vec<(u64, u64, u64)>,
    }

    /// Plays every sequence of so many steps (mint a token, spend all there is, hold, release any), and shows each world to a judge.
    fn play(
        world: &World,
        steps: u32,
        release: &impl Fn(u64, u64, u64) -> u64,
        judge: &mut impl FnMut(&World),
    ) {
        judge(world);
        if steps == 0 {
            return;
        }
        let mut next = |change: &dyn Fn(&mut World)| {
            let mut world = world.clone();
            change(&mut world);
            play(&world, steps - 1, release, judge);
        };
        next(&|world| {
            world.held = (world.held + 1).min(BURST);
            world.untouched = (world.untouched + 1).min(BURST);
            world.holds.iter_mut().for_each(|hold| hold.2 += 1);
        });
        for cost in 1..=world.held {
            next(&|world| {
                world.held -= cost;
                world.untouched = world.untouched.saturating_sub(cost);
            });
            if world.holds.len() < 2 {
                next(&|world| {
                    world.holds.push((cost, world.held, 0));
                    world.held -= cost;
                });
            }
        }
        for at in 0..world.holds.len() {
            next(&|world| {
                let (cost, before, minted) = world.holds.remove(at);
                world.held = (world.held + release(cost, before, minted)).min(BURST);
            });
        }
    }

    const FULL: World = World { held: BURST, untouched: BURST, holds: Vec::new() };

    #[test]
    fn a_bucket_with_any_holds_and_releases_is_never_fuller_than_one_that_was_not_held() {
        let release = |cost, _, minted| Hold::new(Cost::tokens(cost)).release(tokens(minted)).whole();
        let mut worlds = 0_u64;
        play(&FULL, 7, &release, &mut |world| {
            let worth = world.holds.iter().map(|(cost, before, minted)| release(*cost, *before, *minted));
            assert!(
                world.held + worth.sum::<u64>() <= BURST,
                "what could be spent at once is a burst at most"
            );
            assert!(world.held <= world.untouched);
            worlds += 1;
        });
        assert!(worlds > 100_000, "{worlds}");
    }

    /// How much fuller than without holds a bucket gets by this way of releasing.
    fn excess(release: impl Fn(u64, u64, u64) -> u64) -> u64 {
        let mut worst = 0;
        play(&FULL, 7, &release, &mut |world| worst = worst.max(world.held.saturating_sub(world.untouched)));
        worst
    }

    #[test]
    fn to_keep_back_less_would_give_tokens_away() {
        assert!(excess(|cost, _, _| cost) > 0, "all of it");
        // Exact for one hold alone: with two, the first of which is released, what was there before the second is too little.
        assert!(
            excess(|cost, before, minted| cost.saturating_sub((before + minted).saturating_sub(BURST))) > 0
        );
    }

    #[test]
    fn one_hold_keeps_back_what_was_minted_during_it_at_most() {
        for (cost, minted) in (1..=BURST).flat_map(|cost| (0..9).map(move |minted| (cost, minted))) {
            let given = Hold::new(Cost::tokens(cost)).release(tokens(minted)).whole();
            assert!(given + minted >= cost && given <= cost);
        }
    }
}
