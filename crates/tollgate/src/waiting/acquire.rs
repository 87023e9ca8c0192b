//! Asking for tokens and waiting for them: what callers hold.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use tollgate_core::{Cost, Moment, Span, Tokens};

use super::error::AcquireError;
use super::place::{Place, Terms, Turn};
use crate::memory::store::{Ask, When};
use crate::memory::wish::Wish;
use crate::shared::Shared;
use crate::{Cause, CheckError, Key, Limiter, Rule, Verdict};

/// How many may wait for one key unless [`Acquire::behind`] says otherwise.
pub const WAITERS_DEFAULT: u32 = 1_024;

/// Tokens that are wanted and will be waited for; made by [`Rule::acquire`].
///
/// Await it (feature `tokio`), or call [`Acquire::blocking`]. Whoever has to wait books its tokens at once and leaves when
/// the bucket has refilled that far: first come, first served, and no check is admitted before its turn. Dropping it gives its
/// place back, and those behind move forward; but in a [`crate::LeakyBucket`] not once a check has been told to leave after it, and
/// where clients wait on several tiers ([`Rule::tier`]) not while one of another tier is behind it: then nobody moves.
///
/// Those who find no room in a crowded table ([`crate::TableFull::SharedOverflow`]) wait in one queue for the bucket that they share.
#[must_use = "nothing is asked for until it is awaited, or `blocking` is called"]
pub struct Acquire {
    shared: Arc<Shared>,
    ask: Result<Ask, CheckError>,
    terms: Terms,
    progress: Progress,
    #[cfg(feature = "tokio")]
    pub(super) timer: super::future::Timer,
}

/// How far an [`Acquire`] has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    New,
    Waiting(Place),
    Done,
}

/// Tokens that were acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acquired {
    /// How long it took until they were there; zero for who did not have to wait.
    pub waited: Span,
}

/// What a look at the queue brought.
pub(super) enum Step {
    Done(Result<Acquired, AcquireError>),
    /// To be asked again when woken, and after this long if there is one.
    Wait(Option<Span>),
}

impl Rule {
    /// Asks for `cost` from the bucket of `key`, and waits for it if need be: first come, first served.
    ///
    /// A handle that leaves a share of the bucket alone ([`Rule::of_priority`]) does not wait, since whoever waits books its tokens
    /// ahead of everybody, also of those whom the share is for: it gets its tokens at once, or
    /// [`AcquireError::KeepsAShare`] with the exact wait. In a [`crate::LeakyBucket`] it queues beside the share.
    ///
    /// ```
    /// # use tollgate::*;
    /// let limiter = Limiter::new(Limit::new(Rate::per_second(100), Burst::tokens(1))?);
    /// let rule = limiter.default_rule();
    /// for _ in 0..3 {
    ///     rule.acquire("api.example.com", Cost::ONE).blocking()?; // the second and third wait 10 ms each
    /// }
    /// // Somebody in a hurry is told at once that it would take too long.
    /// let hurried = rule.acquire("api.example.com", Cost::ONE).within(Span::from_millis(1)).blocking();
    /// assert!(matches!(hurried, Err(AcquireError::TooLong { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    /// With the feature `tokio` it can be awaited:
    /// ```
    /// # #[cfg(feature = "tokio")] {
    /// # use tollgate::*;
    /// async fn call(limiter: &Limiter) -> Result<(), AcquireError> {
    ///     limiter.acquire("api.example.com", Cost::ONE).within(Span::from_secs(5)).await?;
    ///     // … send the request
    ///     Ok(())
    /// }
    /// # }
    /// ```
    #[inline]
    pub fn acquire(&self, key: impl Key, cost: Cost) -> Acquire {
        Acquire {
            shared: Arc::clone(&self.shared),
            ask: self.ask(&key, cost),
            terms: Terms { wait_max: Span::MAX, waiters_max: WAITERS_DEFAULT },
            progress: Progress::New,
            #[cfg(feature = "tokio")]
            timer: super::future::Timer::default(),
        }
    }
}

impl Limiter {
    /// Asks for `cost` from the bucket of `key`, and waits for it if need be: see [`Rule::acquire`].
    #[inline]
    pub fn acquire(&self, key: impl Key, cost: Cost) -> Acquire {
        self.default.acquire(key, cost)
    }

    /// How many wait for tokens now, over all rules and keys.
    pub fn waiters(&self) -> u64 {
        self.default.shared.waiting.waiters()
    }
}

impl Acquire {
    /// Waits at most so long. If its turn comes later it is refused at once, and nothing is charged; if a limit that is lowered
    /// meanwhile makes it later, or somebody before it who leaves late, it gives up when the time is over, whether or not those
    /// before it are polled. Zero does not wait at all.
    #[inline]
    pub fn within(mut self, wait_max: impl Into<Span>) -> Self {
        self.terms.wait_max = wait_max.into();
        self
    }

    /// Waits only if fewer than so many wait for the same key already; [`WAITERS_DEFAULT`] unless told otherwise.
    #[inline]
    pub fn behind(mut self, waiters_max: u32) -> Self {
        self.terms.waiters_max = waiters_max;
        self
    }

    /// Takes the tokens if they are there; otherwise joins the queue, or sees whether its turn has come.
    #[inline]
    pub(super) fn step(&mut self, waker: &Waker) -> Step {
        let (Progress::New, Ok(ask)) = (self.progress, &self.ask) else { return self.step_on(None, waker) };
        let Shared { store, clock, .. } = &*self.shared;
        // As in a check: the clock while the bucket is on its way, and the meter after the clock.
        let likely = store.table.likely(ask.id);
        let now = clock.now();
        let charged = Wish::plain(ask).and_then(|wish| likely.charge(&wish, store.quick_level(&wish, now)));
        match charged {
            Some(_) => self.done(Ok(Span::ZERO)),
            None => self.step_on(Some(now), waker),
        }
    }

    #[cold]
    #[inline(never)]
    fn step_on(&mut self, now: Option<Moment>, waker: &Waker) -> Step {
        let ask = match &self.ask {
            Ok(ask) => *ask,
            Err(error) => return self.done(Err(AcquireError::Invalid(*error))),
        };
        let Shared { store, clock, waiting, .. } = &*self.shared;
        let turn = match self.progress {
            // Whoever polls a future that has ended is kept waiting.
            Progress::Done => return Step::Wait(None),
            Progress::Waiting(place) => {
                waiting.look(store, &ask, place, || When::Read(clock.now(), clock), waker)
            }
            Progress::New => self.come(&ask, now.unwrap_or_else(|| clock.now()), waker),
        };
        match turn {
            Ok(Turn::Waits(place, timer)) => {
                self.progress = Progress::Waiting(place);
                Step::Wait(timer)
            }
            Ok(Turn::Left(waited)) => self.done(Ok(waited)),
            Err(error) => self.done(Err(error)),
        }
    }

    /// Takes the tokens if they are there, otherwise joins the queue, if it may.
    fn come(&self, ask: &Ask, now: Moment, waker: &Waker) -> Result<Turn, AcquireError> {
        let Shared { store, clock, waiting, .. } = &*self.shared;
        let join = || waiting.join(store, ask, self.terms, || When::Read(clock.now(), clock), waker);
        match store.must_book(ask, now) {
            Err(unbooked) => Err(AcquireError::of(unbooked, ask, self.terms.wait_max)),
            Ok(true) => join(),
            Ok(false) => match store.charge(ask, When::Read(now, clock)) {
                Verdict::Deny { cause: Cause::Exceeded, wait, .. } if ask.demand.keep > Tokens::ZERO => {
                    Err(AcquireError::KeepsAShare { wait })
                }
                Verdict::Deny { wait, .. } if ask.demand.keep > Tokens::ZERO => {
                    Err(AcquireError::TableFull { wait })
                }
                // Without a slot, the queue of the overflow bucket is joined if there is one.
                Verdict::Deny { .. } => join(),
                Verdict::Admit { .. } => Ok(Turn::Left(Span::ZERO)),
                Verdict::Never { .. } => Err(AcquireError::Never { cost: ask.demand.cost }),
                Verdict::Invalid(error) => Err(AcquireError::Invalid(error)),
            },
        }
    }

    #[inline]
    fn done(&mut self, outcome: Result<Span, AcquireError>) -> Step {
        self.progress = Progress::Done;
        Step::Done(outcome.map(|waited| Acquired { waited }))
    }

    /// The limiter's clock.
    pub(super) fn clock(&self) -> &crate::Clock {
        &self.shared.clock
    }
}

/// Who does not wait any longer gives its place back.
impl Drop for Acquire {
    #[inline]
    fn drop(&mut self) {
        if let (Progress::Waiting(place), Ok(ask)) = (self.progress, &self.ask) {
            let Shared { store, clock, waiting, .. } = &*self.shared;
            waiting.cancel(store, ask, place, || When::Read(clock.now(), clock));
        }
    }
}

impl fmt::Debug for Acquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut acquire = f.debug_struct("Acquire");
        acquire.field("cost", &self.ask.as_ref().map(|ask| ask.demand.cost));
        acquire.field("within", &self.terms.wait_max).field("behind", &self.terms.waiters_max);
        acquire.field("is_waiting", &matches!(self.progress, Progress::Waiting(_))).finish_non_exhaustive()
    }
}
