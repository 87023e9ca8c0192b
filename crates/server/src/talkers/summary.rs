//! Who is counted most often, in bounded memory: a space-saving summary. Pure: no clock, no lock.
//!
//! A newcomer to a full summary takes the place of the one with the smallest count, and begins with that count. So
//!
//! * no count is too small: of whoever is in, `count - over <= truth <= count`; of all others, `truth <= floor`;
//! * `over` and `floor` are at most all that was noted, divided by the places;
//! * whoever was noted more often than that is in.

use super::room::Room;

/// Most clients that one summary counts.
pub(super) const PLACES_MAX: usize = 64;

/// Clients and how often each was noted.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// What clients are known by. In lists of their own: a check looks at all of these and at one count, a newcomer at all counts.
    hashes: Vec<u64>,
    counts: Vec<u64>,
    /// The key of each, and by how much its count may be too much.
    keys: Vec<(Vec<u8>, u64)>,
    /// The largest count that had to make room.
    floor: u64,
}

/// One client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    /// The key of its bucket.
    pub(super) key: Vec<u8>,
    /// How often it was noted, at most.
    pub(super) count: u64,
    /// By how much that may be too much.
    pub(super) over: u64,
}

impl Summary {
    /// Notes a client once. Whoever is in allocates nothing.
    #[inline]
    pub(super) fn note(&mut self, hash: u64, key: &[u8], room: &Room) {
        match self.place_of(hash).and_then(|at| self.counts.get_mut(at)) {
            Some(count) => *count += 1,
            None => self.note_newcomer(hash, key, room),
        }
    }

    /// Where there is no room in the whole program, those who are in make room; if nobody is, it is not counted.
    #[cold]
    fn note_newcomer(&mut self, hash: u64, key: &[u8], room: &Room) {
        if self.hashes.len() < PLACES_MAX && room.take() {
            self.hashes.push(hash);
            self.counts.push(self.floor + 1);
            self.keys.push((key.to_vec(), self.floor));
            return;
        }
        let least = (0..self.counts.len()).min_by_key(|at| self.counts.get(*at));
        let Some(at) = least else {
            self.floor += 1;
            return;
        };
        let (count, (its_key, over)) = (&mut self.counts[at], &mut self.keys[at]);
        self.hashes[at] = hash;
        its_key.clear();
        its_key.extend_from_slice(key);
        (*over, self.floor) = (*count, self.floor.max(*count));
        *count += 1;
    }

    /// Eight at a time, without a branch for each.
    #[inline]
    fn place_of(&self, hash: u64) -> Option<usize> {
        let is_there =
            |eight: &[u64]| eight.iter().fold(0, |found, known| found | u8::from(*known == hash)) != 0;
        let eight = self.hashes.chunks(8).position(is_there)?;
        let begin = 8 * eight;
        Some(begin + self.hashes[begin..].iter().position(|known| *known == hash)?)
    }

    /// All who are in, in no order.
    pub(super) fn counted(&self) -> Vec<Counted> {
        let counted = self.counts.iter().zip(&self.keys);
        counted.map(|(count, (key, over))| Counted { key: key.clone(), count: *count, over: *over }).collect()
    }

    /// How often whoever is not in may have been noted.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// Forgets everybody.
    pub(super) fn clear(&mut self, room: &Room) {
        room.give_back(self.hashes.len());
        self.floor = 0;
        self.hashes.clear();
        self.counts.clear();
        self.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use fastrand::Rng;

    use super::*;

    fn note(summary: &mut Summary, client: u64, room: &Room) {
        // The number itself is as good a hash as any.
        summary.note(client, &client.to_be_bytes(), room);
    }

    /// Against an exact count, for many shapes of traffic.
    #[test]
    fn counts_are_never_too_small_nor_too_large_by_more_than_is_said_and_bounded() {
        for seed in 0..200 {
            let mut rng = Rng::with_seed(seed);
            let (mut summary, room, mut exact) =
                (Summary::default(), Room::of(usize::MAX), HashMap::<u64, u64>::new());
            let (clients, skew) = (rng.u64(1..2_000), rng.u32(0..4));
            let noted = rng.u64(1..5_000);
            for _ in 0..noted {
                // The more skewed, the more often the first ones.
                let client = (0..skew).fold(rng.u64(..clients), |most, _| most.min(rng.u64(..clients)));
                note(&mut summary, client, &room);
                *exact.entry(client).or_default() += 1;
            }
            assert_eq!(summary.counted().iter().map(|counted| counted.count).sum::<u64>(), noted);
            let bound = noted / PLACES_MAX as u64;
            for Counted { key, count, over } in summary.counted() {
                let truth = exact[&u64::from_be_bytes(key[..].try_into().unwrap())];
                assert!(count - over <= truth && truth <= count, "seed {seed}: {count} less {over}, {truth}");
                assert!(over <= bound, "seed {seed}: {over} of {noted}");
            }
            let is_in = |client: &u64| summary.counted().iter().any(|it| it.key == client.to_be_bytes());
            let floor = summary.floor();
            assert!(floor <= bound, "seed {seed}: {floor} of {noted}");
            assert!(exact.iter().all(|(client, truth)| *truth <= floor || is_in(client)), "seed {seed}");
            assert!(summary.counted().len() <= PLACES_MAX);
        }
    }

    #[test]
    fn while_all_have_a_place_counts_are_exact() {
        let (mut summary, room) = (Summary::default(), Room::of(PLACES_MAX));
        for client in 0..PLACES_MAX as u64 {
            (0..=client).for_each(|_| note(&mut summary, client, &room));
        }
        let mut counts: Vec<u64> = summary.counted().iter().map(|it| it.count).collect();
        counts.sort_unstable();
        assert_eq!(counts, (1..=PLACES_MAX as u64).collect::<Vec<_>>());
        assert!(summary.counted().iter().all(|it| it.over == 0));
    }

    #[test]
    fn whoever_finds_no_room_in_the_program_takes_a_place_in_the_summary_or_none() {
        let (mut full, mut empty, room) = (Summary::default(), Summary::default(), Room::of(2));
        (0..9).for_each(|client| note(&mut full, client, &room));
        note(&mut empty, 1, &room);
        assert_eq!((full.counted().len(), empty.counted().len()), (2, 0));
        assert_eq!(full.counted().iter().map(|it| it.count).sum::<u64>(), 9);
        full.clear(&room);
        note(&mut empty, 1, &room);
        let expected = Counted { key: 1_u64.to_be_bytes().to_vec(), count: 2, over: 1 };
        assert_eq!(empty.counted(), [expected], "one was not counted, whoever it was");
    }
}
