//! Many more clients than places: memory stays where it was, and a client that is watched keeps to its limit.

use std::ops::{AddAssign, Range};
use std::sync::Barrier;
use std::thread;

use tollgate::{Burst, CLOCK_ERROR_MAX, Cause, Cost, Limit, Limiter, Rate, Span, Stats, TableFull, Verdict};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::{Lane, Recorder};
use tollgate_sim::seeds::Rng;

use super::resident;

const KEYS_MAX: usize = 1_000_000;
const THREADS: usize = 2;
/// Clients that are checked again and again, and whose history is judged.
const WATCHED: u64 = 64;
/// One check of a watched client after so many of others.
const PACE: u64 = 64;
const RESIDENT_GROWTH_MAX: u64 = 2 * 1024 * 1024;

/// A token comes back in a hundred seconds: no bucket that the flood has touched is full before the test is over, even on a slow machine.
fn limit() -> Limit {
    Limit::new(Rate::new(1, Span::from_secs(100)), Burst::tokens(10)).unwrap()
}

/// What a watched client asks for: what a second gives.
const WATCHED_COST: Cost = Cost::micros(10_000);

#[test]
fn fifty_million_keys_pass_through_a_table_of_a_million_that_inherits() {
    let flood = Flood::of(50_000_000, TableFull::Inherit);
    assert!(flood.stats.evicted > 1_000_000, "{flood:?}");
    assert_eq!([flood.stats.denied_new, flood.stats.overflowed], [0; 2], "{flood:?}");
}

#[test]
fn ten_million_keys_pass_by_a_table_of_a_million_that_denies_newcomers() {
    let flood = Flood::of(10_000_000, TableFull::DenyNew);
    assert!(flood.stats.denied_new > 1_000_000, "{flood:?}");
    assert_eq!(flood.stats.denied_new, flood.tally.crowded, "{flood:?}");
    assert_eq!([flood.stats.evicted, flood.stats.overflowed], [0; 2], "{flood:?}");
}

#[test]
fn ten_million_keys_share_the_overflow_of_a_table_of_a_million() {
    let flood = Flood::of(10_000_000, TableFull::SharedOverflow);
    // One bucket for all of them keeps to the limit of one.
    let share = 1_000 + flood.took.as_nanos() / 1_000_000_000 + 1;
    assert!((1..=share).contains(&flood.stats.overflowed), "{flood:?}");
    assert_eq!([flood.stats.evicted, flood.stats.denied_new], [0; 2], "{flood:?}");
}

/// What came of a flood.
#[derive(Debug)]
struct Flood {
    stats: Stats,
    tally: Tally,
    took: Span,
}

/// What the flood was told.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    /// Of the flood itself.
    admitted: u64,
    /// Of the watched clients.
    watched_admitted: u64,
    /// Denials for want of room.
    crowded: u64,
}

impl Flood {
    /// Lets so many clients through a table, each once, and judges what the watched ones were admitted.
    fn of(keys: u64, table_full: TableFull) -> Flood {
        let limiter = Limiter::builder().keys_max(KEYS_MAX).table_full(table_full).build(limit()).unwrap();
        let (recorder, warm) = (Recorder::new(), Barrier::new(THREADS + 1));
        let (start, mut tally, mut resident_warm) = (limiter.now(), Tally::default(), None);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS as u64)
                .map(|thread| {
                    let (limiter, recorder, warm) = (&limiter, &recorder, &warm);
                    scope.spawn(move || {
                        let (from, count) = (thread << 40, keys / THREADS as u64);
                        let mut wave = Wave { limiter, lane: recorder.lane(), rng: Rng::with_seed(thread) };
                        let mut tally = wave.run(from..from + count / 10);
                        warm.wait();
                        warm.wait();
                        tally += wave.run(from + count / 10..from + count);
                        tally
                    })
                })
                .collect();
            warm.wait();
            resident_warm = resident::bytes();
            warm.wait();
            for thread in threads {
                tally += thread.join().unwrap();
            }
        });
        let (took, growth) = (limiter.now().since(start), growth_since(resident_warm));
        assert!(growth <= RESIDENT_GROWTH_MAX, "resident memory grew by {growth} bytes");
        let flood = Flood { stats: limiter.stats(), tally, took };
        flood.is_consistent();

        let judgement = judge(recorder.into_events(), &Promise::of(limit()));
        println!("{table_full:?} in {took}, resident +{growth} bytes: {flood:?}; {judgement}");
        judgement.assert_kept();
        flood
    }

    /// Every client of the flood that was admitted took a place or drew from the shared bucket, exactly once.
    fn is_consistent(&self) {
        let Stats { slots_taken, reclaimed, evicted, overflowed, .. } = self.stats;
        let places = slots_taken + reclaimed + evicted + overflowed;
        let least = self.tally.admitted;
        assert!((least..=least + self.tally.watched_admitted).contains(&places), "{self:?}");
        assert!(slots_taken <= 2 * KEYS_MAX as u64, "{self:?}");
    }
}

/// One thread of a flood.
struct Wave<'a> {
    limiter: &'a Limiter,
    lane: Lane<'a>,
    rng: Rng,
}

impl Wave<'_> {
    fn run(&mut self, keys: Range<u64>) -> Tally {
        let mut tally = Tally::default();
        for key in keys {
            tally.see(self.limiter.check(key));
            if key % PACE == 0 {
                self.check_watched(&mut tally);
            }
        }
        tally
    }

    fn check_watched(&mut self, tally: &mut Tally) {
        // Some often, some seldom: what is never touched is the first to be displaced.
        let client = self.rng.u64(0..WATCHED).min(self.rng.u64(0..WATCHED));
        let called = self.limiter.now() - CLOCK_ERROR_MAX;
        let verdict = self.limiter.check_n(u64::MAX - client, WATCHED_COST);
        if verdict.is_admitted() {
            // Only what was admitted counts, and room for the rest would be memory of the test.
            let answered = self.limiter.now() + CLOCK_ERROR_MAX;
            self.lane.check(client, WATCHED_COST, called, answered, true);
            tally.watched_admitted += 1;
        }
        tally.crowded += u64::from(is_crowded(&verdict));
    }
}

impl Tally {
    fn see(&mut self, verdict: Verdict) {
        self.admitted += u64::from(verdict.is_admitted());
        self.crowded += u64::from(is_crowded(&verdict));
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.admitted += other.admitted;
        self.watched_admitted += other.watched_admitted;
        self.crowded += other.crowded;
    }
}

fn is_crowded(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Deny { cause: Cause::TableFull(_), .. })
}

fn growth_since(before: Option<u64>) -> u64 {
    resident::bytes().zip(before).map_or(0, |(now, before)| now.saturating_sub(before))
}
