//! A small world for the proofs about waiting: one bucket, spent, and threads that come for a token of it.
//!
//! The clock is one word that all share. Whoever has a timer moves it to where the timer fires; whoever has none parks until
//! it is woken, for ever if nobody does: loom calls that a deadlock.

use std::sync::Arc;
use std::task::{Wake, Waker};

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread::{Thread, current, park};
use tollgate_core::{Moment, Span};

use super::limits::Limits;
use super::{Letter, TICK_NANOS, World, ask, at};
use crate::AcquireError;
use crate::memory::meters::MeterSource;
use crate::memory::store::{Ask, Store, When};
use crate::memory::wish::Wish;
use crate::waiting::{Place, Queues, Terms, Turn};

const KEY: Letter = ('k', 0);
/// The bucket is spent at this tick.
const START: u64 = 10;

/// One bucket and its queue.
pub struct Room {
    store: Store<Limits>,
    queues: Queues,
    nanos: AtomicU64,
}

struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Room {
    /// A room in which nobody waits yet.
    pub fn new() -> Room {
        let world = World::new(1, crate::TableFull::DenyNew);
        world.put(KEY, 0, START);
        Room { store: world.store, queues: Queues::new(), nanos: AtomicU64::new(START * TICK_NANOS) }
    }

    /// Comes for a token and waits for it: 1, once it has left.
    pub fn wait(&self) -> u64 {
        let waker = Waker::from(Arc::new(Parked(current())));
        let mut turn = self.join(&waker);
        loop {
            match turn {
                Ok(Turn::Left(_)) => return 1,
                Err(error) => panic!("{error}"),
                Ok(Turn::Waits(place, timer)) => {
                    match timer {
                        Some(wait) => {
                            self.nanos.fetch_max((self.now() + wait).as_nanos(), Ordering::SeqCst);
                        }
                        None => park(),
                    }
                    turn = self.queues.look(&self.store, &self.ask(), place, || self.when(), &waker);
                }
            }
        }
    }

    /// Comes for a token and gives up at once: 1 if it got one all the same.
    pub fn give_up(&self) -> u64 {
        match self.join(Waker::noop()) {
            Ok(Turn::Left(_)) => 1,
            Ok(Turn::Waits(place, _)) => self.cancel(place),
            Err(error) => panic!("{error}"),
        }
    }

    /// Asks for a token and does not wait: 1 if it got one.
    pub fn check(&self) -> u64 {
        let wish = Wish::plain(&self.ask()).expect("it leaves nothing alone");
        u64::from(self.store.decide(&wish, self.when()).is_admitted())
    }

    /// Tokens charged since the start, when all is done.
    pub fn spent(&self) -> u64 {
        let (slot, tag) = self.store.table.find(self.ask().id).expect("it is never full");
        let level = self.store.meters.ruler(self.ask().limit).reading(at(START));
        level.balance(slot.mark(tag).expect("nobody holds it")).unsigned_abs() / 1_000_000
    }

    /// Tokens minted since the start.
    pub fn ticks(&self) -> u64 {
        self.now().since(at(START)).as_nanos() / TICK_NANOS
    }

    /// Who still waits.
    pub fn waiters(&self) -> u64 {
        self.queues.waiters()
    }

    fn join(&self, waker: &Waker) -> Result<Turn, AcquireError> {
        let terms = Terms { wait_max: Span::MAX, waiters_max: u32::MAX };
        self.queues.join(&self.store, &self.ask(), terms, || self.when(), waker)
    }

    fn cancel(&self, place: Place) -> u64 {
        self.queues.cancel(&self.store, &self.ask(), place, || self.when());
        0
    }

    fn ask(&self) -> Ask {
        ask(KEY)
    }

    fn now(&self) -> Moment {
        Moment::from_nanos(self.nanos.load(Ordering::SeqCst))
    }

    fn when(&self) -> When<'static> {
        When::Given(self.now())
    }
}

impl Default for Room {
    fn default() -> Room {
        Room::new()
    }
}
