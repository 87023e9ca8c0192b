//! The limit of a rule or tier, of whatever algorithm.

use tollgate_core::{Algorithm, Moment, Tokens};

use super::events::{EstimatedWindow, ExactWindow, Places};
use super::law::{Law, Line, State};
use super::lines::{LeakyQueue, Quota, TokenBucket};

/// One limit, since it was declared.
#[derive(Debug, Clone)]
pub(super) struct Promised {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    TokenBucket(TokenBucket),
    LeakyQueue(LeakyQueue),
    Quota(Quota),
    EstimatedWindow(EstimatedWindow),
    ExactWindow(ExactWindow),
    Places(Places),
}

impl Promised {
    pub(super) fn new(algorithm: Algorithm, now: Moment) -> Promised {
        let kind = match algorithm {
            Algorithm::TokenBucket(limit) => Kind::TokenBucket(TokenBucket::new(limit, now)),
            Algorithm::LeakyBucket(leaky) => Kind::LeakyQueue(LeakyQueue::new(leaky, now)),
            Algorithm::FixedWindow(window) => Kind::Quota(Quota::new(window, now)),
            Algorithm::SlidingCounter(counter) => Kind::EstimatedWindow(EstimatedWindow::new(counter, now)),
            Algorithm::SlidingLog(log) => Kind::ExactWindow(ExactWindow(log)),
            Algorithm::Concurrency(concurrency) => Kind::Places(Places::new(concurrency, now)),
            other => unreachable!("the suite does not know {other:?}"),
        };
        Promised { kind }
    }

    /// The same under another limit from `now` on; `None` if its buckets mean nothing there.
    pub(super) fn change(&self, algorithm: Algorithm, now: Moment) -> Option<Promised> {
        let kind = match (&self.kind, algorithm) {
            (Kind::TokenBucket(bucket), Algorithm::TokenBucket(limit)) => {
                Kind::TokenBucket(TokenBucket(bucket.0.change(limit, now)))
            }
            (Kind::LeakyQueue(queue), Algorithm::LeakyBucket(leaky)) => {
                Kind::LeakyQueue(queue.change(leaky, now))
            }
            (Kind::Quota(quota), Algorithm::FixedWindow(window)) => Kind::Quota(quota.change(window, now)),
            (Kind::EstimatedWindow(window), Algorithm::SlidingCounter(counter)) => {
                Kind::EstimatedWindow(window.change(counter)?)
            }
            (Kind::ExactWindow(window), Algorithm::SlidingLog(log)) if window.0.window() == log.window() => {
                Kind::ExactWindow(ExactWindow(log))
            }
            (Kind::Places(places), Algorithm::Concurrency(concurrency)) => {
                Kind::Places(places.change(concurrency)?)
            }
            _ => return None,
        };
        Some(Promised { kind })
    }

    /// Another limit of the same rule; `None` as for [`Promised::change`].
    pub(super) fn sibling(&self, algorithm: Algorithm, now: Moment) -> Option<Promised> {
        let changed = self.change(algorithm, now)?;
        // Lines begin anew; windows and generations are the rule's.
        Some(if self.is_line() { Promised::new(algorithm, now) } else { changed })
    }

    /// Whether its buckets are marks on a line of the limit's own.
    pub(super) fn is_line(&self) -> bool {
        matches!(self.kind, Kind::TokenBucket(_) | Kind::LeakyQueue(_) | Kind::Quota(_))
    }

    /// The promise.
    pub(super) fn law(&self) -> &dyn Law {
        match &self.kind {
            Kind::TokenBucket(law) => law,
            Kind::LeakyQueue(law) => law,
            Kind::Quota(law) => law,
            Kind::EstimatedWindow(law) => law,
            Kind::ExactWindow(law) => law,
            Kind::Places(law) => law,
        }
    }

    /// What a bucket that is in `state` under `from` is under this one: the same balance, at most full; of a leaky bucket, the
    /// same queue.
    pub(super) fn carry_over(&self, state: &State, from: &Promised, now: Moment) -> State {
        let on = |line: &dyn Line, balance: i128| {
            let mark = line.mark_of(balance.min(line.capacity(now)), now);
            State { mark, ..State::default() }
        };
        match (&self.kind, &from.kind) {
            (Kind::TokenBucket(to), Kind::TokenBucket(from)) => on(to, from.balance_at(state.mark, now)),
            (Kind::Quota(to), Kind::Quota(from)) => on(to, from.balance_at(state.mark, now)),
            (Kind::LeakyQueue(to), Kind::LeakyQueue(from)) => {
                on(to, to.burst() - from.queued(state.mark, now))
            }
            _ => state.clone(),
        }
    }

    pub(super) fn takes_places(&self) -> bool {
        matches!(self.kind, Kind::Places(_))
    }

    /// Whether a bucket is under one of its rule's limits at a time. A log is not: what is asked of it is asked under the limit
    /// of whoever asks.
    pub(super) fn has_tiers(&self) -> bool {
        !matches!(self.kind, Kind::ExactWindow(_))
    }

    /// What a full bucket holds.
    pub(super) fn full(&self) -> Tokens {
        Tokens::from_micros(u64::try_from(self.law().full()).unwrap_or(u64::MAX))
    }
}
