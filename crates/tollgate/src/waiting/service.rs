//! Letting those leave whose time has come, and whom to wake for it.
//!
//! Who leaves late leaves late, but what ran over meanwhile is gone, as it is for any bucket: a stalled program does not
//! let everybody go at once.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use tollgate_core::{Mark, Meter, Moment, Span};

use super::bucket_key::Spread;
use super::queue::{Queue, Ticket};
use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::meters::MeterSource;
use crate::memory::slot::mutant;
use crate::memory::store::{Ask, Store, When};
use crate::sync::MutexGuard;

/// How late a departure may be at the bucket's cost: timers are coarse, and programs busy. What a full bucket would have
/// spilt before that is lost to those who wait, so in every interval of length d at most
/// `burst + rate · (d + LATENESS_MAX)` leaves the queue.
///
/// It leaves when it is let go: by its own look at the queue, or by that of anyone else who waits for the key. Whoever was let go
/// on time and runs late has had its turn when it came, like a thread that is admitted and then stalls: that is not
/// bounded. Nor do checks know of a queue that nobody served: those that come after a stall, before anybody has looked, may
/// be admitted a burst besides.
pub const LATENESS_MAX: Span = Span::from_millis(10);

/// Who waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// The limit that its mark belongs to.
    pub(crate) limit: LimitId,
    pub(crate) waker: Waker,
}

/// At which departure those left who have not looked since.
pub(crate) type Unnoticed = HashMap<Ticket, Mark, BuildHasherDefault<Spread>>;

/// Lets all leave whose time has come by `when`, first come, first served; how many those were. Until they look, their
/// departures are noted in `unnoticed`.
pub(crate) fn serve<M: MeterSource>(
    queue: &mut Queue<Waiter>,
    store: &Store<M>,
    id: BucketId,
    when: When<'_>,
    unnoticed: &mut Unnoticed,
    wakers: &mut Wakers,
) -> u64 {
    let (now, mut left, mut known) = (when.moment(), 0, None);
    while let Some(head) = queue.head() {
        let (ticket, departure, demand) = (head.ticket, head.departure, head.demand);
        let limit = head.waiter.limit;
        // Nearly always they all wait under the same limit.
        let meter = known.filter(|(of, _)| *of == limit).map(|(_, meter)| meter);
        let Some(meter) = meter.or_else(|| store.meters.ruler(limit).meter()) else { break };
        known = Some((limit, meter));
        if meter.lead(departure, now) < 0 {
            break;
        }
        let Some(waiter) = queue.pop() else { break };
        wakers.wake(ticket, waiter.waker);
        unnoticed.insert(ticket, departure);
        left += 1;
        let spilt = meter.spilt(departure, demand, now - LATENESS_MAX);
        if spilt > 0 {
            if queue.is_of_tail(ticket) {
                queue.delay(spilt);
            } else {
                delay_each(queue, store, &meter, spilt, now);
            }
            drain(queue, store, (Ask { id, limit, demand }, departure), spilt, when);
        }
    }
    if left > 0 && !mutant::is("no wake on leaving") {
        wakers.wake_head(queue);
    }
    left
}

/// Moves everybody back by the time in which `meter` mints so much: they do not all wait by one meter.
#[cold]
fn delay_each<M: MeterSource>(
    queue: &mut Queue<Waiter>,
    store: &Store<M>,
    meter: &Meter,
    spilt: u64,
    now: Moment,
) {
    queue.delay_each(|waiter| {
        let own = store.meters.ruler(waiter.limit).meter();
        own.map_or(spilt, |own| own.minted_while(meter, spilt, now))
    });
}

/// Moves the bucket back with those who were: nobody who comes later may leave before the last of them. If nobody is left, the
/// bucket is moved with the one that just left: what that took came out of a full bucket.
fn drain<M: MeterSource>(
    queue: &Queue<Waiter>,
    store: &Store<M>,
    (left, departure): (Ask, Mark),
    spilt: u64,
    when: When<'_>,
) {
    let last =
        queue.last().map(|(last, demand, departure)| (Ask { limit: last.limit, demand, ..left }, departure));
    let (ask, departure) =
        last.unwrap_or_else(|| (left, Mark::from_word(departure.word().wrapping_add(spilt))));
    store.drain_to(&ask, departure, when);
}

/// Wakers to be called, and others to be dropped, once no lock is held.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    called: Vec<Waker>,
    dropped: Option<Waker>,
    /// Whoever is looking needs no waking.
    awake: Option<Ticket>,
}

impl Wakers {
    /// Nobody needs to wake the one with this ticket.
    pub(crate) fn leave_out(&mut self, ticket: Ticket) {
        self.awake = Some(ticket);
    }

    fn wake(&mut self, ticket: Ticket, waker: Waker) {
        if self.awake == Some(ticket) {
            self.drop_later(waker);
        } else {
            self.called.push(waker);
        }
    }

    /// The head has to set its timer.
    pub(crate) fn wake_head(&mut self, queue: &mut Queue<Waiter>) {
        if let Some(head) = queue.head().filter(|head| self.awake != Some(head.ticket)) {
            self.called.push(head.waiter.waker.clone());
        }
    }

    /// Some have to set their timers anew, and to see whether they may still wait.
    pub(crate) fn wake_those(&mut self, queue: &Queue<Waiter>, which: impl Fn(&Waiter) -> bool) {
        let waiters = queue.iter().filter(|waiter| which(waiter));
        self.called.extend(waiters.map(|waiter| waiter.waker.clone()));
    }

    /// Keeps a waker until no lock is held: dropping it may drop a task, and that task may wait here itself.
    pub(crate) fn drop_later(&mut self, waker: Waker) {
        debug_assert!(self.dropped.is_none(), "whoever looks has one waker, and loses it once");
        self.dropped = Some(waker);
    }

    /// Lets go of the lock and wakes.
    pub(crate) fn wake_without<T>(self, lock: MutexGuard<'_, T>) {
        drop(lock);
        self.wake_all();
    }

    /// Wakes; to be called with no lock held. If a waker panics, the others are woken all the same, and then it goes on.
    pub(crate) fn wake_all(self) {
        let mut rest = Rest(self.called.into_iter());
        rest.0.by_ref().for_each(Waker::wake);
    }
}

/// Wakers that are still to be called: nobody sleeps on because somebody else's waker panicked.
struct Rest(std::vec::IntoIter<Waker>);

impl Drop for Rest {
    fn drop(&mut self) {
        for waker in self.0.by_ref() {
            // Only while a panic is on its way; a second one would end the program.
            drop(catch_unwind(AssertUnwindSafe(|| waker.wake())));
        }
    }
}
