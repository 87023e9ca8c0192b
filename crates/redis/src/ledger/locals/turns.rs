//! Whose turn it is on the way back, and who makes room: no table is ever searched.
//!
//! ```text
//!  asks while the store answers ─► asking  ─┐
//!                                           ├─► share taken out ─► settling ─► rest put back: the store's
//!  all others, one after the other: waiting ┘
//! ```
//! A bucket stands in `waiting` as long as its way back has not begun, and in `settling` while it settles. Names of buckets that have gone, or
//! have gone on meanwhile, are passed over.

use std::collections::VecDeque;

use tollgate_core::Moment;

use super::local::{Local, Turn};
use super::{LOCALS_MAX, Table};
use crate::KeyName;
use crate::ledger::ready::ReadyCharge;
use crate::ledger::rules::Rules;

/// Most buckets that are looked at for one whose turn it is, or that may go to make room.
const LOOKS_MAX: usize = 16;

/// Who is next.
#[derive(Debug, Default)]
pub(super) struct Turns {
    asking: VecDeque<KeyName>,
    /// With the time when each has settled, in that order: those for which somebody has asked, and the others.
    settling: [VecDeque<(Moment, KeyName)>; 2],
    waiting: VecDeque<KeyName>,
}

impl Table {
    /// A bucket is kept here from now on.
    pub(super) fn enter(&mut self, key: KeyName, mut local: Local) {
        local.turn = Turn::default();
        self.remove(&key);
        self.count_entries(local.rule(), 0, local.entries());
        self.buckets.insert(key.clone(), local);
        self.queue(key);
    }

    /// Somebody asks for a bucket while the store answers: it goes back first. Whether that is new.
    pub(super) fn want(&mut self, key: &KeyName) -> bool {
        let Some(local) = self.buckets.get_mut(key).filter(|local| local.is_away()) else { return false };
        local.turn.was_asking = true;
        let is_new = !std::mem::replace(&mut local.turn.is_asking, true);
        if is_new {
            self.turns.asking.push_back(key.clone());
        }
        is_new
    }

    /// A bucket's way back begins anew when its turn comes.
    pub(super) fn queue(&mut self, key: KeyName) {
        let Some(local) = self.buckets.get_mut(&key).filter(|local| local.is_away()) else { return };
        if std::mem::replace(&mut local.turn.is_waiting, true) {
            return;
        }
        self.turns.waiting.push_back(key);
        // Names that were left behind, each by a bucket that went on before its turn: never more than this.
        if self.turns.waiting.len() > 2 * LOCALS_MAX {
            let away = self.buckets.iter().filter(|(_, local)| local.turn.is_waiting);
            self.turns.waiting = away.map(|(key, _)| key.clone()).collect();
        }
    }

    /// A bucket has settled then.
    pub(super) fn settle(&mut self, key: KeyName, until: Moment) {
        let was_asking = self.buckets.get(&key).is_some_and(|local| local.turn.was_asking);
        self.turns.settling[usize::from(!was_asking)].push_back((until, key));
    }

    pub(super) fn next_asking(&mut self) -> Option<KeyName> {
        let key = self.turns.asking.pop_front()?;
        if let Some(local) = self.buckets.get_mut(&key) {
            local.turn.is_asking = false;
        }
        Some(key)
    }

    pub(super) fn next_settled(&mut self, now: Moment) -> Option<KeyName> {
        let mut lines = self.turns.settling.iter_mut();
        let line = lines.find(|line| line.front().is_some_and(|(until, _)| *until <= now))?;
        line.pop_front().map(|(_, key)| key)
    }

    pub(super) fn next_waiting(&mut self) -> Option<KeyName> {
        let key = self.turns.waiting.pop_front()?;
        if let Some(local) = self.buckets.get_mut(&key) {
            local.turn.is_waiting = false;
        }
        Some(key)
    }

    /// Whether anybody asks.
    pub(super) fn is_asked_for(&self) -> bool {
        !self.turns.asking.is_empty()
    }

    /// Whether there is something to do in the store; `false`, too, if that is not seen at once.
    pub(super) fn is_due(&mut self, rules: &Rules, now: Moment) -> bool {
        let is_due = |table: &Table, key: &KeyName| {
            table.buckets.get(key).is_some_and(|local| local.is_due(rules, now))
        };
        if self.turns.asking.iter().take(LOOKS_MAX).any(|key| is_due(self, key)) {
            return true;
        }
        for line in &self.turns.settling {
            let settled = line.iter().take(LOOKS_MAX).take_while(|(until, _)| *until <= now);
            if settled.map(|(_, key)| key).any(|key| is_due(self, key)) {
                return true;
            }
        }
        for _ in 0..LOOKS_MAX {
            let Some(key) = self.turns.waiting.front() else { return false };
            if is_due(self, key) {
                return true;
            }
            self.pass_over();
        }
        false
    }

    /// Makes room for the bucket of a charge by removing full buckets. Each call looks at a few, and the next call at others.
    pub(super) fn make_room(&mut self, charge: &ReadyCharge, log_entries_max: usize, now: Moment) -> bool {
        for _ in 0..LOOKS_MAX {
            if self.has_room(charge, log_entries_max) {
                return true;
            }
            let Some(key) = self.turns.waiting.front() else { return false };
            if self.buckets.get(key).is_some_and(|local| local.is_full(now)) {
                self.turns.waiting.pop_front().map(|key| self.remove(&key));
                continue;
            }
            self.pass_over();
        }
        self.has_room(charge, log_entries_max)
    }

    /// Nobody is kept here any more.
    pub(super) fn clear_turns(&mut self) {
        self.turns = Turns::default();
    }

    /// The first of those who wait becomes the last, if it still waits.
    fn pass_over(&mut self) {
        if let Some(key) = self.next_waiting() {
            self.queue(key);
        }
    }
}
