//! A bounded map whose entries are gone after their time: in shards, locked for a moment, swept in passing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::PoisonError;

use tollgate_core::Moment;

use crate::memory::slot::mutant;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, SHARDS};

/// Expired entries removed in passing by every insertion: more than one, so that they go faster than they come.
const SWEPT_MAX: usize = 2;
/// So many stale lines of a shard's schedule are not worth a clean-up.
const STALE_MAX: usize = 64;

/// At most `max` entries, each until its own moment.
#[derive(Debug)]
pub(crate) struct Expiring<K, V> {
    shards: Box<[Mutex<Shard<K, V>>]>,
    hasher: RandomState,
    len: AtomicUsize,
    max: usize,
}

#[derive(Debug)]
struct Shard<K, V> {
    entries: HashMap<K, (V, Moment)>,
    /// When entries expire; those that were taken before may still be in it.
    schedule: BinaryHeap<Reverse<(Moment, K)>>,
}

/// No room: as many entries as there may be are alive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// An entry that was taken out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken<V> {
    Alive(V),
    /// It was still there, but its time was over.
    Expired,
}

/// Room for one entry, to be filled or given back.
pub(crate) struct Claim<'m, K: Copy + Eq + Hash + Ord, V> {
    map: &'m Expiring<K, V>,
    key: K,
    filled: bool,
}

/// One key's place in the map, locked.
pub(crate) struct Place<'m, K, V> {
    map: &'m Expiring<K, V>,
    shard: MutexGuard<'m, Shard<K, V>>,
    key: K,
}

impl<K: Copy + Eq + Hash + Ord, V> Expiring<K, V> {
    pub(crate) fn new(max: usize) -> Self {
        let shard = || Mutex::new(Shard { entries: HashMap::new(), schedule: BinaryHeap::new() });
        let shards = (0..SHARDS).map(|_| shard()).collect();
        Self { shards, hasher: RandomState::new(), len: AtomicUsize::new(0), max }
    }

    /// How many entries there are, expired ones that nobody has swept yet included.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// How many entries there may be.
    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Room for an entry under a key that nobody else uses, without locking anything until it is filled.
    pub(crate) fn claim(&self, key: K, now: Moment) -> Result<Claim<'_, K, V>, Full> {
        self.place(key).make_room(now)?;
        Ok(Claim { map: self, key, filled: false })
    }

    /// Removes all entries whose time is over, wherever nobody is at work.
    fn sweep_others(&self, now: Moment) {
        for shard in &self.shards {
            if let Ok(mut shard) = shard.try_lock() {
                self.note_gone(shard.sweep(now, usize::MAX));
            }
        }
    }

    fn note_gone(&self, entries: usize) {
        self.len.fetch_sub(entries, Ordering::Relaxed);
    }

    /// Takes the entry of a key out, unless `check` says no to it while it is alive: whoever gets it is the only one.
    pub(crate) fn take_if<E>(
        &self,
        key: K,
        now: Moment,
        check: impl FnOnce(&V) -> Result<(), E>,
    ) -> Result<Option<Taken<V>>, E>
    where
        V: Clone,
    {
        let place = self.place(key);
        if let Some(entry) = place.get(now) {
            check(entry)?;
            if mutant::is("look, then take") {
                let seen = entry.clone();
                drop(place);
                self.place(key).take(now);
                return Ok(Some(Taken::Alive(seen)));
            }
        }
        Ok(place.take(now))
    }

    /// Locks the place of a key. Nothing else in its shard can change meanwhile.
    pub(crate) fn place(&self, key: K) -> Place<'_, K, V> {
        let number = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0);
        let shard = self.shards[number].lock().unwrap_or_else(PoisonError::into_inner);
        Place { map: self, shard, key }
    }
}

impl<K: Copy + Eq + Hash + Ord, V> Shard<K, V> {
    /// Removes entries whose time is over, of the `most` that are due. How many those were.
    fn sweep(&mut self, now: Moment, most: usize) -> usize {
        let mut gone = 0;
        for _ in 0..most {
            let Some(Reverse((expires, key))) = self.schedule.peek().copied() else { break };
            if expires > now {
                break;
            }
            self.schedule.pop();
            if self.entries.get(&key).is_some_and(|(_, until)| *until == expires) {
                self.entries.remove(&key);
                gone += 1;
            }
        }
        gone
    }
}

impl<K: Copy + Eq + Hash + Ord, V> Place<'_, K, V> {
    /// The entry, if it is alive at `now`.
    pub(crate) fn get(&self, now: Moment) -> Option<&V> {
        self.shard.entries.get(&self.key).filter(|(_, expires)| *expires > now).map(|(value, _)| value)
    }

    /// Puts an entry here, in place of the one that may be here, until `expires`.
    pub(crate) fn insert(mut self, value: V, expires: Moment, now: Moment) -> Result<(), Full> {
        if !self.shard.entries.contains_key(&self.key) {
            self.make_room(now)?;
        }
        self.put(value, expires);
        Ok(())
    }

    /// Counts one more entry, if there may be one.
    fn make_room(&mut self, now: Moment) -> Result<(), Full> {
        self.map.note_gone(self.shard.sweep(now, SWEPT_MAX));
        if self.map.len() >= self.map.max {
            self.map.note_gone(self.shard.sweep(now, usize::MAX));
            self.map.sweep_others(now);
        }
        if self.map.len.fetch_add(1, Ordering::Relaxed) >= self.map.max {
            self.map.len.fetch_sub(1, Ordering::Relaxed);
            return Err(Full);
        }
        Ok(())
    }

    /// Puts an entry here that has been counted.
    fn put(&mut self, value: V, expires: Moment) {
        self.shard.entries.insert(self.key, (value, expires));
        self.shard.schedule.push(Reverse((expires, self.key)));
        self.tidy();
    }

    /// Takes the entry out; `None` if there is none.
    pub(crate) fn take(mut self, now: Moment) -> Option<Taken<V>> {
        let (value, expires) = self.shard.entries.remove(&self.key)?;
        self.map.len.fetch_sub(1, Ordering::Relaxed);
        self.tidy();
        Some(if expires > now { Taken::Alive(value) } else { Taken::Expired })
    }

    /// Drops stale lines of the schedule when they are most of it, so that it does not outgrow the entries.
    fn tidy(&mut self) {
        let Shard { entries, schedule } = &mut *self.shard;
        if schedule.len() > 2 * entries.len() + STALE_MAX {
            *schedule = entries.iter().map(|(key, (_, expires))| Reverse((*expires, *key))).collect();
        }
    }
}

impl<K: Copy + Eq + Hash + Ord, V> Claim<'_, K, V> {
    /// Puts the entry where it belongs, until `expires`.
    pub(crate) fn fill(mut self, value: V, expires: Moment) {
        self.filled = true;
        self.map.place(self.key).put(value, expires);
    }
}

impl<K: Copy + Eq + Hash + Ord, V> Drop for Claim<'_, K, V> {
    fn drop(&mut self) {
        if !self.filled {
            self.map.len.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Moment {
        Moment::from_nanos(nanos)
    }

    #[test]
    fn an_entry_is_there_until_its_moment_and_not_at_it() {
        let map = Expiring::new(10);
        map.place(1).insert("a", at(5), at(0)).unwrap();
        assert_eq!(map.place(1).get(at(4)), Some(&"a"));
        assert_eq!(map.place(1).get(at(5)), None);
        assert_eq!(map.place(1).take(at(5)), Some(Taken::Expired));
        assert_eq!(map.place(1).take(at(5)), None);
    }

    #[test]
    fn no_more_than_the_maximum_are_alive_and_expired_ones_make_room() {
        let map = Expiring::new(100);
        for key in 0..100 {
            map.place(key).insert((), at(10), at(0)).unwrap();
        }
        assert_eq!(map.place(100).insert((), at(20), at(9)), Err(Full));
        assert_eq!(map.place(7).take(at(9)), Some(Taken::Alive(())));
        assert_eq!(map.place(100).insert((), at(20), at(9)), Ok(()));
        // All others are over.
        let inserted = (200..400).filter(|key| map.place(*key).insert((), at(30), at(10)).is_ok()).count();
        assert_eq!((inserted, map.len()), (99, 100));
    }

    #[test]
    fn the_schedule_does_not_outgrow_the_entries() {
        let map = Expiring::new(1_000_000);
        for key in 0..100_000_u64 {
            map.place(key).insert((), at(u64::MAX), at(0)).unwrap();
            map.place(key).take(at(0)).unwrap();
        }
        let scheduled: usize = map.shards.iter().map(|shard| shard.lock().unwrap().schedule.len()).sum();
        assert!(scheduled <= SHARDS * (STALE_MAX + 2), "{scheduled}");
        assert_eq!(map.len(), 0);
    }

    #[test]
    fn a_key_that_came_back_is_not_swept_by_its_former_moment() {
        let map = Expiring::new(10);
        map.place(1).insert("a", at(5), at(0)).unwrap();
        map.place(1).take(at(1));
        map.place(1).insert("b", at(50), at(1)).unwrap();
        map.place(1).insert("c", at(60), at(10)).unwrap();
        assert_eq!(map.place(1).get(at(55)), Some(&"c"));
        assert_eq!(map.len(), 1);
    }
}
