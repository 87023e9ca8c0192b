//! The ledger that a limiter asks: [`tollgate::ledger::Ledger`] on Redis or Valkey.
//!
//! ```text
//!  question ─► ready ─► denials ─► local? ─► breaker ─► coalescer ─► script          answered by the store: exact
//!              (names,  (who was   (who is    │ late, lost        ┌► store reachable: by what the last reply proves (late_checks)
//!               limits)  denied)    not back) └► fallback ────────┴► no reply for `away_after`, breaker open: by this node's share
//! ```
//! Every question is answered within the policy's deadline, whatever becomes of the store. Where a limit was not agreed upon with the
//! other nodes yet, because the store was never reached, this node's share decides.

mod across_slots;
mod agreement;
mod answer;
mod at_once;
mod census;
mod counts;
mod declaring;
mod denials;
mod fallback;
mod gate;
mod giving;
mod in_part;
mod keys;
mod late;
mod late_checks;
mod lease_asks;
mod leased_answers;
mod leased_checks;
mod leased_rules;
mod leases;
mod locals;
mod log_lines;
mod looking;
mod outage;
mod proofs;
mod ready;
mod reservations;
mod rules;
mod surveying;
mod upkeep;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tollgate::ledger::{
    Answer, Bucket, BucketLook, BucketState, Gift, Ledger, LedgerDown, LedgerFuture, LedgerRefusal,
    LedgerRule, Manner, Question, RuleCharge, RuleNumber, SettleFault, TrueCosts, Watched,
};
use tollgate::policy::StoreSettings;
use tollgate::{Clock, Given, ReservationId, ReservationIds, Settled};
use tollgate_core::{Cost, Limit, Moment};

pub use counts::{LATENCY_BOUNDS_MICROS, LedgerCounts};

use self::census::Census;
use self::counts::Counters;
use self::declaring::Declaring;
use self::denials::Denials;
use self::fallback::FallbackLogged;
use self::gate::{Gate, Leave};
use self::keys::Keys;
use self::late::{LateReply, Latecomers};
use self::leased_checks::Slices;
use self::leased_rules::LeasedRules;
use self::leases::Leases;
use self::locals::Locals;
use self::proofs::{Proofs, Unanswered};
use self::ready::{Ready, ReadyCharge};
use self::rules::Rules;
use self::surveying::Surveyed;
use crate::{
    AskError, BatchError, Checked, Coalescer, CoalescerOptions, KeyName, KeySpace, LimitRefused, Link,
    LinkError, LinkOptions, ServerError, SharedLimit, StoreUrl, Survey, TlsError, Told,
};

/// What a ledger may take.
#[derive(Debug, Clone, Default)]
pub struct LedgerOptions {
    /// The connections.
    pub link: LinkOptions,
    /// How checks gather.
    pub coalescer: CoalescerOptions,
    /// What the names of keys begin with.
    pub keys: KeySpace,
    /// The store is asked about everybody, every time, also about those whom it has just denied. To measure what remembering them saves.
    pub forgets_denials: bool,
    /// Another clock, for tests.
    pub clock: Option<Clock>,
}

/// Buckets on Redis or Valkey. Clones are the same ledger.
#[derive(Clone)]
pub struct RedisLedger(Arc<Inner>);

struct Inner {
    coalescer: Coalescer,
    keys: Keys,
    clock: Clock,
    settings: ArcSwap<StoreSettings>,
    rules: Rules,
    declaring: Declaring,
    gate: Gate,
    denials: Denials,
    forgets_denials: bool,
    proofs: Proofs,
    leases: Leases,
    leased_rules: LeasedRules,
    locals: Locals,
    /// Of checks that are decided in part.
    reservation_ids: ReservationIds,
    latecomers: Latecomers,
    census: Census,
    /// Nanoseconds from 1970 to the clock's origin, by the wall clock when the ledger was opened.
    origin: u64,
    counters: Counters,
    explicit_fallback_logged: FallbackLogged,
    surveyed: Surveyed,
}

impl RedisLedger {
    /// Begins to connect, and returns at once: the store need not be there. Must be called within a Tokio runtime. Fails only if the
    /// files that TLS needs cannot be read.
    pub fn open(url: &StoreUrl, options: &LedgerOptions) -> Result<RedisLedger, TlsError> {
        let link = Link::open(url, &options.link)?;
        let clock = options.clock.clone().unwrap_or_else(Clock::system);
        let inner = Arc::new(Inner {
            coalescer: Coalescer::new(link, &options.coalescer),
            keys: Keys::new(&options.keys),
            origin: clock.wall_origin(),
            clock,
            settings: ArcSwap::default(),
            rules: Rules::default(),
            declaring: Declaring::default(),
            gate: Gate::default(),
            denials: Denials::default(),
            forgets_denials: options.forgets_denials,
            proofs: Proofs::default(),
            leases: Leases::default(),
            leased_rules: LeasedRules::default(),
            locals: Locals::default(),
            reservation_ids: ReservationIds::new(),
            latecomers: Latecomers::default(),
            census: Census::default(),
            counters: Counters::default(),
            explicit_fallback_logged: FallbackLogged::default(),
            surveyed: Surveyed::default(),
        });
        declaring::run(&inner);
        upkeep::run(&inner);
        log_lines::run(&inner);
        surveying::run(&inner);
        Ok(RedisLedger(inner))
    }

    /// What it has been through.
    pub fn counts(&self) -> LedgerCounts {
        self.0.counters.read(&self.0)
    }

    /// What was found when the store was last looked at, after the link had connected; `None` before. A store that is unfit
    /// ([`Survey::refusal`]) is not asked.
    pub fn survey(&self) -> Option<Arc<Survey>> {
        self.0.surveyed.last()
    }

    /// Gives back the slices of leased buckets that this node holds, and waits until they are back, within a second: to be called when the
    /// program stops, after its last check. Slices that are not given back end by themselves within two lives. From here on
    /// every check is decided by the store.
    pub async fn close(&self) {
        self.0.close_leases().await;
    }

    /// The link to the store.
    pub fn link(&self) -> &Link {
        self.0.coalescer.link()
    }
}

impl Ledger for RedisLedger {
    fn declare(
        &self,
        settings: &StoreSettings,
        rules: &[LedgerRule<'_>],
    ) -> Result<Vec<RuleNumber>, LedgerRefusal> {
        let keys = self.0.keys.of_tag(settings.hash_tag.as_deref())?;
        let numbers = self.0.rules.declare(settings, rules, self.0.clock.now())?;
        self.0.settings.store(Arc::new(settings.clone()));
        self.0.gate.set_away_after(settings.away_after.max(settings.deadline));
        if self.0.keys.put(keys) {
            // Under another tag no record of a limit is there yet.
            self.0.declaring.wake_all();
        } else {
            self.0.declaring.wake();
        }
        self.0.renew_leased_rules();
        Ok(numbers)
    }

    fn accept(&self, limit: &Limit) -> Result<(), LimitRefused> {
        SharedLimit::accept(&(*limit).into())
    }

    fn decide(&self, question: Question) -> LedgerFuture<'_, Answer> {
        let Question { charges, manner, watched } = question;
        let ready = match Ready::of(&self.0.keys.now(), &self.0.rules, charges) {
            Ok(ready) => ready,
            Err(error) => return Box::pin(std::future::ready(answer::at_fault(error))),
        };
        match self.0.look_at_slices(&ready, &manner) {
            // What most checks of leased buckets come to: nothing is awaited.
            Slices::Decided(answer) if watched.is_none() => Box::pin(std::future::ready(answer)),
            slices => Box::pin(self.0.decide(ready, manner, watched, slices)),
        }
    }

    #[inline]
    fn admit_at_once(&self, charges: &[RuleCharge<'_>], told: &mut [BucketState]) -> bool {
        // Several are paid for together or not at all, which takes longer.
        let ([charge], [told]) = (charges, told) else { return false };
        self.0.spend_at_once(charge).map(|state| *told = state).is_some()
    }

    fn watch(&self, watched: Watched) {
        self.0.watch(watched);
    }

    fn settle(&self, id: ReservationId, costs: TrueCosts) -> LedgerFuture<'_, Result<Settled, SettleFault>> {
        Box::pin(self.0.settle(id, costs))
    }

    fn settle_later(&self, id: ReservationId, costs: TrueCosts) {
        let inner = Arc::clone(&self.0);
        // Where there is no runtime any more, there is nobody to tell.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { inner.settle(id, costs).await });
        }
    }

    fn look(&self, bucket: Bucket, cost: Cost) -> LedgerFuture<'_, Result<BucketLook, LedgerDown>> {
        Box::pin(self.0.look(bucket, cost))
    }

    fn give(&self, bucket: Bucket, gift: Gift) -> LedgerFuture<'_, Result<Given, LedgerDown>> {
        Box::pin(self.0.give(bucket, gift))
    }
}

impl Inner {
    fn deadline(&self) -> Duration {
        self.settings.load().deadline.into()
    }

    async fn decide(
        self: &Arc<Self>,
        ready: Ready,
        manner: Manner,
        watched: Option<Watched>,
        slices: Slices,
    ) -> Answer {
        let answer = match slices {
            Slices::NotLeased => self.decide_exactly(ready, manner, self.clock.now()).await,
            slices => Box::pin(self.decide_by_slices(&ready, slices)).await,
        };
        if let (Some(watched), Answer::Decided { verdict, .. }) = (watched, &answer)
            && verdict.is_admitted()
        {
            self.watch(watched);
        }
        answer
    }

    /// Decides by what the store says, or what it said, or without it. The deadline counts from `begun`.
    async fn decide_exactly(self: &Arc<Self>, ready: Ready, manner: Manner, begun: Moment) -> Answer {
        let sent = self.clock.now();
        if matches!(manner, Manner::Check)
            && !self.forgets_denials
            && let Some(answer) = self.denials.judge(&ready, sent)
        {
            self.counters.denials_remembered.add(1);
            return answer;
        }
        // Whose buckets are not back in the store yet is decided here.
        let is_alone = !ready.is_agreed || self.surveyed.is_unfit();
        if is_alone || self.keeps_any(&ready) {
            if let Some(answer) = Box::pin(self.decide_in_part(&ready, &manner, begun)).await {
                return answer;
            }
            if is_alone {
                return self.fall_back(&ready, &manner);
            }
            // They may have gone back since we looked.
            if let Some(answer) = self.decide_by_kept(&ready, &manner) {
                return answer;
            }
        }
        let asked = match self.apart(&ready, &manner) {
            Ok(Some(apart)) => self.ask_apart(apart, &ready, manner == Manner::Peek, begun).await,
            Ok(None) => self.ask_at_once(&ready, &manner, begun).await,
            Err(error) => Some(Err(error)),
        };
        match asked {
            Some(Ok(checked)) => {
                self.denials.note(&ready, &checked, sent);
                answer::of_checked(&checked, ready.charges.len())
            }
            // The check itself is at fault.
            Some(Err(AskError::Batch(BatchError::Check(error)))) => answer::at_fault(error),
            // The key holds no bucket, so nothing is proven of one.
            Some(Err(error)) if is_of_the_key(&error) => {
                self.surveyed.tell_of_fault(&error, || self.begin_of_keys(&ready), sent);
                self.counters.note_failure(&error);
                self.fall_back(&ready, &manner)
            }
            Some(Err(error)) => {
                self.counters.note_failure(&error);
                self.decide_without_reply(&ready, &manner)
            }
            None => self.fall_back(&ready, &manner),
        }
    }

    /// With what the names of a check's buckets begin; what follows names a client, and is not for a log.
    fn begin_of_keys(&self, ready: &Ready) -> String {
        let keys = self.keys.now();
        let digest = |charge: &ReadyCharge| match &charge.rule {
            Some(rule) => {
                format!("{}{}… (rule `{}`)", keys.begin(), rule.identity.digest(), rule.identity.name())
            }
            None => format!("{}*…", keys.begin()),
        };
        let mut names: Vec<String> = ready.charges.iter().map(digest).collect();
        names.dedup();
        names.join(" or ")
    }

    /// Asks the store by one call; `None` if it is not to be asked now.
    async fn ask_at_once(
        self: &Arc<Self>,
        ready: &Ready,
        manner: &Manner,
        begun: Moment,
    ) -> Option<Result<Checked, AskError>> {
        let leave = self.gate.allow_at(self.place(ready), self.clock.now())?;
        Some(self.ask(ready, manner.clone(), begun, Some(leave)).await)
    }

    /// Asks the store, and waits for the reply until the deadline, which counts from `begun`. A reply that is not there by then is put aside:
    /// [`Ready::late`].
    async fn ask(
        self: &Arc<Self>,
        ready: &Ready,
        manner: Manner,
        begun: Moment,
        leave: Option<Leave>,
    ) -> Result<Checked, AskError> {
        let unanswered = (manner != Manner::Peek).then(|| Unanswered::check(self, ready));
        let submitted = self.operation(ready, manner).and_then(|(add, record)| {
            let keys: Vec<KeyName> =
                ready.charges.iter().map(|charge| charge.key.clone()).chain(record).collect();
            self.coalescer.submit(&keys, add)
        });
        let mut pending = match submitted {
            Ok(pending) => pending,
            Err(error) => {
                if let Some(unanswered) = unanswered {
                    unanswered.not_done();
                }
                self.tell_gate(leave, Some(&error));
                return Err(error);
            }
        };
        let told = pending.within(self.left_since(begun)).await;
        self.counters.latency.note(self.clock.now().since(begun));
        if told == Err(LinkError::TimedOut) {
            if let Some(leave) = &leave {
                self.gate.overdue(leave, self.clock.now());
            }
            ready.late.put(LateReply { pending, sent: begun, leave, unanswered });
            return Err(LinkError::TimedOut.into());
        }
        let asked = checked_of(told);
        self.tell_gate(leave, asked.as_ref().err());
        match (&asked, unanswered) {
            (Ok(checked), Some(unanswered)) => unanswered.replied(checked, |at| ready.key_of(at)),
            (Err(error), Some(unanswered)) if !may_be_done(error) => unanswered.not_done(),
            _ => {}
        }
        asked
    }

    /// Tells a node's breaker what came of a call.
    fn tell_gate(&self, leave: Option<Leave>, error: Option<&AskError>) {
        let Some(leave) = leave else { return };
        let now = self.clock.now();
        match error {
            // It was never sent.
            Some(AskError::Link(LinkError::Withdrawn)) => {}
            // A check that is at fault says nothing about the store, nor does what a key holds that is not ours.
            Some(error)
                if !matches!(error, AskError::Batch(BatchError::Check(_))) && !is_of_the_key(error) =>
            {
                self.gate.failed(leave, now, error);
            }
            _ => self.gate.succeeded(leave, now, &self.declaring),
        }
    }

    /// Charges rules that only watch, and counts what they would have denied. Nobody waits for it.
    fn watch(self: &Arc<Self>, watched: Watched) {
        let inner = Arc::clone(self);
        // Where there is no runtime any more, there is nobody to do it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            for (at, charge) in watched.charges.iter().enumerate() {
                let Ok(ready) = Ready::of(&inner.keys.now(), &inner.rules, vec![charge.clone()]) else {
                    continue;
                };
                if ready.is_agreed
                    && let Ok(checked) = inner.ask(&ready, Manner::Check, inner.clock.now(), None).await
                    && !checked.is_admitted()
                {
                    watched.note_denied(at);
                }
            }
        });
    }
}

/// What a check was told.
fn checked_of(told: Result<Told, LinkError>) -> Result<Checked, AskError> {
    match told? {
        Told::Checked(checked) => Ok(checked),
        Told::Fault(fault) => Err(LinkError::Server(fault.into()).into()),
        _ => Err(LinkError::Lost.into()),
    }
}

/// Whether a call that has no reply may have been done.
fn may_be_done(error: &AskError) -> bool {
    matches!(error, AskError::Link(error) if error.may_be_done())
}

/// Whether a key holds what is not ours.
fn is_of_the_key(error: &AskError) -> bool {
    matches!(error, AskError::Link(LinkError::Server(ServerError::WrongType(_))))
}

impl fmt::Debug for RedisLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLedger").field("link", self.link()).finish_non_exhaustive()
    }
}
