//! Giving to a bucket that somebody waits for, and taking from it: those who wait move by what it was given, or nothing is given.
//!
//! All of it happens under the lock of the queue, with nobody joining or leaving meanwhile. Knows no clock.

use tollgate_core::{Mark, Tokens};

use super::bucket_key::Bucket;
use super::queue::Queue;
use super::queues::{Queues, end_in_leaky};
use super::service::{Waiter, Wakers};
use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::adjust::Adjusted;
use crate::memory::meters::MeterSource;
use crate::memory::receipt::Receipt;
use crate::memory::store::{Ask, Store, When};

impl Queues {
    /// Gives a bucket tokens by other means, with nobody joining or leaving meanwhile: all who wait for it move forward by what
    /// it was given. `change` is told what they have booked, and under which limit the bucket must stand for them to move.
    /// Nothing is given while clients of several tiers wait.
    pub(crate) fn while_giving(
        &self,
        id: BucketId,
        change: impl FnOnce(Tokens, Option<LimitId>) -> Adjusted,
    ) -> Adjusted {
        let (mut wakers, mut shard) = (Wakers::default(), self.shard(id));
        let Some(queue) = shard.queues.get_mut(&Bucket(id)) else { return change(Tokens::ZERO, None) };
        let limit = queue.head().map(|head| head.waiter.limit);
        if !queue.is_even() && !queue.iter().all(|waiter| Some(waiter.limit) == limit) {
            return Adjusted::NOT;
        }
        let adjusted = change(Tokens::from_micros(queue.booked()), limit);
        queue.forward(adjusted.given().as_micros());
        wakers.wake_head(queue);
        wakers.wake_without(shard);
        adjusted
    }

    /// Gives back up to `over` of a charge that was made, as by [`Queues::while_giving`]; its bucket may owe `debt_max` beside what
    /// is booked. In a leaky bucket only the last one gives back, so nobody is behind it.
    pub(crate) fn while_settling<M: MeterSource>(
        &self,
        store: &Store<M>,
        receipt: &Receipt,
        over: Tokens,
        debt_max: Tokens,
        when: When<'_>,
    ) -> Adjusted {
        let limit = receipt.ask.limit;
        if store.meters.ruler(limit).is_queue() {
            return store.give_back(receipt, over, debt_max, when);
        }
        self.while_giving(receipt.awaited_id(), |booked, under| {
            let owed_max = Tokens::from_micros(debt_max.as_micros().saturating_add(booked.as_micros()));
            match under {
                Some(other) if other != limit => Adjusted::NOT,
                _ => store.give_back(receipt, over, owed_max, when),
            }
        })
    }

    /// Takes tokens from a bucket, into debt if need be, with nobody joining or leaving meanwhile. `change` is told how much those
    /// who wait have booked: that is no debt of whoever overran.
    pub(crate) fn while_taking(&self, id: BucketId, change: impl FnOnce(Tokens) -> Adjusted) -> Adjusted {
        let shard = self.shard(id);
        let booked = shard.queues.get(&Bucket(id)).map_or(0, Queue::booked);
        change(Tokens::from_micros(booked))
    }
}

/// Gives back what somebody booked who was let go and never noticed, and moves those forward who wait: all of them are behind
/// it. In a leaky bucket, only if the first of them is right behind it.
pub(super) fn give_back<M: MeterSource>(
    queue: &mut Queue<Waiter>,
    store: &Store<M>,
    ask: &Ask,
    departure: Mark,
    when: When<'_>,
) {
    let own_end = end_in_leaky(departure, ask.demand);
    let end = match queue.last() {
        Some((_, demand, departure)) => end_in_leaky(departure, demand),
        None => own_end,
    };
    let is_queue = store.meters.ruler(ask.limit).is_queue();
    let follows = queue
        .head()
        .is_none_or(|head| head.waiter.limit == ask.limit && (!is_queue || head.departure == own_end));
    if follows && queue.is_even() {
        queue.forward(store.give_back_booked(ask, departure, end, when));
    }
}
