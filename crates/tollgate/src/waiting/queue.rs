//! Those who wait for one bucket, in the order in which they booked. Knows no clock, no lock and no store.
//!
//! ```text
//!   head                                                 tail
//!    A          ×  (cancelled: 3)     B          C              when A leaves, the cancelled one is passed:
//!  mark 10      ·                   mark 17    mark 20          B leaves at 14 instead of 17, C at 17 instead of 20
//! ```
//! Whoever gives up stays in place, marked, until it is passed: cancelling costs the same however many wait behind.

use std::collections::VecDeque;

use tollgate_core::{Cost, Demand, Mark};

/// Names one waiter; rises along the queue.
pub(crate) type Ticket = u64;

/// The queue of one bucket. The head is never a cancelled one, nor is the tail.
#[derive(Debug)]
pub(crate) struct Queue<W> {
    entries: VecDeque<Entry<W>>,
    /// How many entries are not cancelled.
    live: usize,
    /// How far everybody has been moved forward so far, in micro-tokens modulo 2^64.
    passed: u64,
    /// How far the cancelled entries in the queue will move those behind them.
    pending: u64,
    /// The first of those at the tail who booked one after the other, on one meter: see [`Queue::is_of_tail`].
    tail_since: Ticket,
}

#[derive(Debug)]
struct Entry<W> {
    ticket: Ticket,
    /// The mark at which it leaves, plus all that will have been passed by then of what was known when it joined.
    departure: u64,
    demand: Demand,
    /// `None` once cancelled.
    waiter: Option<W>,
}

/// One waiter, as the queue sees it.
#[derive(Debug)]
pub(crate) struct Standing<'q, W> {
    pub(crate) ticket: Ticket,
    /// Where the meter must be before it may leave: exact for the head, no earlier than that for the others.
    pub(crate) departure: Mark,
    pub(crate) demand: Demand,
    pub(crate) is_head: bool,
    pub(crate) waiter: &'q mut W,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), live: 0, passed: 0, pending: 0, tail_since: 0 }
    }
}

impl<W> Queue<W> {
    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Someone who may leave when the meter is at `departure` joins at the tail. Tickets rise. `follows` says that it booked on
    /// the meter of the last one, right behind it.
    pub(crate) fn push(&mut self, ticket: Ticket, departure: Mark, demand: Demand, follows: bool, waiter: W) {
        if !follows || self.is_empty() {
            self.tail_since = ticket;
        }
        let departure = departure.word().wrapping_add(self.passed).wrapping_add(self.pending);
        self.entries.push_back(Entry { ticket, departure, demand, waiter: Some(waiter) });
        self.live += 1;
    }

    /// Who is first.
    pub(crate) fn head(&mut self) -> Option<Standing<'_, W>> {
        self.standing_at(0)
    }

    /// The waiter with this ticket, if it is still here.
    pub(crate) fn find(&mut self, ticket: Ticket) -> Option<Standing<'_, W>> {
        self.position(ticket).and_then(|at| self.standing_at(at))
    }

    /// The head leaves.
    pub(crate) fn pop(&mut self) -> Option<W> {
        let entry = self.entries.pop_front()?;
        self.live -= usize::from(entry.waiter.is_some());
        self.clear_up();
        entry.waiter
    }

    /// Whether all who wait behind this one booked right behind it, on its meter: only then can they move as one.
    pub(crate) fn is_of_tail(&self, ticket: Ticket) -> bool {
        ticket >= self.tail_since
    }

    /// Whether that is so of all who wait.
    pub(crate) fn is_even(&self) -> bool {
        self.entries.front().is_none_or(|head| self.is_of_tail(head.ticket))
    }

    /// A waiter gives up, and those behind it move forward by its cost, if they may; `None` if it is not here.
    pub(crate) fn cancel(&mut self, ticket: Ticket, may_move: bool) -> Option<W> {
        let at = self.position(ticket)?;
        let entry = &mut self.entries[at];
        if !may_move {
            entry.demand.cost = Cost::micros(0);
        }
        let (waiter, cost) = (entry.waiter.take()?, entry.demand.cost.as_micros());
        self.live -= 1;
        self.pending = self.pending.wrapping_add(cost);
        self.clear_up();
        Some(waiter)
    }

    /// Everybody moves forward by so many micro-tokens: they were given to the bucket.
    pub(crate) fn forward(&mut self, micros: u64) {
        self.passed = self.passed.wrapping_add(micros);
    }

    /// Everybody moves back by so many micro-tokens: they ran over before the head could take them.
    pub(crate) fn delay(&mut self, micros: u64) {
        self.passed = self.passed.wrapping_sub(micros);
    }

    /// Each moves back by micro-tokens of its own: they are not all on one meter.
    pub(crate) fn delay_each(&mut self, micros: impl Fn(&W) -> u64) {
        for entry in &mut self.entries {
            if let Some(waiter) = &entry.waiter {
                entry.departure = entry.departure.wrapping_add(micros(waiter));
            }
        }
    }

    /// What all who wait have booked, in micro-tokens.
    pub(crate) fn booked(&self) -> u64 {
        let live = self.entries.iter().filter(|entry| entry.waiter.is_some());
        live.fold(0, |sum, entry| sum.saturating_add(entry.demand.cost.as_micros()))
    }

    /// The last one, what it asked for, and where the meter must be before it may leave.
    pub(crate) fn last(&self) -> Option<(&W, Demand, Mark)> {
        let entry = self.entries.back()?;
        let word = entry.departure.wrapping_sub(self.passed).wrapping_sub(self.pending);
        Some((entry.waiter.as_ref()?, entry.demand, Mark::from_word(word)))
    }

    /// All who wait, first to last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &W> {
        self.entries.iter().filter_map(|entry| entry.waiter.as_ref())
    }

    fn standing_at(&mut self, at: usize) -> Option<Standing<'_, W>> {
        let Entry { ticket, departure, demand, waiter } = self.entries.get_mut(at)?;
        Some(Standing {
            ticket: *ticket,
            departure: Mark::from_word(departure.wrapping_sub(self.passed)),
            demand: *demand,
            is_head: at == 0,
            waiter: waiter.as_mut()?,
        })
    }

    fn position(&self, ticket: Ticket) -> Option<usize> {
        let ahead = ticket.checked_sub(self.entries.front()?.ticket)?;
        // Nearly always it is the head, or has left before it.
        if ahead == 0 {
            return Some(0);
        }
        self.entries.binary_search_by_key(&ticket, |entry| entry.ticket).ok()
    }

    /// Takes cancelled entries off the ends, and all of them out once they are more than the others.
    fn clear_up(&mut self) {
        // Off the front, everybody left is behind them and moves forward; off the back, nobody is.
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.waiter.is_none()) {
            self.passed = self.passed.wrapping_add(entry.demand.cost.as_micros());
            self.pending = self.pending.wrapping_sub(entry.demand.cost.as_micros());
        }
        while let Some(entry) = self.entries.pop_back_if(|entry| entry.waiter.is_none()) {
            self.pending = self.pending.wrapping_sub(entry.demand.cost.as_micros());
        }
        if self.entries.len() > 2 * self.live {
            self.compact();
        }
    }

    /// Takes all cancelled entries out, in one pass.
    fn compact(&mut self) {
        let mut ahead = 0_u64;
        self.entries.retain_mut(|entry| {
            if entry.waiter.is_none() {
                ahead = ahead.wrapping_add(entry.demand.cost.as_micros());
                return false;
            }
            entry.departure = entry.departure.wrapping_sub(ahead);
            true
        });
        self.pending = 0;
    }
}

#[cfg(test)]
#[path = "queue/tests.rs"]
mod tests;
