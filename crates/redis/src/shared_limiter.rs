//! A limiter over buckets that several programs share, by URL: plain rules, several buckets at once, explicit limits. It is to
//! [`RedisLedger`] what `tollgate::Limiter` is to memory.
//!
//! A thin layer: it names rules and takes keys along, and the ledger decides. Requests and policies it does not know: see [`crate::limiter`].

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tollgate::ledger::{
    Answer, BucketLimit, Ledger, LedgerCharge, LedgerRule, Manner, OwnedKey, Question, SettleFault, TrueCosts,
};
use tollgate::{
    CheckError, Key, NAME_BYTES_MAX, ReservationId, ReservationIds, ReserveError, Settled, StoreMode, Verdict,
};
use tollgate_core::{Algorithm, CHARGES_MAX, Cost, Limit, Span};

use crate::{
    LimitRefused, OpenError, RESERVATION_TIMEOUT_MAX, RedisLedger, RuleTerms, SharedCharge, SharedLimit,
    SharedOptions, SharedRule, SharedRuleError,
};

/// Most rules of one limiter.
pub const RULES_MAX: usize = 10_000;

/// A limiter over buckets that several programs share. Clones are the same limiter.
///
/// ```no_run
/// use std::time::Duration;
/// use tollgate::{Burst, Cost, Limit, Rate};
/// use tollgate_redis::SharedLimiter;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = SharedLimiter::open("redis://localhost")?;
/// let user = limiter.rule("user", Limit::new(Rate::per_second(10), Burst::tokens(50))?)?;
/// let tenant = limiter.rule("tenant", Limit::new(Rate::per_second(100), Burst::tokens(500))?)?;
/// limiter.ready(Duration::from_secs(1)).await;
///
/// // However many programs do so, one limit holds.
/// let answer = user.check("user:42").await;
/// println!("{answer}, by {:?}", answer.mode());
///
/// // Several buckets, all or nothing.
/// limiter.check_all(&[user.charge("user:42"), tenant.charge_n("acme", Cost::tokens(3))]).await.is_admitted();
///
/// // A limit that comes with the call.
/// let free = Limit::new(Rate::per_minute(1), Burst::tokens(5))?;
/// limiter.check_explicit("upload:42", &free, Cost::ONE).await?.is_admitted();
/// limiter.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedLimiter(Arc<Inner>);

struct Inner {
    ledger: RedisLedger,
    options: SharedOptions,
    names: Mutex<HashSet<Box<str>>>,
    ids: ReservationIds,
    /// By which it knows its own charges.
    serial: u64,
}

impl SharedLimiter {
    /// A limiter over the store at `url` (`redis://`, `rediss://`, `redis+sentinel://`, `redis+cluster://`, `unix:`). Returns at once: the
    /// store need not be there. Must be called within a Tokio runtime.
    pub fn open(url: &str) -> Result<SharedLimiter, OpenError> {
        SharedLimiter::open_with(url, SharedOptions::default())
    }

    /// The same, told more.
    pub fn open_with(url: &str, options: SharedOptions) -> Result<SharedLimiter, OpenError> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let ledger = RedisLedger::at_with(url, &options.ledger)?;
        let serial = OPENED.fetch_add(1, Ordering::Relaxed);
        let (names, ids) = (Mutex::default(), ReservationIds::new());
        Ok(SharedLimiter(Arc::new(Inner { ledger, options, names, ids, serial })))
    }

    /// A set of buckets under one limit, one bucket for each key. Declaring a name again gives the same buckets and sets their limit,
    /// for every program that shares them: whoever declares last is right. Does not wait for the store: see [`SharedLimiter::ready`].
    pub fn rule(&self, name: &str, limit: impl Into<Algorithm>) -> Result<SharedRule, SharedRuleError> {
        self.rule_with(name, limit, RuleTerms::default())
    }

    /// The same, told more.
    pub fn rule_with(
        &self,
        name: &str,
        limit: impl Into<Algorithm>,
        terms: RuleTerms,
    ) -> Result<SharedRule, SharedRuleError> {
        let algorithm = limit.into();
        SharedLimit::accept(&algorithm).map_err(SharedRuleError::Limit)?;
        let mut names = self.0.names.lock().unwrap_or_else(PoisonError::into_inner);
        match name.len() {
            0 => return Err(SharedRuleError::EmptyName),
            bytes if bytes > NAME_BYTES_MAX => return Err(SharedRuleError::NameTooLong { bytes }),
            _ if names.len() >= RULES_MAX && !names.contains(name) => {
                return Err(SharedRuleError::TooManyRules);
            }
            _ => {}
        }
        let RuleTerms { breadth, on_store_failure } = terms;
        let SharedOptions { name: policy, store, .. } = &self.0.options;
        let (is_shadow, is_leased) = (false, false);
        let rule = LedgerRule { policy, name, is_shadow, algorithm, breadth, on_store_failure, is_leased };
        let numbers = self.0.ledger.declare(store, &[rule]).map_err(SharedRuleError::Ledger)?;
        names.insert(name.into());
        drop(names);
        // One rule, one number.
        let number = numbers.first().copied().ok_or(SharedRuleError::TooManyRules)?;
        Ok(SharedRule::new(self.clone(), BucketLimit::Rule(number)))
    }

    /// The buckets of limits that come with the call. They have nothing to do with those of rules: a key that is checked under another limit keeps
    /// its balance. While the store does not answer, this instance's share of the limit decides.
    pub fn explicit(&self, limit: &Limit) -> Result<SharedRule, LimitRefused> {
        SharedLimit::explicit(limit)?;
        Ok(SharedRule::new(self.clone(), BucketLimit::Explicit(*limit)))
    }

    /// Asks for `cost` from the explicit bucket of `key`, under this limit. Fails if the store cannot keep the limit exactly.
    pub async fn check_explicit(
        &self,
        key: impl Key,
        limit: &Limit,
        cost: Cost,
    ) -> Result<Answer, LimitRefused> {
        let charge = self.explicit(limit)?.charge_n(key, cost);
        Ok(self.ask(&[charge], Manner::Check).await)
    }

    /// Charges every bucket, or none of them. At most [`CHARGES_MAX`].
    pub async fn check_all(&self, charges: &[SharedCharge]) -> Answer {
        self.ask(charges, Manner::Check).await
    }

    /// What [`SharedLimiter::check_all`] would be told. Spends nothing.
    pub async fn peek_all(&self, charges: &[SharedCharge]) -> Answer {
        self.ask(charges, Manner::Peek).await
    }

    /// [`SharedLimiter::check_all`], once: the same check with the same key within `lifetime` of its admission, by whichever program,
    /// is told the same and costs nothing.
    pub async fn check_once(
        &self,
        idempotency_key: &str,
        lifetime: Span,
        charges: &[SharedCharge],
    ) -> Answer {
        match OwnedKey::new(idempotency_key) {
            Ok(idempotency_key) => self.ask(charges, Manner::Once { idempotency_key, lifetime }).await,
            Err(CheckError::EmptyKey) => at_fault(CheckError::EmptyIdempotencyKey),
            Err(error) => at_fault(error),
        }
    }

    /// Charges estimates, to be settled by the name it is told within `timeout`; afterwards they stand. Any program settles
    /// what another has reserved. No name where it was not admitted. A timeout above [`RESERVATION_TIMEOUT_MAX`] is that long.
    pub async fn reserve(
        &self,
        charges: &[SharedCharge],
        timeout: Span,
    ) -> Result<(Answer, Option<ReservationId>), ReserveError> {
        if timeout == Span::ZERO {
            return Err(ReserveError::ZeroTimeout);
        }
        let (id, timeout) = (self.0.ids.next(), timeout.min(RESERVATION_TIMEOUT_MAX));
        let answer = self.ask(charges, Manner::Reserve { id, timeout }).await;
        let id = Some(id).filter(|_| answer.is_admitted());
        Ok((answer, id))
    }

    /// Settles a reservation at its true costs.
    pub async fn settle(&self, id: ReservationId, costs: TrueCosts) -> Result<Settled, SettleFault> {
        self.0.ledger.settle(id, costs).await
    }

    /// Waits until the limits of all rules are agreed upon with the other programs; whether they are within that time. Before, each program
    /// goes by its share of every limit. Call it at the start, after the rules.
    pub async fn ready(&self, within: Duration) -> bool {
        self.0.ledger.agreed(within).await
    }

    /// To be called when the program stops: see [`RedisLedger::close`].
    pub async fn close(&self) {
        self.0.ledger.close().await;
    }

    /// The ledger beneath: counts, and the state of the link.
    pub fn ledger(&self) -> &RedisLedger {
        &self.0.ledger
    }

    pub(crate) fn serial(&self) -> u64 {
        self.0.serial
    }

    pub(crate) async fn ask(&self, charges: &[SharedCharge], manner: Manner) -> Answer {
        match self.sound(charges) {
            Ok(charges) => self.0.ledger.decide(Question { charges, manner, watched: None }).await,
            Err(error) => at_fault(error),
        }
    }

    /// The charges, if they make a check.
    fn sound(&self, charges: &[SharedCharge]) -> Result<Vec<LedgerCharge>, CheckError> {
        match charges.len() {
            0 => return Err(CheckError::NoCharges),
            count if count > CHARGES_MAX => return Err(CheckError::TooManyCharges { charges: count }),
            _ => {}
        }
        let sound = |(at, charge): (usize, &SharedCharge)| charge.of(self.serial(), at);
        charges.iter().enumerate().map(sound).collect()
    }
}

/// A check that makes no sense: nobody is asked about it.
fn at_fault(error: CheckError) -> Answer {
    Answer::Decided { verdict: Verdict::Invalid(error), buckets: Vec::new(), mode: StoreMode::Exact }
}

impl fmt::Debug for SharedLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut limiter = f.debug_struct("SharedLimiter");
        limiter.field("name", &self.0.options.name).field("ledger", &self.0.ledger).finish_non_exhaustive()
    }
}
