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

use tollgate_core::{Demand, Mark, Span};

use super::bucket_key::{Bucket, Spread};
use super::error::AcquireError;
use super::giving::give_back;
use super::place::{Place, Terms, Turn};
use super::queue::{Queue, Ticket};
use super::service::{Unnoticed, Waiter, Wakers, serve};
use crate::identity::BucketId;
use crate::memory::LimitId;
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

/// Who waits for which bucket.
pub(super) type Waiting = HashMap<Bucket, Queue<Waiter>, BuildHasherDefault<Spread>>;

#[derive(Debug, Default)]
pub(super) struct Shard {
    pub(super) queues: Waiting,
    /// An [`crate::Acquire`] that is leaked leaks its line here, too.
    unnoticed: Unnoticed,
    last_ticket: Ticket,
}

impl Queues {
    pub(crate) fn new() -> Queues {
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect();
        Queues { shards, waiters: AtomicU64::new(0) }
    }

    /// Books the ask and joins its bucket's queue, unless the bucket pays at once or the terms cannot be met. Those who find no room
    /// join the queue of the overflow bucket that stands for theirs.
    ///
    /// The time is asked for with the lock held, here and below, so that it does not run back along a queue.
    pub(crate) fn join<'c, M: MeterSource>(
        &self,
        store: &Store<M>,
        ask: &Ask,
        terms: Terms,
        now: impl Fn() -> When<'c>,
        waker: &Waker,
    ) -> Result<Turn, AcquireError> {
        if let Some(turn) = self.join_if_room(store, ask, terms, &now, waker)? {
            return Ok(turn);
        }
        let ask = Ask { id: BucketId::overflow_of(ask.limit), ..*ask };
        let turn = self.join_if_room(store, &ask, terms, &now, waker)?;
        turn.ok_or_else(|| AcquireError::of(Unbooked::Overflows, &ask, terms.wait_max))
    }

    /// [`Queues::join`], of the queue of this very bucket; `None` if it finds no room.
    fn join_if_room<'c, M: MeterSource>(
        &self,
        store: &Store<M>,
        ask: &Ask,
        terms: Terms,
        now: impl Fn() -> When<'c>,
        waker: &Waker,
    ) -> Result<Option<Turn>, AcquireError> {
        let (mut wakers, mut shard) = (Wakers::default(), self.shard(ask.id));
        let when = now();
        let Shard { queues, unnoticed, last_ticket } = &mut *shard;
        let queue = begin(queues, store, ask.id);
        self.note_left(serve(queue, store, ask.id, when, unnoticed, &mut wakers));
        *last_ticket += 1;
        let turn = self.enter(store, ask, terms, when, queue, *last_ticket, waker);
        end_if_empty(queues, store, ask.id);
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
    ) -> Result<Option<Turn>, AcquireError> {
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
        let (Ok(Booked { departure, wait, is_queue }), None) = (booked, crowd) else {
            self.note_left(u64::from(crowd.is_none()));
            return match (booked, crowd) {
                (Ok(_), _) => Ok(Some(Turn::Left(Span::ZERO))),
                (Err(Unbooked::Overflows), _) => Ok(None),
                (Err(Unbooked::TooLong(_)), Some(crowd)) => Err(crowd),
                (Err(unbooked), _) => Err(AcquireError::of(unbooked, ask, wait_max)),
            };
        };
        if wait == Span::ZERO && queue.is_empty() {
            self.note_left(1);
            return Ok(Some(Turn::Left(Span::ZERO)));
        }
        let place = Place { ticket, since: now, wait_max, is_overflow: ask.id.is_overflow() };
        let timer = if queue.is_empty() { Some(wait) } else { place.patience_left(now) };
        let follows = queue.last().is_some_and(|(last, demand, last_departure)| {
            last.limit == ask.limit && (!is_queue || end_in_leaky(last_departure, demand) == departure)
        });
        let waiter = Waiter { limit: ask.limit, waker: waker.clone() };
        queue.push(ticket, departure, ask.demand, follows, waiter);
        Ok(Some(Turn::Waits(place, timer)))
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
        let ask = &place.ask(ask);
        let (mut wakers, mut shard) = (Wakers::default(), self.shard(ask.id));
        let when = now();
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
        let Some(queue) = queues.get_mut(&Bucket(ask.id)) else { return Ok(Turn::Left(waited)) };
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
                    // Whoever is not first has a timer only for its patience: those before it may never look again.
                    let timer =
                        if mine.is_head { Some(to_go.min(patience)) } else { place.patience_left(now) };
                    Ok(Turn::Waits(place, timer))
                }
            }
        };
        if turn.is_err() {
            self.give_up(queue, store, ask, place.ticket, when, &mut wakers);
        }
        end_if_empty(queues, store, ask.id);
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
        let ask = &place.ask(ask);
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
        let Shard { queues, unnoticed, .. } = shard;
        let queue = begin(queues, store, ask.id);
        wakers.leave_out(place.ticket);
        self.note_left(serve(queue, store, ask.id, when, unnoticed, wakers));
        match unnoticed.remove(&place.ticket) {
            Some(departure) if !mutant::is("no give back") => {
                give_back(queue, store, ask, departure, when);
                wakers.wake_head(queue);
            }
            Some(_) => {}
            None => self.give_up(queue, store, ask, place.ticket, when, wakers),
        }
        end_if_empty(queues, store, ask.id);
    }

    /// Someone leaves the queue before its time has come, and everything is given back: unless others who do not wait here, or by
    /// another meter, count on what it booked. Then nobody moves.
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
        let Some((_, demand, departure)) = queue.last() else { return };
        if queue.find(ticket).is_none() {
            return;
        }
        let may_move = !mutant::is("no give back")
            && queue.is_of_tail(ticket)
            && store.give_booking(ask, end_in_leaky(departure, demand), when);
        let Some(waiter) = queue.cancel(ticket, may_move) else { return };
        self.note_left(1);
        wakers.drop_later(waiter.waker);
        if was_head && !mutant::is("no wake on cancel") {
            wakers.wake_head(queue);
        }
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

    pub(super) fn shard(&self, id: BucketId) -> MutexGuard<'_, Shard> {
        lock(&self.shards[(id.fingerprint >> 8) as usize % SHARDS])
    }
}

/// The queue of a bucket, which begins if there is none. To be followed by [`end_if_empty`].
fn begin<'q, M: MeterSource>(
    queues: &'q mut Waiting,
    store: &Store<M>,
    id: BucketId,
) -> &'q mut Queue<Waiter> {
    queues.entry(Bucket(id)).or_insert_with(|| {
        store.awaited.begin(id);
        Queue::default()
    })
}

/// The queue of a bucket ends if nobody waits there any more.
fn end_if_empty<M: MeterSource>(queues: &mut Waiting, store: &Store<M>, id: BucketId) {
    if queues.get(&Bucket(id)).is_some_and(Queue::is_empty) {
        queues.remove(&Bucket(id));
        store.awaited.end(id);
    }
}

/// Where a leaky bucket stood when the one with this departure had booked.
pub(super) fn end_in_leaky(departure: Mark, demand: Demand) -> Mark {
    Mark::from_word(departure.word().wrapping_add(demand.cost.as_micros()))
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
