//! The talkers of one rule, in as many shards as threads may note at the same time: each thread has one, which it shares with few.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};

use tollgate::Moment;

use super::room::Room;
use super::summary::Counted;
use super::window::Window;
use super::{Figure, Measure, Noting};

/// Most shards of one rule.
const SHARDS_MAX: usize = 16;

/// The talkers of one rule.
#[derive(Debug)]
pub(super) struct OfRule {
    pub(super) rule: Box<str>,
    /// Of a rule that nobody has met, none.
    shards: OnceLock<Box<[Shard]>>,
    /// Of the whole program.
    room: Arc<Room>,
}

/// On a line of its own: threads do not take it from each other.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(Mutex<Window>);

impl OfRule {
    pub(super) fn new(rule: &str, room: &Arc<Room>) -> OfRule {
        OfRule { rule: rule.into(), shards: OnceLock::new(), room: Arc::clone(room) }
    }

    /// Notes a client once. Waits for nobody: if another thread has the shard just now, it is counted as missed.
    #[inline]
    pub(super) fn note(&self, measure: Measure, key: &[u8], noting: &Noting<'_>) {
        let shards = self.shards.get_or_init(make_shards);
        let Some(Shard(shard)) = shards.get(thread_number() % shards.len()) else { return };
        let mut window = match shard.try_lock() {
            Ok(window) => window,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                noting.missed.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        window.note(measure, noting.hash_of(key), key, noting.now, &self.room);
    }

    /// What all shards know of each client, by its key.
    pub(super) fn figures(&self, measure: Measure, now: Moment) -> HashMap<Vec<u8>, Figure> {
        // Whoever is not in a summary may have been noted there as often as its floor.
        let (mut all, mut floors) = (HashMap::<Vec<u8>, Figure>::new(), 0);
        for Shard(shard) in self.shards.get().into_iter().flatten() {
            let mut window = shard.lock().unwrap_or_else(PoisonError::into_inner);
            window.each(measure, now, &self.room, |clients, floor| {
                for Counted { key, count, over } in clients {
                    let figure = all.entry(key).or_default();
                    figure.at_least += count - over;
                    figure.at_most += count.saturating_sub(floor);
                }
                floors += floor;
            });
        }
        for figure in all.values_mut() {
            figure.at_most += floors;
        }
        all
    }
}

/// Gives back its room, when the last who might have noted somebody is done with it.
impl Drop for OfRule {
    fn drop(&mut self) {
        for Shard(shard) in self.shards.get_mut().into_iter().flatten() {
            shard.get_mut().unwrap_or_else(PoisonError::into_inner).clear(&self.room);
        }
    }
}

fn make_shards() -> Box<[Shard]> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    (0..threads.min(SHARDS_MAX)).map(|_| Shard::default()).collect()
}

/// A number for this thread, one after the other as they come.
#[inline]
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    OWN.with(|own| {
        own.get().unwrap_or_else(|| {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            own.set(Some(number));
            number
        })
    })
}
