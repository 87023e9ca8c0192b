//! How each manner of asking is put into a batch, and how reservations are settled: any node settles what another has reserved.

use std::sync::Arc;
use std::time::Duration;

use tollgate::ledger::{LedgerDown, Manner, SettleFault, TrueCosts};
use tollgate::{ReservationId, SettleError, Settled};
use tollgate_core::{Cost, Tokens};

use super::late_checks::{PAUSE, TRIES_MAX};
use super::ready::Ready;
use super::{Inner, across_slots, declaring};
use crate::{
    AskError, Batch, BatchError, Call, Changed, Correction, KeyName, LinkError, Note, NotedCharge,
    NotedLimit, Reply, SCRIPT_VERSION, Script, SharedLimit, Told,
};

/// How long the record of a reservation that was made late may take to be settled: no caller waits for it.
const LATE_WITHIN: Duration = Duration::from_secs(1);

/// Adds one operation to a batch.
pub(super) type Operation = Box<dyn Fn(&mut Batch) -> Result<(), BatchError> + Send>;

impl Inner {
    /// What is to be asked of the store, and which keys that touches besides those of the buckets.
    pub(super) fn operation(
        &self,
        ready: &Ready,
        manner: Manner,
    ) -> Result<(Operation, Option<KeyName>), AskError> {
        let charges = ready.asked();
        Ok(match manner {
            Manner::Check => (Box::new(move |batch| batch.check(&charges)), None),
            Manner::Peek => (Box::new(move |batch| batch.peek(&charges)), None),
            Manner::Once { idempotency_key, lifetime } => {
                let record = self.keys.now().once(&idempotency_key, &charges).map_err(BatchError::Check)?;
                let key = record.clone();
                (Box::new(move |batch| batch.check_once(record.clone(), lifetime, &charges)), Some(key))
            }
            Manner::Reserve { id, timeout } => {
                let (record, note) = (self.keys.now().reservation(id), note(ready).to_bytes());
                let key = record.clone();
                (Box::new(move |batch| batch.reserve(record.clone(), timeout, &note, &charges)), Some(key))
            }
        })
    }

    pub(super) async fn settle(
        self: &Arc<Self>,
        id: ReservationId,
        costs: TrueCosts,
    ) -> Result<Settled, SettleFault> {
        match self.settle_locally(id, &costs) {
            Some(settled) => settled,
            None => self.settle_in_store(id, &costs, self.deadline()).await,
        }
    }

    /// Settles the record that the store made late of a reservation, so that this instance alone settles the
    /// reservation. `costs` stay charged in the store.
    pub(super) async fn settle_late_record(self: &Arc<Self>, id: ReservationId, costs: &TrueCosts) {
        for _ in 0..TRIES_MAX {
            match self.settle_in_store(id, costs, LATE_WITHIN).await {
                Err(SettleFault::Down(_)) => tokio::time::sleep(PAUSE).await,
                _ => return self.locals.is_only_here(id),
            }
        }
    }

    /// Reads the record of a reservation and settles it, all within `patience`.
    async fn settle_in_store(
        self: &Arc<Self>,
        id: ReservationId,
        costs: &TrueCosts,
        patience: Duration,
    ) -> Result<Settled, SettleFault> {
        let begun = self.clock.now();
        let left = || patience.saturating_sub(self.clock.now().since(begun).into());
        let key = self.keys.now().reservation(id);
        let record = self.record(&key, left()).await.map_err(|_| SettleFault::Down(LedgerDown))?;
        let record = record.ok_or(SettleFault::Refused(SettleError::Unknown))?;
        // What cannot be read now cannot be later: to try again would not help.
        let note = Note::of_record(&record).map_err(|_| SettleFault::Refused(SettleError::Unreadable))?;
        let estimates: Vec<Cost> = note.charges.iter().map(|charge| charge.estimate).collect();
        let due = due_of(&estimates, costs).map_err(SettleFault::Refused)?;
        let mut corrections: Vec<Correction> = Vec::with_capacity(due.len());
        for (at, (charge, actual)) in note.charges.iter().zip(due).enumerate() {
            // The store has charged a bucket once, for all its charges.
            if let Some(same) = corrections.iter_mut().find(|correction| correction.key == charge.key) {
                (same.estimate, same.actual) =
                    (same.estimate.plus(charge.estimate), same.actual.plus(actual));
                continue;
            }
            let limit = self.limit_of(&charge.limit, at, left()).await?;
            let debt_max = limit.full();
            let (key, estimate) = (charge.key.clone(), charge.estimate);
            corrections.push(Correction { key, limit, estimate, actual, debt_max });
        }
        if left().is_zero() {
            return Err(SettleFault::Down(LedgerDown));
        }
        if across_slots::is_across(&record) {
            let settling = Arc::clone(self).settle_across_slots(key, record, corrections.clone());
            // It goes on when the caller does not wait any more: the record may be gone.
            let settling = tokio::time::timeout(left(), tokio::spawn(settling)).await;
            let Ok(Ok(changed)) = settling else { return Err(SettleFault::Down(LedgerDown)) };
            let changed = changed?;
            return Ok(self.settled(&corrections, &changed));
        }
        let mut keys: Vec<KeyName> = corrections.iter().map(|correction| correction.key.clone()).collect();
        keys.push(key.clone());
        let settling = corrections.clone();
        let add = move |batch: &mut Batch| batch.settle(key.clone(), &record, &settling);
        let mut pending = self.coalescer.submit(&keys, add).map_err(|_| SettleFault::Down(LedgerDown))?;
        match pending.within(left()).await {
            Ok(Told::Settled(changed)) => Ok(self.settled(&corrections, &changed)),
            Ok(Told::Unknown) => Err(SettleFault::Refused(SettleError::Unknown)),
            _ => Err(SettleFault::Down(LedgerDown)),
        }
    }

    /// What became of a settlement. What the store said of its buckets before is not so any more.
    fn settled(&self, corrections: &[Correction], changed: &[Changed]) -> Settled {
        for correction in corrections {
            self.denials.forget(&correction.key);
            self.proofs.spent(&correction.key, Cost::micros(overrun(correction)));
            self.leases.forget_denial(&correction.key);
        }
        let forgiven = corrections
            .iter()
            .map(overrun)
            .zip(changed)
            .map(|(over, changed)| Tokens::from_micros(over.saturating_sub(changed.taken().as_micros())));
        Settled {
            returned: changed.iter().map(Changed::given).min().unwrap_or(Tokens::ZERO),
            charged: changed.iter().map(Changed::taken).max().unwrap_or(Tokens::ZERO),
            forgiven: forgiven.max().unwrap_or(Tokens::ZERO),
        }
    }

    /// What the store keeps under a name; the script that reads records reads this one, too, and keeps it no longer for that.
    pub(super) async fn record(&self, key: &KeyName, within: Duration) -> Result<Option<Vec<u8>>, LinkError> {
        let arguments = vec![SCRIPT_VERSION.to_string().into_bytes(), b"0".to_vec(), b"0".to_vec()];
        let call = Call { script: Script::declare(), keys: vec![key.as_bytes().to_vec()], arguments };
        match self.coalescer.link().call(call, within).await? {
            Reply::List(list) => match list.into_iter().nth(1) {
                Some(Reply::Bytes(record)) if !record.is_empty() => Ok(Some(record)),
                _ => Ok(None),
            },
            Reply::Error(error) => Err(LinkError::Server(crate::ServerError::of_message(&error))),
            _ => Err(LinkError::Lost),
        }
    }

    /// The limit of the `charge`-th bucket of a reservation. That of a rule which this node does not have, as when a deploy has removed or
    /// renamed it, is read from the store, where every rule has a record.
    async fn limit_of(
        &self,
        noted: &NotedLimit,
        charge: usize,
        within: Duration,
    ) -> Result<SharedLimit, SettleFault> {
        let gone = SettleFault::Refused(SettleError::LimitUnknown { charge });
        let identity = match noted {
            NotedLimit::Explicit(limit) => return SharedLimit::explicit(limit).map_err(|_| gone),
            NotedLimit::Rule(identity) => identity,
        };
        let known = self.rules.all().iter().find_map(|entry| {
            let agreed = entry.agreed.load();
            let agreed = agreed.as_ref().filter(|agreed| agreed.identity == *identity)?;
            Some(agreed.limit.clone())
        });
        match known {
            Some(limit) => Ok(limit),
            None => match declaring::limit_in_store(self, identity, within).await {
                Ok(limit) => limit.ok_or(gone),
                Err(failure) if failure.is_of_the_record() => Err(gone),
                Err(declaring::Failure::Link(_)) => Err(SettleFault::Down(LedgerDown)),
                Err(_) => Err(gone),
            },
        }
    }
}

/// What is written down of a reservation.
pub(super) fn note(ready: &Ready) -> Note {
    let mut note = Note::default();
    for charge in &ready.charges {
        let rule = charge.rule.as_ref().and_then(|rule| rule.agreed.load_full());
        let limit = match (rule, charge.token_bucket()) {
            (Some(agreed), _) => NotedLimit::Rule(agreed.identity.clone()),
            (None, Some(limit)) => NotedLimit::Explicit(*limit),
            (None, None) => continue,
        };
        note.charges.push(NotedCharge { key: charge.key.clone(), estimate: charge.cost, limit });
    }
    note
}

/// What each charge has truly cost that was estimated so.
pub(super) fn due_of(estimates: &[Cost], costs: &TrueCosts) -> Result<Vec<Cost>, SettleError> {
    let charges = estimates.len();
    match costs {
        TrueCosts::Nothing => Ok(vec![Cost::micros(0); charges]),
        TrueCosts::Each(costs) if costs.len() == charges => Ok(costs.clone()),
        TrueCosts::Each(costs) => Err(SettleError::WrongCount { charges, costs: costs.len() }),
        TrueCosts::Same(cost) => {
            match estimates.iter().position(|estimate| Some(estimate) != estimates.first()) {
                Some(charge) => Err(SettleError::CostsDiffer { charge }),
                None => Ok(vec![*cost; charges]),
            }
        }
    }
}

/// By how many micro-tokens the true cost is above what was charged.
fn overrun(correction: &Correction) -> u64 {
    correction.actual.as_micros().saturating_sub(correction.estimate.as_micros())
}
