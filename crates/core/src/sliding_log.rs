//! A sliding window, exact: every charge of the last window is remembered, up to a maximum of entries.
//!
//! In every interval shorter than the window, whenever it begins, at most `quota` is charged. A charge at time t counts until
//! t + window and not a nanosecond longer. This is the one algorithm whose state is not a word.

use alloc::collections::VecDeque;

use crate::{Burst, Demand, LimitError, Moment, Span, Spend, Tokens};

/// At most `quota` in every `window`, whenever it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingLog {
    /// Micro-tokens.
    quota: u64,
    /// Nanoseconds.
    window: u64,
}

/// Most charges that one log remembers. Beyond it the two oldest count as one, as long as the younger: less is admitted, never
/// more.
pub const LOG_ENTRIES_MAX: usize = 65_536;

/// Entries whose room is not worth giving back.
const ROOM_KEPT: usize = 16;

/// What was charged to one bucket lately.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// Oldest first.
    entries: VecDeque<Entry>,
    /// The sum of their amounts, in micro-tokens; exact, however deep in debt.
    used: u128,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Moment,
    micros: u64,
}

impl SlidingLog {
    /// A quota of at most 10^12 tokens, in a window of at most 146 years.
    pub const fn new(quota: Burst, window: Span) -> Result<SlidingLog, LimitError> {
        let quota = match crate::limit::sound_burst(quota) {
            Ok(quota) => quota,
            Err(error) => return Err(error),
        };
        match crate::sliding_counter::sound_window(window) {
            Ok(window) => Ok(SlidingLog { quota, window }),
            Err(error) => Err(error),
        }
    }

    /// What every window admits.
    pub const fn quota(&self) -> Tokens {
        Tokens::from_micros(self.quota)
    }

    /// How far it looks back.
    pub const fn window(&self) -> Span {
        Span::from_nanos(self.window)
    }

    pub(crate) const fn words(&self) -> [u64; 4] {
        [self.quota, self.window, 0, 0]
    }

    /// The limit whose words these are, taken on trust.
    pub(crate) const fn from_words([quota, window, ..]: [u64; 4]) -> SlidingLog {
        SlidingLog { quota, window }
    }

    /// Whether this is a limit that can be kept, and not one from a damaged file.
    pub(crate) fn is_sound(&self) -> bool {
        SlidingLog::new(Burst::micros(self.quota), self.window()).is_ok()
    }
}

impl Entry {
    /// Adds to the amount, and says by how much it grew: it saturates, at 18 times the largest quota.
    fn add(&mut self, micros: u64) -> u128 {
        let before = self.micros;
        self.micros = before.saturating_add(micros);
        u128::from(self.micros - before)
    }
}

impl Log {
    /// Forgets what no longer counts. Returns how many entries that were.
    pub fn forget(&mut self, limit: &SlidingLog, now: Moment) -> usize {
        let before = self.entries.len();
        while let Some(oldest) = self.entries.front().copied() {
            // Not `at + window > now`, which is false at the end of time.
            if now.since(oldest.at) < limit.window() {
                break;
            }
            self.entries.pop_front();
            self.used -= u128::from(oldest.micros);
        }
        // Room for what it held in a busier window is given back.
        if self.entries.capacity() > ROOM_KEPT && self.entries.len() < self.entries.capacity() / 4 {
            self.entries.shrink_to(2 * self.entries.len());
        }
        before - self.entries.len()
    }

    /// What is left of the quota at `now`, in micro-tokens; negative is debt.
    pub fn balance(&self, limit: &SlidingLog, now: Moment) -> i64 {
        let used = u64::try_from(self.used - self.expired(limit, now)).unwrap_or(u64::MAX);
        limit.quota.cast_signed().saturating_sub_unsigned(used)
    }

    /// Whether the bucket could pay at `now`, and what would be left. Changes nothing.
    pub fn peek(&self, limit: &SlidingLog, demand: Demand, now: Moment) -> Result<Tokens, Spend> {
        let balance = self.balance(limit, now);
        if demand.is_met_by(balance) {
            Ok(Tokens::from_micros(balance.cast_unsigned() - demand.need()))
        } else {
            Err(demand.short(balance))
        }
    }

    /// Remembers a charge that was found good, or one that makes a debt. Returns by how many entries the log has grown.
    pub fn charge(&mut self, micros: u64, now: Moment) -> usize {
        if micros == 0 {
            return 0; // a debt that was forgiven
        }
        match self.entries.back_mut() {
            // Another thread's clock may be a little ahead: entries stay in order.
            Some(youngest) if youngest.at >= now => {
                self.used += youngest.add(micros);
                return 0;
            }
            _ => {
                self.entries.push_back(Entry { at: now, micros });
                self.used += u128::from(micros);
            }
        }
        if self.entries.len() <= LOG_ENTRIES_MAX {
            return 1;
        }
        1 - self.merge_oldest()
    }

    /// Counts the two oldest charges as one, as long as the younger: less is admitted, never more. Returns by how many entries
    /// the log has shrunk.
    pub fn merge_oldest(&mut self) -> usize {
        if self.entries.len() < 2 {
            return 0;
        }
        if let (Some(oldest), Some(next)) = (self.entries.pop_front(), self.entries.front_mut()) {
            self.used = self.used - u128::from(oldest.micros) + next.add(oldest.micros);
        }
        1
    }

    /// Counts every two neighboring charges as one, as long as the younger: less is admitted, never more. Returns by how many
    /// entries the log has shrunk.
    pub fn halve(&mut self) -> usize {
        let before = self.entries.len();
        let (mut halved, mut used) = (VecDeque::with_capacity(before.div_ceil(2)), 0);
        let mut entries = core::mem::take(&mut self.entries).into_iter();
        while let Some(older) = entries.next() {
            let mut kept = older;
            if let Some(younger) = entries.next() {
                kept = younger;
                kept.add(older.micros);
            }
            used += u128::from(kept.micros);
            halved.push_back(kept);
        }
        (self.entries, self.used) = (halved, used);
        before - self.entries.len()
    }

    /// Gives back up to `micros`, the youngest charges first. Returns how many micro-tokens and how many entries that were.
    pub fn give_back(&mut self, micros: u64) -> (u64, usize) {
        let (mut left, before) = (micros, self.entries.len());
        while left > 0 {
            let Some(youngest) = self.entries.back_mut() else { break };
            let part = left.min(youngest.micros);
            youngest.micros -= part;
            left -= part;
            if youngest.micros == 0 {
                self.entries.pop_back();
            }
        }
        self.used -= u128::from(micros - left);
        (micros - left, before - self.entries.len())
    }

    /// Gives back up to `micros` of what was charged at `at`. Returns how many micro-tokens and how many entries that were.
    pub fn give_back_of(&mut self, at: Moment, micros: u64) -> (u64, usize) {
        let Ok(index) = self.entries.binary_search_by_key(&at, |entry| entry.at) else { return (0, 0) };
        let entry = &mut self.entries[index];
        let part = micros.min(entry.micros);
        entry.micros -= part;
        self.used -= u128::from(part);
        if entry.micros > 0 {
            return (part, 0);
        }
        self.entries.remove(index);
        (part, 1)
    }

    /// When a charge at `now` counts as made: not before one that was made by a faster clock.
    pub fn stamp(&self, now: Moment) -> Moment {
        self.entries.back().map_or(now, |youngest| youngest.at.max(now))
    }

    /// Micro-tokens of entries that no longer count, but have not been forgotten yet.
    fn expired(&self, limit: &SlidingLog, now: Moment) -> u128 {
        let expired = self.entries.iter().take_while(|entry| now.since(entry.at) >= limit.window());
        expired.map(|entry| u128::from(entry.micros)).sum()
    }

    /// How long after `now` the bucket can pay, if nobody else spends.
    pub fn wait(&self, limit: &SlidingLog, demand: Demand, now: Moment) -> Span {
        let mut missing = (u128::from(demand.need()) + self.used).saturating_sub(limit.quota.into());
        if missing == 0 {
            return Span::ZERO;
        }
        for entry in &self.entries {
            missing = missing.saturating_sub(entry.micros.into());
            if missing == 0 {
                return (entry.at + limit.window()).since(now);
            }
        }
        limit.window()
    }

    /// What it remembers, oldest first: when, and how many micro-tokens.
    pub fn charges(&self) -> impl Iterator<Item = (Moment, u64)> {
        self.entries.iter().map(|entry| (entry.at, entry.micros))
    }

    /// How many charges it remembers.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// When the last of them will be forgotten; `None` if there is none.
    pub fn empty_at(&self, limit: &SlidingLog) -> Option<Moment> {
        self.entries.back().map(|youngest| youngest.at + limit.window())
    }
}
