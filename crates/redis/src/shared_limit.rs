//! A limit as the script reads it, and what its answers mean.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use tollgate_core::{Algorithm, Cost, Limit, Moment, Ruler, Span, StampedBalance, StampedLevel, Tokens};

use crate::limit_history::LimitHistory;
use crate::limit_words::{PLACE_MICROS, json, plain_words, step_of};
use crate::terms::{MICROS_MAX, Terms, accept_amount};
use crate::{LimitRefused, Receipt, RuleIdentity};

/// A limit that the server can keep, of a rule or come with the call. Cheap to clone; a batch names each once.
#[derive(Debug, Clone)]
pub struct SharedLimit(Arc<Inner>, Siblings);

/// The limits of a rule's tiers, of which this is one: the script needs them where a bucket comes from another.
type Siblings = Option<Arc<[SharedLimit]>>;

#[derive(Debug)]
struct Inner {
    /// What stands for it among the arguments.
    words: Vec<String>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// It comes with the call.
    Explicit(Limit),
    /// It is the one in force of a rule.
    Rule(Ruler),
}

/// Where the state of a bucket lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    /// In one value.
    Value,
    /// In a sorted set.
    SortedSet,
}

impl SharedLimit {
    /// A limit that comes with the call.
    pub fn explicit(limit: &Limit) -> Result<SharedLimit, LimitRefused> {
        let (terms, [.., burst]) = (accept_limit(limit)?, limit.terms());
        let words = ["e".to_owned(), terms.num.to_string(), terms.den.to_string(), burst.to_string()];
        Ok(SharedLimit(Arc::new(Inner { words: words.to_vec(), kind: Kind::Explicit(*limit) }), None))
    }

    /// The limit in force of a rule.
    pub(crate) fn of_rule(history: &LimitHistory, now_micros: u64) -> Result<SharedLimit, LimitRefused> {
        let head = history.segments.first().ok_or(LimitRefused::Unknown)?;
        let words = match plain_words(history, head, now_micros)? {
            Some(words) => words,
            None => vec!["j".to_owned(), json(history, head, None)?],
        };
        Ok(SharedLimit(Arc::new(Inner { words, kind: Kind::Rule(head.ruler) }), None))
    }

    /// The limits in force of a rule's tiers, in their order. A client that goes from one to another takes its balance along, at most the
    /// new burst; one that has become full on a tier and was forgotten is full on the next.
    pub fn of_tiers<'h>(
        tiers: impl IntoIterator<Item = (&'h RuleIdentity, &'h LimitHistory)>,
    ) -> Result<Vec<SharedLimit>, LimitRefused> {
        let tiers = tiers.into_iter().map(|(rule, history)| {
            let head = history.segments.first().ok_or(LimitRefused::Unknown)?;
            let words = vec!["j".to_owned(), json(history, head, Some(rule))?];
            Ok(SharedLimit(Arc::new(Inner { words, kind: Kind::Rule(head.ruler) }), None))
        });
        let alone: Arc<[SharedLimit]> = tiers.collect::<Result<_, LimitRefused>>()?;
        Ok(alone.iter().map(|limit| SharedLimit(Arc::clone(&limit.0), Some(Arc::clone(&alone)))).collect())
    }

    /// The limits of all tiers of its rule, if it has tiers.
    pub(crate) fn siblings(&self) -> &[SharedLimit] {
        self.1.as_deref().unwrap_or_default()
    }

    /// Refuses what the server cannot keep exactly.
    ///
    /// ```
    /// # use tollgate_redis::SharedLimit;
    /// # use tollgate::{Burst, Limit, Rate, Span};
    /// let odd = Limit::new(Rate::new(123_456_789, Span::from_secs(1_000_000_007)), Burst::tokens(5))?;
    /// assert!(SharedLimit::accept(&odd.into()).is_err());
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn accept(algorithm: &Algorithm) -> Result<(), LimitRefused> {
        match algorithm {
            Algorithm::TokenBucket(limit) => accept_limit(limit).map(drop),
            Algorithm::LeakyBucket(leaky) => accept_limit(&leaky.limit()).map(drop),
            Algorithm::FixedWindow(window) => {
                accept_amount(window.quota())?;
                accept_window(window.window().length())?;
                // By how much windows begin earlier than in UTC is seen in the ruler's words alone.
                let [.., early, _] = words_of(*algorithm);
                accept_window(Span::from_nanos(early.cast_signed().unsigned_abs())).map(drop)
            }
            Algorithm::SlidingCounter(counter) => accept_window(counter.window()).map(drop),
            Algorithm::SlidingLog(log) => {
                accept_amount(log.quota())?;
                accept_window(log.window()).map(drop)
            }
            Algorithm::Concurrency(places) => {
                let timeout = places.timeout();
                let half = Span::from_nanos(timeout.as_nanos() / 2);
                accept_window(half).map(drop).map_err(|_| match accept_window(timeout) {
                    Err(LimitRefused::WindowTooLong(_)) => LimitRefused::WindowTooLong(timeout),
                    _ => LimitRefused::NotWholeMicros(timeout),
                })
            }
            _ => Err(LimitRefused::Unknown),
        }
    }

    pub(crate) fn words(&self) -> &[String] {
        &self.0.words
    }

    /// Whether it came with the call.
    pub fn is_explicit(&self) -> bool {
        matches!(self.0.kind, Kind::Explicit(_))
    }

    /// What a full bucket holds.
    pub fn full(&self) -> Tokens {
        match &self.0.kind {
            Kind::Explicit(limit) => limit.burst(),
            Kind::Rule(ruler) => ruler.full(),
        }
    }

    /// Whether a check takes places, which someone must give back.
    pub fn takes_places(&self) -> bool {
        matches!(&self.0.kind, Kind::Rule(ruler) if ruler.is_of_places())
    }

    pub(crate) fn state(&self) -> StateKind {
        match &self.0.kind {
            Kind::Rule(ruler) if ruler.log().is_some() => StateKind::SortedSet,
            _ => StateKind::Value,
        }
    }

    /// Whether its buckets are no meter's: sliding windows and places, of which the server says how long until they are full.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(&self.0.kind, Kind::Rule(ruler) if ruler.meter().is_none())
    }

    /// By how many microseconds the bucket's stamp is ahead, and what its charge is known by.
    pub(crate) fn receipt(&self, balance: i64, third: u64, now_micros: u64) -> (u64, Receipt) {
        let stamped = now_micros.saturating_add(third);
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (ahead, paid, made_micros) = match &self.0.kind {
            Kind::Rule(ruler) => match ruler.algorithm() {
                Algorithm::SlidingCounter(_) | Algorithm::Concurrency(_) => (0, signed(third), now_micros),
                Algorithm::SlidingLog(_) => (0, signed(stamped), now_micros),
                // A queue is stored as what is missing of it.
                Algorithm::LeakyBucket(leaky) => {
                    (third, balance.saturating_sub_unsigned(leaky.queue().as_micros()), stamped)
                }
                _ => (third, balance, stamped),
            },
            Kind::Explicit(_) => (third, balance, stamped),
        };
        (ahead, Receipt { paid, made_micros })
    }

    /// By which receipt a charge that was a hold is given back by [`crate::Batch::let_go`], whatever else is held at the time: a bucket that
    /// refills keeps back all that was minted since ([`tollgate_core::Hold`]). By the receipt as it was told, a bucket from which others have
    /// given back meanwhile would get too much. Of other algorithms the charge itself is known again, and taken out. `cost` is what was
    /// charged.
    #[must_use]
    pub fn on_probation(&self, cost: Cost, receipt: Receipt) -> Receipt {
        let refills = match &self.0.kind {
            Kind::Explicit(_) => true,
            Kind::Rule(ruler) => {
                matches!(ruler.algorithm(), Algorithm::TokenBucket(_) | Algorithm::FixedWindow(_))
            }
        };
        // As if the bucket had been full before.
        let signed = |micros: u64| i64::try_from(micros).unwrap_or(i64::MAX);
        let paid = signed(self.full().as_micros()).saturating_sub(signed(cost.as_micros()));
        if refills { Receipt { paid, ..receipt } } else { receipt }
    }

    /// Micro-tokens of one step that its algorithm counts in; costs, and what must be kept, are rounded up to it.
    pub(crate) fn step(&self) -> u64 {
        match &self.0.kind {
            Kind::Rule(ruler) => match ruler.algorithm() {
                Algorithm::SlidingCounter(_) => step_of(ruler),
                Algorithm::Concurrency(_) => PLACE_MICROS,
                _ => 1,
            },
            Kind::Explicit(_) => 1,
        }
    }

    /// How much of a leaky bucket must be free before anyone is let in, in micro-tokens.
    pub(crate) fn least(&self) -> u64 {
        match &self.0.kind {
            Kind::Rule(ruler) => match ruler.algorithm() {
                Algorithm::LeakyBucket(leaky) => leaky.least().as_micros(),
                _ => 0,
            },
            Kind::Explicit(_) => 0,
        }
    }

    /// How long after now a bucket that holds `balance` is full, if nobody spends. `ahead` microseconds from now on nothing is minted.
    /// `None` where the balance does not say.
    pub(crate) fn time_to_full(&self, balance: i64, now_micros: u64, ahead: u64) -> Option<Span> {
        let at = Moment::from_nanos((now_micros + ahead).saturating_mul(1_000));
        let waiting = Span::from_micros(ahead);
        match &self.0.kind {
            Kind::Explicit(limit) => {
                let stored = StampedBalance { micros: balance, stamp: at };
                Some(StampedLevel::new(limit, stored, at).time_to_full() + waiting)
            }
            Kind::Rule(ruler) => {
                let missing = ruler.full().as_micros().saturating_add_signed(balance.saturating_neg());
                ruler.meter().map(|meter| meter.wait_for(missing, at) + waiting)
            }
        }
    }

    /// How long whoever was admitted must wait before it leaves, if the bucket held `balance` before: no time but in a leaky bucket.
    pub(crate) fn delay(&self, balance: i64, now_micros: u64, ahead: u64) -> Span {
        match &self.0.kind {
            Kind::Rule(ruler) if ruler.is_queue() => {
                self.time_to_full(balance, now_micros, ahead).unwrap_or(Span::ZERO)
            }
            _ => Span::ZERO,
        }
    }
}

impl PartialEq for SharedLimit {
    fn eq(&self, other: &SharedLimit) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.words == other.0.words
    }
}

impl Eq for SharedLimit {}

impl Hash for SharedLimit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.words.hash(state);
    }
}

fn accept_limit(limit: &Limit) -> Result<Terms, LimitRefused> {
    let [num, den, _] = limit.terms();
    let terms = Terms::new(num, den)?;
    terms.accept_burst(limit.burst())?;
    Ok(terms)
}

/// Whole microseconds of a window.
pub(crate) fn accept_window(window: Span) -> Result<u64, LimitRefused> {
    let (micros, rest) = (window.as_nanos() / 1_000, window.as_nanos() % 1_000);
    if rest != 0 {
        Err(LimitRefused::NotWholeMicros(window))
    } else if micros > MICROS_MAX {
        Err(LimitRefused::WindowTooLong(window))
    } else {
        Ok(micros)
    }
}

fn words_of(algorithm: Algorithm) -> [u64; Ruler::WORDS] {
    let start = tollgate_core::Start { now: Moment::default(), offset: 0, origin: 0 };
    Ruler::new(algorithm, start).words()
}
