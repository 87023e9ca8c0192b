//! All queues of a limiter: touched only when somebody has to wait, or waits.
//!
//! Booking and joining happen under one lock, so a queue's order is the order in which its bucket was charged. Only the
//! head has a timer. Whoever looks after its time has come lets all leave whose time has come, wakes them, and wakes the
//! new head to set its timer. Wakers are somebody else's code: they are called and dropped when no lock is held, and only
//! cloned and compared while one is.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::PoisonError;
use std::task::Waker;

use tollgate_core::{Span, Tokens};

use super::bucket_key::{Bucket, Spread};
use super::error::AcquireError;
use super::place::{Place, Terms, Turn};
use super::queue::{Queue, Ticket};
use super::service::{Unnoticed, Waiter, Wakers, serve};
use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::adjust::Adjusted;
use crate::memory::booking::{Booked, Unbooked};
use crate::memory::meters::MeterSource;
use crate::memory::slot::mutant;
use crate::memory::store::{Ask, Store, When};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Most who may wait in one limiter at a time, over all keys.
pub const WAITERS_MAX: u64 = 1_000_000;

/// Locks that the queues are spread over.
const SHARDS: usize = if cfg!(loom) { 1 } else { 64 };

/// Everybody who waits.
#[derive(Debug)]
pub(crate) struct Queues {
    shards: Box<[Mutex<Shard>]>,
    waiters: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    queues: HashMap<Bucket, Queue<Waiter>, BuildHasherDefault<Spread>>,
    /// An [`crate::Acquire`] that is leaked leaks its line here, too.
    unnoticed: Unnoticed,
    last_ticket: Ticket,
}

impl Queues {
    pub(crate) fn new() -> Queues {
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect();
        Queues { shards, waiters: AtomicU64::new(0) }
    }

    /// Books the ask and joins its bucket's queue, unless the bucket pays at once or the terms cannot be met.
    ///
    /// The time is asked for with the lock held, here and below, so that it does not run back along a queue.
    pub(crate) fn join<'c, M: MeterSource>(
        &self,
        store: &Store<M>,
        ask: &Ask,
        terms: Terms,
        now: impl FnOnce() -> When<'c>,
        waker: &Waker,
    ) -> Result<Turn, AcquireError> {
        let (mut wakers, mut shard) = (Wakers::default(), self.shard(ask.id));
        let when = now();
        let Shard { queues, unnoticed, last_ticket } = &mut *shard;
        let queue = queues.entry(Bucket(ask.id)).or_default();
        self.note_left(serve(queue, store, ask.id, when, unnoticed, &mut wakers));
        *last_ticket += 1;
        let turn = self.enter(store, ask, terms, when, queue, *last_ticket, waker);
        if queue.is_empty() {
            queues.remove(&Bucket(ask.id));
        }
        wakers.wake_without(shard);
        turn
    }

    #[expect(clippy::too_many_arguments, reason = "all of `join`, with the lock held")]
    fn enter<M: MeterSource>(
        &self,
        store: &Store<M>,
        ask: &Ask,
        terms: Terms,
        when: When<'_>,
        queue: &mut Queue<Waiter>,
        ticket: Ticket,
        waker: &Waker,
    ) -> Result<Turn, AcquireError> {
        let (now, Terms { wait_max, waiters_max }) = (when.moment(), terms);
        let crowd = if queue.len() >= waiters_max as usize {
            Some(AcquireError::QueueFull { waiters_max })
        } else if self.waiters.fetch_add(1, Ordering::Relaxed) >= WAITERS_MAX {
            self.note_left(1);
            Some(AcquireError::TooManyWaiters)
        } else {
            None
        };
        // Who may not wait may still be lucky: there may be tokens by now.
        let booked = store.book(ask, when, crowd.map_or(wait_max, |_| Span::ZERO));
        let (Ok(Booked { departure, wait }), None) = (booked, crowd) else {
            self.note_left(u64::from(crowd.is_none()));
            return match (booked, crowd) {
                (Ok(_), _) => Ok(Turn::Left(Span::ZERO)),
                (Err(Unbooked::TooLong(_)), Some(crowd)) => Err(crowd),
                (Err(unbooked), _) => Err(AcquireError::of(unbooked, ask, wait_max)),
            };
        };
        if wait == Span::ZERO && queue.is_empty() {
            self.note_left(1);
            return Ok(Turn::Left(Span::ZERO));
        }
        let waiter = Waiter { limit: ask.limit, is_patient: wait_max == Span::MAX, waker: waker.clone() };
        let timer = queue.is_empty().then_some(wait);
        queue.push(ticket, departure, ask.demand, waiter);
        Ok(Turn::Waits(Place { ticket, since: now, wait_max }, timer))
    }

    /// Whether the turn of someone who waits has come. To be asked when it is woken, and when its time is up.
    pub(crate) fn look<'c, M: MeterSource>(
        &self,
        store: &Store<M>,
        ask: &Ask,
        place: Place,
        now: impl FnOnce() -> When<'c>,
        waker: &Waker,
    ) -> Result<Turn, AcquireError> {
        let (mut wakers, mut shard) = (Wakers::default(), self.shard(ask.id));
        let (when, bucket) = (now(), Bucket(ask.id));
        let now = when.moment();
        let waited = now.since(place.since);
        if shard.unnoticed.remove(&place.ticket).is_some() {
            return Ok(Turn::Left(waited));
        }
        // The burst was lowered meanwhile. With the lock held: whoever does not see that here is woken for it.
        if store.meters.ruler(ask.limit).never_admits(ask.demand) {
            self.withdraw(&mut shard, store, ask, place, when, &mut wakers);
            wakers.wake_without(shard);
            return Err(AcquireError::Never { cost: ask.demand.cost });
        }
        let Shard { queues, unnoticed, .. } = &mut *shard;
        let Some(queue) = queues.get_mut(&bucket) else { return Ok(Turn::Left(waited)) };
        wakers.leave_out(place.ticket);
        self.note_left(serve(queue, store, ask.id, when, unnoticed, &mut wakers));
        let turn = match queue.find(place.ticket) {
            None => {
                unnoticed.remove(&place.ticket);
                Ok(Turn::Left(waited))
            }
            Some(mine) => {
                let (to_go, patience) = (store.time_to(ask, mine.departure, now), place.patience_at(now));
                if patience == Span::ZERO {
                    Err(AcquireError::TooLong { wait: waited + to_go, wait_max: place.wait_max })
                } else {
                    if !mine.waiter.waker.will_wake(waker) {
                        wakers.drop_later(std::mem::replace(&mut mine.waiter.waker, waker.clone()));
                    }
                    let timer = if mine.is_head { Some(to_go.min(patience)) } else { None };
                    Ok(Turn::Waits(place, timer.or((to_go > patience).then_some(patience))))
                }
            }
        };
        if turn.is_err() {
            self.give_up(queue, store, ask, place.ticket, when, &mut wakers);
        }
        if queue.is_empty() {
            queues.remove(&bucket);
        }
        wakers.wake_without(shard);
        turn
    }

    /// Someone will not look again.
    pub(crate) fn cancel<'c, M: MeterSource>(
        &self,
        store: &Store<M>,
        ask: &Ask,
        place: Place,
        now: impl FnOnce() -> When<'c>,
    ) {
        let (mut wakers, mut shard) = (Wakers::default(), self.shard(ask.id));
        self.withdraw(&mut shard, store, ask, place, now(), &mut wakers);
        wakers.wake_without(shard);
    }

    /// Takes someone out who has not left, or has not noticed. If its time has come it gives back no more than there would be had
    /// it never come; before that, everything.
    fn withdraw<M: MeterSource>(
        &self,
        shard: &mut Shard,
        store: &Store<M>,
        ask: &Ask,
        place: Place,
        when: When<'_>,
        wakers: &mut Wakers,
    ) {
        let (Shard { queues, unnoticed, .. }, bucket) = (shard, Bucket(ask.id));
        let queue = queues.entry(bucket).or_default();
        wakers.leave_out(place.ticket);
        self.note_left(serve(queue, store, ask.id, when, unnoticed, wakers));
        match unnoticed.remove(&place.ticket) {
            // All who are in the queue are behind it.
            Some(departure) if !mutant::is("no give back") => {
                queue.forward(store.give_back_booked(ask, departure, when).given().as_micros());
                wakers.wake_head(queue);
            }
            Some(_) => {}
            None => self.give_up(queue, store, ask, place.ticket, when, wakers),
        }
        if queue.is_empty() {
            queues.remove(&bucket);
        }
    }

    /// Someone leaves the queue before its time has come, and everything is given back.
    fn give_up<M: MeterSource>(
        &self,
        queue: &mut Queue<Waiter>,
        store: &Store<M>,
        ask: &Ask,
        ticket: Ticket,
        when: When<'_>,
        wakers: &mut Wakers,
    ) {
        let was_head = queue.head().is_some_and(|head| head.ticket == ticket);
        let Some(waiter) = queue.cancel(ticket) else { return };
        self.note_left(1);
        wakers.drop_later(waiter.waker);
        if !mutant::is("no give back") {
            store.give(ask, Tokens::from(ask.demand.cost), when);
        }
        if was_head && !mutant::is("no wake on cancel") {
            wakers.wake_head(queue);
        }
    }

    /// Gives a bucket tokens by other means, with nobody joining or leaving meanwhile: all who wait for it move forward by what
    /// it was given. `change` is told how much they have booked.
    pub(crate) fn while_giving(&self, id: BucketId, change: impl FnOnce(Tokens) -> Adjusted) -> Adjusted {
        let (mut wakers, mut shard) = (Wakers::default(), self.shard(id));
        let Some(queue) = shard.queues.get_mut(&Bucket(id)) else { return change(Tokens::ZERO) };
        let adjusted = change(Tokens::from_micros(queue.booked()));
        queue.forward(adjusted.given().as_micros());
        wakers.wake_head(queue);
        wakers.wake_without(shard);
        adjusted
    }

    /// A limit was changed: whoever set a timer by the old one must set it anew, and whoever asked for more than the burst is now
    /// must give up.
    pub(crate) fn limit_changed(&self, limit: LimitId) {
        let mut wakers = Wakers::default();
        for shard in &self.shards {
            for queue in lock(shard).queues.values() {
                wakers.wake_those(queue, |waiter| waiter.limit == limit);
            }
        }
        wakers.wake_all();
    }

    /// How many wait now.
    pub(crate) fn waiters(&self) -> u64 {
        self.waiters.load(Ordering::Relaxed)
    }

    fn note_left(&self, left: u64) {
        if left > 0 {
            self.waiters.fetch_sub(left, Ordering::Relaxed);
        }
    }

    fn shard(&self, id: BucketId) -> MutexGuard<'_, Shard> {
        lock(&self.shards[(id.fingerprint >> 8) as usize % SHARDS])
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
