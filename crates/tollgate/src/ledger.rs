//! A shared ledger: buckets that several programs share, kept elsewhere. What a limiter asks of it, and what it is told.
//!
//! ```text
//!  facts ─► charges ─► Question ─► Ledger ─► Answer ─► Decision
//!                                  (a store by the network, with whatever it does when that fails)
//! ```
//! A ledger always answers, and in bounded time: what becomes of a check when the store does not is the rule's to say
//! ([`OnStoreFailure`]) and the ledger's to do. The crate `tollgate-redis` has one.

mod bucket_look;
mod limit_refused;
mod told;

use std::cmp::Reverse;
use std::fmt;
use std::pin::Pin;

use arrayvec::ArrayVec;
use tollgate_core::{Algorithm, BucketSet, Cost, Limit, Span, Tokens};
use tollgate_policy::{OnStoreFailure, StoreSettings};

pub use bucket_look::BucketLook;
pub use limit_refused::LimitRefused;

use crate::{
    Breadth, CheckError, ExplicitVerdict, Given, Key, KeyKind, ReservationId, SettleError, Settled,
    StoreMode, Verdict,
};

/// What a ledger promises to say.
pub type LedgerFuture<'l, T> = Pin<Box<dyn Future<Output = T> + Send + 'l>>;

/// Buckets that several programs share.
pub trait Ledger: fmt::Debug + Send + Sync {
    /// Makes rules known, or known under other limits, and says by which number checks name each of them; from now on it is as the
    /// settings say. Does not wait for the store. Refuses all of it if it cannot keep one rule exactly.
    fn declare(
        &self,
        settings: &StoreSettings,
        rules: &[LedgerRule<'_>],
    ) -> Result<Vec<RuleNumber>, LedgerRefusal>;

    /// Whether it can keep a limit that comes with the call exactly. A check under one that it cannot keep is at fault
    /// ([`CheckError::LimitRefused`]), whether the store answers or not: whoever reads limits asks here first, and can say what is wrong.
    fn accept(&self, limit: &Limit) -> Result<(), LimitRefused> {
        let _ = limit;
        Ok(())
    }

    /// Decides a check over one bucket or several, all or nothing.
    fn decide(&self, question: Question) -> LedgerFuture<'_, Answer>;

    /// Admits a check without waiting, if this node holds enough of every bucket: all have paid then, and `told`, which is as long as
    /// `charges`, says how each stands. `false` of all others: nothing was charged, and [`Ledger::decide`] is to be asked.
    fn admit_at_once(&self, charges: &[RuleCharge<'_>], told: &mut [BucketState]) -> bool {
        let _ = (charges, told);
        false
    }

    /// Charges rules that only watch, by a request that no other rule met. Nobody waits for it; where there is nobody to do it, it is
    /// dropped.
    fn watch(&self, watched: Watched);

    /// Settles a reservation: every charge at its true cost, in their order, or all at one.
    fn settle(&self, id: ReservationId, costs: TrueCosts) -> LedgerFuture<'_, Result<Settled, SettleFault>>;

    /// The same for whoever does not wait for it. What finds no room is dropped and counted: the estimate stands then.
    fn settle_later(&self, id: ReservationId, costs: TrueCosts);

    /// How a bucket stands, and when it could pay `cost`. Charges nothing.
    fn look(&self, bucket: Bucket, cost: Cost) -> LedgerFuture<'_, Result<BucketLook, LedgerDown>>;

    /// Gives tokens to a bucket, or fills it. What this program remembers of its denials is forgotten, and what it leases of it is given
    /// back first.
    fn give(&self, bucket: Bucket, gift: Gift) -> LedgerFuture<'_, Result<Given, LedgerDown>>;
}

/// A rule as a ledger must know it.
#[derive(Debug, Clone, Copy)]
pub struct LedgerRule<'r> {
    /// The policy's name, or whatever keeps rules of the same name apart.
    pub policy: &'r str,
    /// The rule's name, unique within the policy.
    pub name: &'r str,
    /// Whether these are the buckets of a rule that only watches: others than those of the same rule enforced.
    pub is_shadow: bool,
    /// The limit.
    pub algorithm: Algorithm,
    /// How many clients share a bucket.
    pub breadth: Breadth,
    /// What becomes of its checks while the store does not answer.
    pub on_store_failure: OnStoreFailure,
    /// Whether instances may lease its buckets: it is to be, and is large enough.
    pub is_leased: bool,
}

/// By which number a ledger knows a rule, as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuleNumber(pub u32);

/// Why a ledger does not take a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRefusal {
    /// Its position among those that were declared.
    pub rule: usize,
    /// Field, value and cure.
    pub problem: String,
}

/// One bucket of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Where its limit comes from.
    pub limit: BucketLimit,
    /// Whose it is.
    pub key: OwnedKey,
}

/// Where the limit of a bucket comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketLimit {
    /// From a rule.
    Rule(RuleNumber),
    /// It came with the call.
    Explicit(Limit),
}

/// A key that was taken along.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnedKey {
    kind: KeyKind,
    bytes: KeyBytes,
}

/// Keys up to this length are taken along without an allocation: room for a UUID and what a policy puts before it.
const INLINE_BYTES_MAX: usize = 44;

/// By their length in the one form or in the other, so that the same bytes are always equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum KeyBytes {
    Inline(ArrayVec<u8, INLINE_BYTES_MAX>),
    Boxed(Box<[u8]>),
}

/// What one check asks of one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerCharge {
    /// Which bucket.
    pub bucket: Bucket,
    /// How much.
    pub cost: Cost,
}

/// What one check asks of one bucket of a rule, by a key that is looked at and not taken along.
#[derive(Debug, Clone, Copy)]
pub struct RuleCharge<'k> {
    /// Which rule.
    pub rule: RuleNumber,
    /// Whose bucket: of [`KeyKind::Bytes`], 1 to [`crate::KEY_BYTES_MAX`] bytes.
    pub key: &'k [u8],
    /// How much.
    pub cost: Cost,
}

/// One check.
#[derive(Debug)]
pub struct Question {
    /// What it asks for; at most [`crate::CHARGES_MAX`] charges.
    pub charges: Vec<LedgerCharge>,
    /// What is to become of it.
    pub manner: Manner,
    /// What rules that only watch would ask for. Each is charged on its own, if the check was admitted, and nobody waits for it.
    pub watched: Option<Watched>,
}

/// What rules that only watch would ask for.
pub struct Watched {
    /// Each on its own.
    pub charges: Vec<LedgerCharge>,
    pub(crate) note_denied: Box<dyn Fn(usize) + Send>,
}

impl Watched {
    /// Notes that the charge at this position would have been denied.
    pub fn note_denied(&self, charge: usize) {
        (self.note_denied)(charge);
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("charges", &self.charges).finish_non_exhaustive()
    }
}

/// How a check is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manner {
    /// Charged if it is admitted.
    Check,
    /// Nothing is charged.
    Peek,
    /// Charged once, however often it is asked within the lifetime.
    Once {
        /// By which a retry is known.
        idempotency_key: OwnedKey,
        /// For how long.
        lifetime: Span,
    },
    /// Charged, to be settled by this name.
    Reserve {
        /// The name.
        id: ReservationId,
        /// Until when; afterwards the estimate stands.
        timeout: Span,
    },
}

/// What a check is told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an answer that nobody looks at limits nothing"]
pub enum Answer {
    /// It was decided.
    Decided {
        /// What was decided.
        verdict: Verdict,
        /// What is known of each bucket, in the order of the charges. Empty where the check was at fault.
        buckets: Vec<BucketState>,
        /// Upon what it rests.
        mode: StoreMode,
    },
    /// The store did not answer, and a rule would have nobody through then.
    Unavailable {
        /// When to try again.
        wait: Span,
    },
}

/// Where a bucket stands after a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketState {
    /// What it holds; none if it is in debt.
    pub remaining: Tokens,
    /// How long until it could have paid, if it denied.
    pub wait: Span,
    /// How long until it is full, if nobody spends.
    pub time_to_full: Span,
    /// Of how many equal parts of the limit these figures are one: 1 for the whole limit, more in fallback, where an instance decides by its
    /// share.
    pub instances: u32,
}

/// What reserved charges have truly cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrueCosts {
    /// Nothing: all of it is given back.
    Nothing,
    /// All the same.
    Same(Cost),
    /// Each, in their order.
    Each(Vec<Cost>),
}

/// What is given to a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gift {
    /// So much, until it is full.
    Tokens(Cost),
    /// All that it lacks.
    Reset,
}

/// Why nothing was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleFault {
    /// The reservation does not allow it.
    Refused(SettleError),
    /// The store did not answer. It may have been settled all the same.
    Down(LedgerDown),
}

/// The store did not answer in time, or cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerDown;

impl RuleCharge<'_> {
    /// The same, with its key taken along; `None` if that is no key.
    pub fn owned(&self) -> Option<LedgerCharge> {
        let bucket = Bucket { limit: BucketLimit::Rule(self.rule), key: OwnedKey::new(self.key).ok()? };
        Some(LedgerCharge { bucket, cost: self.cost })
    }
}

impl OwnedKey {
    /// Takes a key along.
    pub fn new(key: impl Key) -> Result<OwnedKey, CheckError> {
        key.with_bytes(|kind, bytes| {
            kind.accept(bytes)?;
            let bytes = match ArrayVec::try_from(bytes) {
                Ok(inline) => KeyBytes::Inline(inline),
                Err(_) => KeyBytes::Boxed(bytes.into()),
            };
            Ok(OwnedKey { kind, bytes })
        })
    }
}

impl Key for OwnedKey {
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        match &self.bytes {
            KeyBytes::Inline(bytes) => use_it(self.kind, bytes),
            KeyBytes::Boxed(bytes) => use_it(self.kind, bytes),
        }
    }
}

impl BucketState {
    /// Of a bucket that nothing is known of.
    pub const UNKNOWN: BucketState =
        BucketState { remaining: Tokens::ZERO, wait: Span::ZERO, time_to_full: Span::ZERO, instances: 1 };
}

impl Answer {
    /// The same as a check of explicit buckets in memory is told; `None` where the store did not answer.
    pub fn explicit_verdict(&self) -> Option<ExplicitVerdict> {
        let Answer::Decided { verdict, buckets, .. } = self else { return None };
        let denied = match verdict {
            Verdict::Deny { denied, .. } | Verdict::Never { denied } => *denied,
            _ => BucketSet::EMPTY,
        };
        let is_meant = |at: &usize| denied == BucketSet::EMPTY || denied.contains(*at);
        let tightness = |state: &BucketState| (state.remaining, Reverse(state.time_to_full));
        let tightest = buckets.iter().enumerate().filter(|(at, _)| is_meant(at));
        let tightest = tightest.min_by_key(|(_, state)| tightness(state));
        let (tightest, remaining, time_to_full) = tightest
            .map_or((0, Tokens::ZERO, Span::ZERO), |(at, state)| (at, state.remaining, state.time_to_full));
        Some(ExplicitVerdict { verdict: *verdict, remaining, time_to_full, tightest })
    }
}

impl fmt::Display for LedgerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for LedgerRefusal {}

impl fmt::Display for LedgerDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the shared store does not answer; try again in a moment")
    }
}

impl std::error::Error for LedgerDown {}
