//! The buckets of sliding logs: a side table, bounded by a number of entries, in shards that are locked for a moment.
//!
//! A check over several buckets locks the shards of its logs first, in ascending order, and keeps them until it is decided:
//! nobody waits for a shard while it holds a slot or a gate.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::PoisonError;

use tollgate_core::{BucketSet, Demand, Log, Moment, SlidingLog, Span, Spend, Tokens};

use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::receipt::LogReceipt;
use crate::memory::resets::ResetCount;
use crate::memory::store::Ask;
use crate::snapshot::SavedLog;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, SHARDS};
use crate::{Cause, Verdict};

/// Logs looked at in passing by every charge, to forget those that are empty by now: more than one, so that they go faster
/// than they come.
const SWEPT_MAX: usize = 2;
/// So many stale lines of a shard are not worth a clean-up.
const STALE_MAX: usize = 64;

/// All logs of one limiter.
#[derive(Debug)]
pub(crate) struct Logs {
    shards: Box<[Mutex<Shard>]>,
    /// Entries of all logs together.
    entries: AtomicUsize,
    entries_max: usize,
}

#[derive(Debug, Default)]
struct Shard {
    logs: HashMap<BucketId, Kept>,
    /// When each log will be empty, unless it is charged again meanwhile. Logs that were emptied before may still be in it.
    due: BinaryHeap<Reverse<(Moment, BucketId)>>,
}

#[derive(Debug)]
struct Kept {
    log: Log,
    /// Under which it was last charged; its window is that of all limits of the rule.
    limit: SlidingLog,
    limit_id: LimitId,
}

/// One log that a check wants charged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogAsk {
    pub(crate) id: BucketId,
    pub(crate) limit: SlidingLog,
    pub(crate) limit_id: LimitId,
    pub(crate) demand: Demand,
    /// Which charges of the check it is.
    pub(crate) members: BucketSet,
}

/// The shards of one check's logs, locked.
pub(crate) struct LockedLogs<'l> {
    logs: &'l Logs,
    shards: Vec<(usize, MutexGuard<'l, Shard>)>,
    asks: Vec<LogAsk>,
}

/// What a log said.
pub(crate) struct LogAnswer {
    pub(crate) members: BucketSet,
    pub(crate) answer: Result<Tokens, LogRefusal>,
}

/// Why a log denies.
pub(crate) enum LogRefusal {
    Never,
    Short { wait: Span, held: Tokens },
    Crowded { wait: Span },
}

impl Logs {
    pub(crate) fn new(entries_max: usize) -> Logs {
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect();
        Logs { shards, entries: AtomicUsize::new(0), entries_max }
    }

    /// Entries that are remembered now.
    pub(crate) fn entries(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    fn has_room_for(&self, entries: usize) -> bool {
        self.entries().saturating_add(entries) <= self.entries_max
    }

    /// What a check of one log would be told.
    pub(crate) fn peek(&self, ask: &Ask, limit: &SlidingLog, now: Moment) -> Verdict {
        let Ask { id, limit: limit_id, demand } = *ask;
        let ask = LogAsk { id, limit: *limit, limit_id, demand, members: BucketSet::FIRST };
        let shard = self.shard(shard_of(id));
        match shard.look(&ask, now) {
            Ok(_) if !self.has_room_for(1) => {
                LogRefusal::Crowded { wait: shard.time_to_room(&ask, now) }.verdict()
            }
            Ok(remaining) => Verdict::Admit { remaining, delay: Span::ZERO },
            Err(refusal) => refusal.verdict(),
        }
    }

    /// Locks the shards of these logs. No two asks are of the same log.
    pub(crate) fn lock(&self, asks: impl IntoIterator<Item = LogAsk>) -> LockedLogs<'_> {
        let asks: Vec<LogAsk> = asks.into_iter().collect();
        let mut numbers: Vec<usize> = asks.iter().map(|ask| shard_of(ask.id)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let shards = numbers.into_iter().map(|number| (number, self.shard(number))).collect();
        LockedLogs { logs: self, shards, asks }
    }

    /// Changes one log, or an empty one, and forgets it if it is empty afterwards.
    pub(crate) fn with<T>(
        &self,
        id: BucketId,
        limit_id: LimitId,
        limit: &SlidingLog,
        now: Moment,
        change: impl FnOnce(&mut Log) -> T,
    ) -> T {
        let mut shard = self.shard(shard_of(id));
        let was_new = !shard.logs.contains_key(&id);
        let kept = shard.logs.entry(id).or_insert_with(|| Kept::new(*limit, limit_id));
        let before = kept.log.entries();
        kept.log.forget(limit, now);
        let result = change(&mut kept.log);
        self.entries.fetch_add(kept.log.entries(), Ordering::Relaxed);
        self.entries.fetch_sub(before, Ordering::Relaxed);
        shard.note_change(id, was_new);
        result
    }

    /// The logs that are not empty at `now`.
    pub(crate) fn saved(&self, now: Moment) -> Vec<SavedLog> {
        let of_shard = |number| {
            let mut shard = self.shard(number);
            shard.sweep(self, now, usize::MAX);
            let saved = |(id, kept): (&BucketId, &Kept)| SavedLog {
                id: *id,
                limit: kept.limit_id,
                charges: kept.log.charges().collect(),
            };
            shard.logs.iter().map(saved).collect::<Vec<_>>()
        };
        (0..SHARDS).flat_map(of_shard).collect()
    }

    /// The logs that are not empty at `now`, under which limit, and what they have left in micro-tokens. `in_force` says what that
    /// limit is by now.
    pub(crate) fn live(
        &self,
        now: Moment,
        in_force: impl Fn(LimitId) -> Option<SlidingLog>,
    ) -> Vec<(BucketId, LimitId, i64)> {
        let of_shard = |number| {
            let mut shard = self.shard(number);
            shard.sweep(self, now, usize::MAX);
            let live = |(id, kept): (&BucketId, &Kept)| {
                let limit = in_force(kept.limit_id).unwrap_or(kept.limit);
                (*id, kept.limit_id, kept.log.balance(&limit, now))
            };
            shard.logs.iter().map(live).collect::<Vec<_>>()
        };
        (0..SHARDS).flat_map(of_shard).collect()
    }

    /// Forgets all that no longer counts, wherever nobody is at work.
    fn sweep_others(&self, now: Moment) {
        for shard in &self.shards {
            if let Ok(mut shard) = shard.try_lock() {
                shard.sweep(self, now, usize::MAX);
            }
        }
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, Shard> {
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LockedLogs<'_> {
    /// What each log says to its ask at `now`.
    pub(crate) fn peek(&mut self, now: Moment) -> impl Iterator<Item = LogAnswer> {
        let (logs, shards, wanted) = (self.logs, &mut self.shards, self.asks.len());
        self.asks.iter().map(move |ask| {
            let answer = match find(shards, ask.id) {
                None => Err(LogRefusal::Never),
                Some(shard) => shard.peek(logs, ask, wanted, now),
            };
            LogAnswer { members: ask.members, answer }
        })
    }

    /// Charges all of them, after so many resets; they were found good at `now`.
    pub(crate) fn charge(mut self, resets: ResetCount, now: Moment) -> Vec<LogReceipt> {
        let mut receipts = Vec::new();
        for ask in &self.asks {
            if let Some(shard) = find(&mut self.shards, ask.id) {
                let (LogAsk { id, limit_id, demand, members, .. }, at) =
                    (*ask, shard.charge(self.logs, ask, now));
                receipts.push(LogReceipt { id, limit_id, demand, members, at, resets });
            }
        }
        receipts
    }
}

impl LogRefusal {
    fn verdict(self) -> Verdict {
        let denied = BucketSet::FIRST;
        let deny = |wait, remaining, cause| Verdict::Deny { wait, remaining, denied, cause };
        match self {
            LogRefusal::Never => Verdict::Never { denied },
            LogRefusal::Short { wait, held } => deny(wait, held, Cause::Exceeded),
            LogRefusal::Crowded { wait } => deny(wait, Tokens::ZERO, Cause::Crowded),
        }
    }
}

impl Shard {
    /// What the log says to an ask, with no regard to room. Changes nothing.
    fn look(&self, ask: &LogAsk, now: Moment) -> Result<Tokens, LogRefusal> {
        if ask.demand.need() > ask.limit.quota().as_micros() {
            return Err(LogRefusal::Never);
        }
        let empty = Log::default();
        let log = self.logs.get(&ask.id).map_or(&empty, |kept| &kept.log);
        log.peek(&ask.limit, ask.demand, now).map_err(|short| LogRefusal::Short {
            wait: log.wait(&ask.limit, ask.demand, now),
            held: if let Spend::Short { held, .. } = short { held } else { Tokens::ZERO },
        })
    }

    /// What the log says to an ask, and whether there is room for the entries of its whole check. Makes some if need be and if
    /// it can.
    fn peek(&mut self, logs: &Logs, ask: &LogAsk, wanted: usize, now: Moment) -> Result<Tokens, LogRefusal> {
        let remaining = self.look(ask, now)?;
        if !logs.has_room_for(wanted) {
            self.sweep(logs, now, usize::MAX);
            logs.sweep_others(now);
            if !logs.has_room_for(wanted) {
                return Err(LogRefusal::Crowded { wait: self.time_to_room(ask, now) });
            }
        }
        Ok(remaining)
    }

    /// When there may be room for another entry: when the next log of this shard will be empty, or a new one would.
    fn time_to_room(&self, ask: &LogAsk, now: Moment) -> Span {
        self.due.peek().map_or(ask.limit.window(), |Reverse((at, _))| at.since(now))
    }

    /// When the charge counts as made.
    fn charge(&mut self, logs: &Logs, ask: &LogAsk, now: Moment) -> Moment {
        let was_new = !self.logs.contains_key(&ask.id);
        let kept = self.logs.entry(ask.id).or_insert_with(|| Kept::new(ask.limit, ask.limit_id));
        (kept.limit, kept.limit_id) = (ask.limit, ask.limit_id);
        logs.entries.fetch_sub(kept.log.forget(&ask.limit, now), Ordering::Relaxed);
        let at = kept.log.stamp(now);
        logs.entries.fetch_add(kept.log.charge(ask.demand.cost.as_micros(), at), Ordering::Relaxed);
        self.note_change(ask.id, was_new);
        self.sweep(logs, now, SWEPT_MAX);
        at
    }

    /// Forgets a log that is empty, and puts one that was new in the line of those that will be.
    fn note_change(&mut self, id: BucketId, was_new: bool) {
        match self.logs.get(&id).map(|kept| kept.log.empty_at(&kept.limit)) {
            Some(None) => {
                self.logs.remove(&id);
            }
            Some(Some(at)) if was_new => self.due.push(Reverse((at, id))),
            _ => {}
        }
        // Lines of logs that are gone must not outgrow those that are there.
        if self.due.len() > 2 * self.logs.len() + STALE_MAX {
            let line =
                |(id, kept): (&BucketId, &Kept)| kept.log.empty_at(&kept.limit).map(|at| Reverse((at, *id)));
            self.due = self.logs.iter().filter_map(line).collect();
        }
    }

    /// Forgets logs that are empty by now, of the `most` that should be.
    fn sweep(&mut self, logs: &Logs, now: Moment, most: usize) {
        let mut not_yet = Vec::new();
        for _ in 0..most {
            let Some(Reverse((_, id))) = self.due.peek().copied().filter(|Reverse((at, _))| *at <= now)
            else {
                break;
            };
            self.due.pop();
            let Some(kept) = self.logs.get_mut(&id) else { continue };
            logs.entries.fetch_sub(kept.log.forget(&kept.limit, now), Ordering::Relaxed);
            match kept.log.empty_at(&kept.limit) {
                Some(at) => not_yet.push(Reverse((at, id))),
                None => {
                    self.logs.remove(&id);
                }
            }
        }
        // Afterwards, or at the end of time the same ones would be due again and again.
        self.due.extend(not_yet);
    }
}

impl Kept {
    fn new(limit: SlidingLog, limit_id: LimitId) -> Kept {
        Kept { log: Log::default(), limit, limit_id }
    }
}

fn shard_of(id: BucketId) -> usize {
    // Bits that nothing else depends on here: windows come from the others.
    usize::try_from(id.fingerprint >> 40).unwrap_or(0) % SHARDS
}

fn find<'s>(shards: &'s mut [(usize, MutexGuard<'_, Shard>)], id: BucketId) -> Option<&'s mut Shard> {
    let number = shard_of(id);
    shards.iter_mut().find(|(shard, _)| *shard == number).map(|(_, shard)| &mut **shard)
}
