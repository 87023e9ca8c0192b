//! The buckets of sliding logs: a side table in shards that are locked for a moment, bounded by a number of entries per rule.
//!
//! The entries of a rule are counted in its [`LogRoom`]. When the room is used up, a client that has a log goes on: its two oldest
//! charges count as one. A new client gets room from the longest-known logs of its rule, whose charges are merged by twos; if
//! that frees nothing, it is denied. Merged charges count as long as the younger, so no client is admitted more. Other rules have
//! rooms of their own.
//!
//! A check over several buckets locks the shards of its logs first, in ascending order, and keeps them until it is decided:
//! nobody waits for a shard while it holds a slot or a gate.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, PoisonError};

use tollgate_core::{BucketSet, Demand, Log, Moment, SlidingLog, Span, Spend, Tokens};

use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::log_room::LogRoom;
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
/// Most entries of one client's log: a check reads at most so many. Beyond it the two oldest count as one. The policy crate
/// has the same number for its lint.
const CLIENT_LOG_ENTRIES_MAX: usize = 4_096;
/// Fewest entries of a log whose charges are merged to make room for a new client.
const HALVED_MIN: usize = 8;
/// Logs of a shard that are looked at for one to halve.
const HALVED_LOOKS_MAX: usize = 8;

/// Logs of a shard that are looked at for how long a new client waits for room.
const ROOM_LOOKS_MAX: usize = 64;

/// All logs of one limiter.
#[derive(Debug)]
pub(crate) struct Logs {
    shards: Box<[Mutex<Shard>]>,
    /// Entries of all logs together.
    entries: AtomicUsize,
}

#[derive(Debug, Default)]
struct Shard {
    logs: HashMap<BucketId, Kept>,
    /// When each log will be empty, unless it is charged again meanwhile. Logs that were emptied before may still be in it.
    due: BinaryHeap<Reverse<(Moment, BucketId)>>,
    /// The line of `due` at which the next search for a log to halve begins.
    next_look: usize,
}

#[derive(Debug)]
struct Kept {
    log: Log,
    /// Under which it was last charged; its window is that of all limits of the rule.
    limit: SlidingLog,
    limit_id: LimitId,
    room: Arc<LogRoom>,
}

/// One log that a check wants charged.
#[derive(Debug, Clone)]
pub(crate) struct LogAsk {
    pub(crate) id: BucketId,
    pub(crate) limit: SlidingLog,
    pub(crate) limit_id: LimitId,
    pub(crate) demand: Demand,
    /// Which charges of the check it is.
    pub(crate) members: BucketSet,
    pub(crate) room: Arc<LogRoom>,
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
    TableFull { wait: Span },
}

impl Logs {
    pub(crate) fn new() -> Logs {
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect();
        Logs { shards, entries: AtomicUsize::new(0) }
    }

    /// Entries that are remembered now.
    pub(crate) fn entries(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// Forgets all logs that are empty at `now`, so that none of their entries is counted.
    pub(crate) fn forget_empty(&self, now: Moment) {
        for number in 0..SHARDS {
            self.shard(number).sweep(self, now, usize::MAX);
        }
    }

    /// Counts entries that came and went.
    fn count(&self, room: &LogRoom, came: usize, went: usize) {
        for counted in [&self.entries, room.counted()] {
            counted.fetch_add(came, Ordering::Relaxed);
            counted.fetch_sub(went, Ordering::Relaxed);
        }
    }

    /// What a check of one log would be told.
    pub(crate) fn peek(&self, ask: &Ask, limit: &SlidingLog, room: &Arc<LogRoom>, now: Moment) -> Verdict {
        let Ask { id, limit: limit_id, demand } = *ask;
        let room = Arc::clone(room);
        let ask = LogAsk { id, limit: *limit, limit_id, demand, members: BucketSet::FIRST, room };
        match self.shard(shard_of(id)).peek(self, &ask, 1, now) {
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
        room: &Arc<LogRoom>,
        now: Moment,
        change: impl FnOnce(&mut Log) -> T,
    ) -> T {
        let mut shard = self.shard(shard_of(id));
        let was_new = !shard.logs.contains_key(&id);
        let kept = shard.logs.entry(id).or_insert_with(|| Kept::new(*limit, limit_id, room));
        let before = kept.log.entries();
        kept.log.forget(limit, now);
        let result = change(&mut kept.log);
        self.count(&kept.room, kept.log.entries(), before);
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

    /// Returns `true` if `wanted` entries fit in, or would if long logs were halved: the longest of `locked` and of every shard that
    /// no thread has locked. Forgets charges that no longer count, and halves nothing.
    fn could_make_room(&self, locked: &mut Shard, room: &LogRoom, wanted: usize, now: Moment) -> bool {
        let mut freed = locked.could_free(self, room, now);
        for shard in &self.shards {
            if room.has_room_for(wanted.saturating_sub(freed)) {
                return true;
            }
            if let Ok(mut shard) = shard.try_lock() {
                freed += shard.could_free(self, room, now);
            }
        }
        room.has_room_for(wanted.saturating_sub(freed))
    }

    /// Halves long logs in `locked`, then in shards that no thread has locked, until another entry fits in.
    fn make_room(&self, locked: &mut Shard, room: &LogRoom) {
        locked.make_room(self, room);
        for shard in &self.shards {
            if room.has_room_for(1) {
                return;
            }
            if let Ok(mut shard) = shard.try_lock() {
                shard.make_room(self, room);
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
                    (ask.clone(), shard.charge(self.logs, ask, now));
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
            LogRefusal::TableFull { wait } => deny(wait, Tokens::ZERO, Cause::TableFull(denied)),
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

    /// What the log says to an ask. A new client needs room for the entries of its whole check, which [`Shard::charge`] makes: a client
    /// that is denied costs no other client a part of its log.
    fn peek(&mut self, logs: &Logs, ask: &LogAsk, wanted: usize, now: Moment) -> Result<Tokens, LogRefusal> {
        if let Some(kept) = self.logs.get_mut(&ask.id) {
            logs.count(&kept.room, 0, kept.log.forget(&kept.limit, now));
        }
        let remaining = self.look(ask, now)?;
        let is_new = self.logs.get(&ask.id).is_none_or(|kept| kept.log.entries() == 0);
        if !is_new || ask.room.has_room_for(wanted) {
            return Ok(remaining);
        }
        let pause = ask.room.search_pause(now);
        if pause == Span::ZERO && logs.could_make_room(self, &ask.room, wanted, now) {
            return Ok(remaining);
        }
        let wait = self.time_to_room(ask, now).max(pause);
        // A check that wants more entries says nothing of checks that want one.
        if pause == Span::ZERO && wanted == 1 {
            ask.room.pause_search(now, wait);
        }
        Err(LogRefusal::TableFull { wait })
    }

    /// Forgets charges that no longer count. Returns how many entries [`Shard::make_room`] would free.
    fn could_free(&mut self, logs: &Logs, room: &LogRoom, now: Moment) -> usize {
        self.sweep(logs, now, usize::MAX);
        let Some(kept) = self.longest(room).and_then(|id| self.logs.get(&id)) else {
            self.look_further();
            return 0;
        };
        kept.log.entries() / 2
    }

    /// Merges the charges of a long log by twos, if there is no room for another entry.
    fn make_room(&mut self, logs: &Logs, room: &LogRoom) {
        if !room.has_room_for(1)
            && let Some(id) = self.longest(room)
            && let Some(kept) = self.logs.get_mut(&id)
        {
            let went = kept.log.halve();
            logs.count(&kept.room, 0, went);
            self.look_further();
        }
    }

    /// The next search for a log to halve looks at others.
    fn look_further(&mut self) {
        self.next_look = self.next_look.wrapping_add(HALVED_LOOKS_MAX);
    }

    /// The longest log of the rule whose room this is, of a few that are looked at, if it is worth merging.
    fn longest(&self, room: &LogRoom) -> Option<BucketId> {
        let lines = self.due.as_slice();
        let first = self.next_look.checked_rem(lines.len()).unwrap_or(0);
        let looks = lines.iter().cycle().skip(first).take(HALVED_LOOKS_MAX.min(lines.len()));
        let kept = looks.filter_map(|Reverse((_, id))| Some((*id, self.logs.get(id)?)));
        let of_rule = kept.filter(|(_, kept)| std::ptr::eq(Arc::as_ptr(&kept.room), room));
        let (id, kept) = of_rule.max_by_key(|(_, kept)| kept.log.entries())?;
        (kept.log.entries() >= HALVED_MIN).then_some(id)
    }

    /// How long until there may be room for another entry: when the first charge of a log of the rule no longer counts, of those that
    /// are looked at, or a charge made now would not.
    fn time_to_room(&self, ask: &LogAsk, now: Moment) -> Span {
        let lines = self.due.as_slice();
        let looks = lines.iter().step_by(lines.len() / ROOM_LOOKS_MAX + 1);
        let of_rule = looks.filter(|Reverse((_, id))| {
            self.logs.get(id).is_some_and(|kept| Arc::ptr_eq(&kept.room, &ask.room))
        });
        let times = of_rule.map(|Reverse((at, _))| at.since(now));
        times.min().unwrap_or(ask.limit.window())
    }

    /// When the charge counts as made.
    fn charge(&mut self, logs: &Logs, ask: &LogAsk, now: Moment) -> Moment {
        let was_new = !self.logs.contains_key(&ask.id);
        if was_new && !ask.room.has_room_for(1) {
            logs.make_room(self, &ask.room);
        }
        let kept = self.logs.entry(ask.id).or_insert_with(|| Kept::new(ask.limit, ask.limit_id, &ask.room));
        (kept.limit, kept.limit_id) = (ask.limit, ask.limit_id);
        let (mut came, mut went) = (0, kept.log.forget(&ask.limit, now));
        let at = kept.log.stamp(now);
        came += kept.log.charge(ask.demand.cost.as_micros(), at);
        if came > 0 && (kept.log.entries() > CLIENT_LOG_ENTRIES_MAX || !kept.room.has_room_for(1)) {
            went += kept.log.merge_oldest();
        }
        logs.count(&kept.room, came, went);
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
            logs.count(&kept.room, 0, kept.log.forget(&kept.limit, now));
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
    fn new(limit: SlidingLog, limit_id: LimitId, room: &Arc<LogRoom>) -> Kept {
        Kept { log: Log::default(), limit, limit_id, room: Arc::clone(room) }
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
