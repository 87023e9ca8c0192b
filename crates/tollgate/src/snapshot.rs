//! A table on paper: what is written when a limiter stops, so that its restart is no free burst.
//!
//! Pure: bytes in, a [`Snapshot`] out, or a reason why not; no input makes it panic or take more memory than its length
//! allows. It does not know files (see `snapshot_file.rs`) nor how to put the buckets back (see `revival.rs`).

mod explicit;
mod writer;

use std::fmt;
use std::io::{self, Write};

use siphasher::sip::SipHasher13;
use tollgate_core::{Mark, Moment, Ruler};

use crate::Breadth;
use crate::identity::{BucketId, Seed};
use crate::memory::LimitId;
use crate::memory::slot::Tag;

pub(crate) use self::explicit::{SavedBucket, SavedCrowd, SavedExplicit};
use self::writer::Writer;

/// The first bytes of every snapshot; the digit is the version of the format.
const MAGIC: &[u8; 16] = b"tollgate table 4";
/// The same, with marked windows but not which marks they bear. Still read.
const MAGIC_BEFORE: &[u8; 16] = b"tollgate table 3";
/// The same without buckets whose limits come with the call. Still read.
const MAGIC_WITHOUT_EXPLICIT: &[u8; 16] = b"tollgate table 2";

/// Everything that a limiter must remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) seed: Seed,
    pub(crate) keys_max: u64,
    /// How many windows that is: a slot is found again only in a table of the same shape.
    pub(crate) windows: u64,
    /// When it was taken, by the wall clock (nanoseconds since 1970) and by the limiter's own.
    pub(crate) wall_nanos: u64,
    pub(crate) taken_at: Moment,
    pub(crate) tiers: Vec<SavedTier>,
    pub(crate) slots: Vec<SavedSlot>,
    /// Windows from which clients were evicted or turned away, and their marks as [`crate::memory::gates::Gates`] keeps them.
    pub(crate) marked_windows: Vec<(u32, u8)>,
    pub(crate) logs: Vec<SavedLog>,
    /// The buckets whose limits come with the call, if there are any.
    pub(crate) explicit: Option<SavedExplicit>,
}

/// One limit of one rule; the rule's own has the empty name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedTier {
    pub(crate) rule: String,
    pub(crate) breadth: Breadth,
    pub(crate) name: String,
    pub(crate) limit: LimitId,
    pub(crate) ruler: Ruler,
    pub(crate) overflow: Mark,
}

/// One bucket that was not full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SavedSlot {
    pub(crate) index: u64,
    pub(crate) tag: Tag,
    pub(crate) mark: Mark,
}

/// One sliding log that was not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedLog {
    pub(crate) id: BucketId,
    pub(crate) limit: LimitId,
    /// When, by the limiter's clock, and how many micro-tokens; oldest first.
    pub(crate) charges: Vec<(Moment, u64)>,
}

/// Why bytes are no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotFault {
    /// Not written by this program, or by a version that writes another format.
    NotASnapshot,
    /// Shorter than it says, or changed after it was written.
    Damaged,
    /// The parts contradict one another.
    Inconsistent,
}

impl fmt::Display for SnapshotFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotASnapshot => "is not a snapshot of this version",
            Self::Damaged => "is cut short or was changed after it was written",
            Self::Inconsistent => "contradicts itself",
        })
    }
}

impl Snapshot {
    /// Writes the bytes to keep, piece by piece.
    pub(crate) fn write_to(&self, sink: &mut dyn Write) -> io::Result<()> {
        let mut out = Writer::begin(MAGIC, sink);
        let [k0, k1] = self.seed.0;
        out.words(&[k0, k1, self.keys_max, self.wall_nanos, self.taken_at.as_nanos(), self.windows]);
        out.count(self.tiers.len());
        for tier in &self.tiers {
            out.text(&tier.rule);
            out.text(&tier.name);
            out.words(&[tier.breadth as u64, u64::from(tier.limit.get()), tier.overflow.word()]);
            out.words(&tier.ruler.words());
        }
        out.count(self.slots.len());
        for slot in &self.slots {
            out.words(&[slot.index, slot.tag.word(), slot.mark.word()]);
        }
        out.count(self.marked_windows.len());
        for (window, marks) in &self.marked_windows {
            out.words(&[u64::from(*marks) << 32 | u64::from(*window)]);
        }
        out.count(self.logs.len());
        for log in &self.logs {
            let [first, second] = log.id.windows.map(u64::from);
            out.words(&[log.id.fingerprint, first, second, u64::from(log.limit.get())]);
            out.count(log.charges.len());
            for (at, micros) in &log.charges {
                out.words(&[at.as_nanos(), *micros]);
            }
        }
        out.explicit(self.explicit.as_ref());
        out.end()
    }

    /// How many bytes tell whether anything is a snapshot.
    pub(crate) const FIRST_BYTES: usize = MAGIC.len();

    /// Whether bytes begin like what [`Snapshot::write_to`] writes, now or in the version before.
    pub(crate) fn begins(bytes: &[u8]) -> Result<(), SnapshotFault> {
        let is_known =
            [MAGIC, MAGIC_BEFORE, MAGIC_WITHOUT_EXPLICIT].iter().any(|magic| bytes.starts_with(*magic));
        if is_known { Ok(()) } else { Err(SnapshotFault::NotASnapshot) }
    }

    /// Reads what [`Snapshot::write_to`] wrote, now or in the version before.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Snapshot, SnapshotFault> {
        Snapshot::begins(bytes)?;
        let (magic, content) = bytes.split_at_checked(MAGIC.len()).ok_or(SnapshotFault::NotASnapshot)?;
        let has_explicit = magic != MAGIC_WITHOUT_EXPLICIT;
        let (content, sum) = content.split_last_chunk().ok_or(SnapshotFault::Damaged)?;
        if checksum(&bytes[..MAGIC.len() + content.len()]) != u64::from_le_bytes(*sum) {
            return Err(SnapshotFault::Damaged);
        }
        // From here on nothing was damaged by accident; but anyone can compute a checksum.
        Reader(content).snapshot(has_explicit).ok_or(SnapshotFault::Inconsistent)
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    SipHasher13::new().hash(bytes)
}

/// What is left to read. Each method takes its part off the front; `None` if it is not there.
struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn snapshot(mut self, has_explicit: bool) -> Option<Snapshot> {
        let [seed0, seed1, keys_max, wall_nanos, taken_at, windows] = self.words()?;
        let mut snapshot = Snapshot {
            seed: Seed([seed0, seed1]),
            keys_max,
            windows,
            wall_nanos,
            taken_at: Moment::from_nanos(taken_at),
            tiers: self.list(Self::tier)?,
            slots: self.list(Self::slot)?,
            marked_windows: self.list(Self::marked_window)?,
            logs: self.list(Self::log)?,
            explicit: None,
        };
        if has_explicit {
            let mut none_or_one = self.list(Self::saved_explicit)?;
            snapshot.explicit = none_or_one.pop();
            none_or_one.is_empty().then_some(())?;
        }
        self.0.is_empty().then_some(snapshot)
    }

    fn tier(&mut self) -> Option<SavedTier> {
        let (rule, name) = (self.text()?, self.text()?);
        let [breadth, limit, overflow] = self.words()?;
        let breadth = [Breadth::Client, Breadth::Group, Breadth::Everyone]
            .into_iter()
            .find(|known| *known as u64 == breadth)?;
        let limit = LimitId::new(u16::try_from(limit).ok()?)?;
        let ruler = Ruler::try_from_words(self.words()?)?;
        Some(SavedTier { rule, breadth, name, limit, ruler, overflow: Mark::from_word(overflow) })
    }

    fn slot(&mut self) -> Option<SavedSlot> {
        let [index, tag, mark] = self.words()?;
        Some(SavedSlot { index, tag: Tag::from_word(tag), mark: Mark::from_word(mark) })
    }

    /// A window and its marks. Versions before this one wrote no marks: the window may bear each of them.
    #[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are the window")]
    fn marked_window(&mut self) -> Option<(u32, u8)> {
        let word = self.word()?;
        let marks = u8::try_from(word >> 32).ok()?;
        Some((word as u32, if marks == 0 { u8::MAX } else { marks }))
    }

    fn log(&mut self) -> Option<SavedLog> {
        let [fingerprint, first, second, limit] = self.words()?;
        let windows = [u32::try_from(first).ok()?, u32::try_from(second).ok()?];
        let limit = LimitId::new(u16::try_from(limit).ok()?)?;
        let charges =
            self.list(|reader| reader.words().map(|[at, micros]| (Moment::from_nanos(at), micros)))?;
        Some(SavedLog { id: BucketId { fingerprint, windows }, limit, charges })
    }

    /// As many as the next word says. Grows with what is really there, not with what the word claims.
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.word()?).map(|_| read(self)).collect()
    }

    fn text(&mut self) -> Option<String> {
        let len = usize::try_from(self.word()?).ok()?;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn words<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut words = [0; N];
        for word in &mut words {
            *word = self.word()?;
        }
        Some(words)
    }

    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::explicit::slot::Tag as ExplicitTag;
    use tollgate_core::{Algorithm, Burst, Limit, Rate, StampedBalance, Start};

    impl Snapshot {
        fn encode(&self) -> Vec<u8> {
            let mut bytes = Vec::new();
            self.write_to(&mut bytes).unwrap();
            bytes
        }
    }

    fn example() -> Snapshot {
        let limit = Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap();
        let tier = |name: &str, number| SavedTier {
            rule: "api".into(),
            breadth: Breadth::Client,
            name: name.into(),
            limit: LimitId::new(number).unwrap(),
            ruler: Ruler::new(
                Algorithm::TokenBucket(limit),
                Start { now: Moment::from_nanos(7), offset: 99, origin: 0 },
            ),
            overflow: Mark::from_word(3),
        };
        Snapshot {
            seed: Seed([1, 2]),
            keys_max: 100,
            windows: 20,
            wall_nanos: 5,
            taken_at: Moment::from_nanos(8),
            tiers: vec![tier("", 1), tier("pro", 2)],
            slots: vec![SavedSlot { index: 4, tag: Tag::from_word(0x1_0001), mark: Mark::from_word(6) }],
            marked_windows: vec![(3, 2)],
            logs: vec![SavedLog {
                id: BucketId { fingerprint: 9, windows: [1, 2] },
                limit: LimitId::new(2).unwrap(),
                charges: vec![(Moment::from_nanos(4), 5), (Moment::from_nanos(6), 7)],
            }],
            explicit: Some(SavedExplicit {
                keys_max: 50,
                windows: 9,
                buckets: vec![SavedBucket {
                    index: 11,
                    tag: ExplicitTag::of_hash(12),
                    balance: StampedBalance { micros: -13, stamp: Moment::from_nanos(14) },
                    full_at: Moment::from_nanos(15),
                }],
                crowds: vec![SavedCrowd {
                    window: 1,
                    full_at: Moment::from_nanos(16),
                    evicted_at: Moment::from_nanos(17),
                }],
            }),
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let without = Snapshot { explicit: None, ..example() };
        for snapshot in [example(), without] {
            assert_eq!(Snapshot::decode(&snapshot.encode()), Ok(snapshot));
        }
    }

    #[test]
    fn windows_without_marks_may_bear_each() {
        let snapshot = Snapshot { marked_windows: vec![(3, 0)], ..example() };
        let content = &snapshot.encode()[MAGIC.len()..];
        let content = &content[..content.len() - 8];
        let mut before = Vec::new();
        Writer::begin(&[&MAGIC_BEFORE[..], content].concat(), &mut before).end().unwrap();
        let read = Snapshot::decode(&before).unwrap();
        assert_eq!(read.marked_windows, [(3, u8::MAX)]);
    }

    #[test]
    fn the_version_before_is_read() {
        let snapshot = Snapshot { explicit: None, ..example() };
        let bytes = snapshot.encode();
        // All but the word that says that there is no explicit part, and the checksum.
        let content = &bytes[MAGIC.len()..bytes.len() - 16];
        let mut before = Vec::new();
        Writer::begin(&[&MAGIC_WITHOUT_EXPLICIT[..], content].concat(), &mut before).end().unwrap();
        assert_eq!(Snapshot::decode(&before), Ok(snapshot));
    }

    #[test]
    fn a_bucket_that_no_table_holds_is_refused() {
        let changed = |change: &dyn Fn(&mut SavedBucket)| {
            let mut snapshot = example();
            snapshot.explicit.iter_mut().flat_map(|explicit| &mut explicit.buckets).for_each(change);
            Snapshot::decode(&snapshot.encode())
        };
        assert!(changed(&|_| ()).is_ok());
        for micros in [i64::MAX, i64::MIN, 1_000_000_000_000_000_001] {
            let refused = changed(&|bucket| bucket.balance.micros = micros);
            assert_eq!(refused, Err(SnapshotFault::Inconsistent), "{micros}");
        }
    }

    #[test]
    fn a_snapshot_of_many_pieces_is_whole_and_one_that_cannot_be_written_says_so() {
        let slot = |index| SavedSlot { index, tag: Tag::from_word(index), mark: Mark::from_word(!index) };
        let snapshot = Snapshot { slots: (0..10_000).map(slot).collect(), ..example() };
        let bytes = snapshot.encode();
        assert!(bytes.len() > 3 * writer::PIECE_BYTES);
        assert_eq!(Snapshot::decode(&bytes), Ok(snapshot.clone()));
        for room in [0, 1, writer::PIECE_BYTES, bytes.len() - 1] {
            let mut small = vec![0; room];
            assert!(snapshot.write_to(&mut small.as_mut_slice()).is_err(), "{room} bytes");
        }
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_noticed() {
        let bytes = example().encode();
        for len in 0..bytes.len() {
            assert!(Snapshot::decode(&bytes[..len]).is_err(), "cut at {len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Snapshot::decode(&changed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_count_that_lies_takes_no_memory() {
        let mut bytes = Vec::new();
        let mut out = Writer::begin(MAGIC, &mut bytes);
        out.words(&[1, 2, 3, 4, 5, 6, u64::MAX]);
        out.end().unwrap();
        assert_eq!(Snapshot::decode(&bytes), Err(SnapshotFault::Inconsistent));
    }
}
