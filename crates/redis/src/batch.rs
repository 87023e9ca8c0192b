//! A batch of operations that have nothing to do with one another: one call of the script, one round trip.
//!
//! Bounded in operations, keys and bytes. Each check is all or nothing; the batch is not: every operation has an answer of its own.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tollgate::CheckError;
use tollgate_core::{Ask, BucketSet, CHARGES_MAX, Cost, LeaseTerms, Span, Tokens};

use crate::item::{Charge, Correction, Due, Item, KeyRef, RESERVATION_TIMEOUT_MAX, Wanted};
use crate::run::{Run, runs};
use crate::shared_limit::StateKind;
use crate::terms::BURST_MICROS_MAX;
use crate::words::Words;
use crate::{BatchError, Call, KeyName, Receipt, Script, SharedLimit};

/// Most operations of one batch.
pub const ITEMS_MAX: usize = 1_024;
/// Most keys of one batch: a script can hand on fewer than 8,000 at once.
pub const KEYS_MAX: usize = 4_096;
/// Most bytes of keys and arguments, about.
pub const BATCH_BYTES_MAX: usize = 1 << 20;
/// About what an operation's words take, besides keys and notes.
const WORD_BYTES: usize = 24;

/// Operations to be sent together.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    keys: HashMap<KeyName, KeyRef>,
    values: Vec<KeyName>,
    sorted_sets: Vec<KeyName>,
    numbers: HashMap<SharedLimit, usize>,
    pub(crate) limits: Vec<SharedLimit>,
    pub(crate) items: Vec<Item>,
    bytes: usize,
}

impl Batch {
    /// An empty one.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Keeps only the operations whose position `keeps`.
    pub(crate) fn keep_only(&mut self, keeps: impl Fn(usize) -> bool) {
        let mut at = 0;
        self.items.retain(|_| {
            at += 1;
            keeps(at - 1)
        });
    }

    /// Asks all buckets, and charges all of them or none. Charges to the same key are added up, and must have the same limit.
    pub fn check(&mut self, charges: &[Charge]) -> Result<(), BatchError> {
        refuse_places(charges)?;
        self.enter(charges)
    }

    /// [`Batch::check`], where charges may take places: whoever asks gives them back by [`Batch::let_go`].
    pub fn enter(&mut self, charges: &[Charge]) -> Result<(), BatchError> {
        let wanted = self.wanted(charges, 1)?;
        self.push(Item::Check { wanted }, 0);
        Ok(())
    }

    /// Gives back a whole charge that was made, by its receipt: places by whoever is done, tokens of a check that came to nothing. No more
    /// than if it had never been made: what the bucket would have minted beyond full meanwhile is lost, as is what a reset has forgiven.
    /// Places that have timed out are others' by then. In a leaky bucket, only the last one in gives back. Not idempotent: do it once.
    pub fn let_go(
        &mut self,
        key: KeyName,
        limit: &SharedLimit,
        cost: Cost,
        receipt: Receipt,
    ) -> Result<(), BatchError> {
        let (key, limit) = self.bucket(key, limit)?;
        let cost = cost.as_micros().min(BURST_MICROS_MAX);
        self.push(Item::LetGo { key, limit, cost, receipt }, 0);
        Ok(())
    }

    /// What [`Batch::check`] would be told. Charges nothing; a cost of 0 only looks.
    pub fn peek(&mut self, charges: &[Charge]) -> Result<(), BatchError> {
        let wanted = self.wanted(charges, 0)?;
        self.push(Item::Peek { wanted }, 0);
        Ok(())
    }

    /// [`Batch::check`], once: a retry within `lifetime` of the admission is told the same and costs nothing. `record` is the name that
    /// [`crate::KeySpace::once`] gives.
    pub fn check_once(
        &mut self,
        record: KeyName,
        lifetime: Span,
        charges: &[Charge],
    ) -> Result<(), BatchError> {
        if lifetime == Span::ZERO {
            return Err(CheckError::ZeroLifetime.into());
        }
        refuse_places(charges)?;
        let wanted = self.wanted(charges, 1)?;
        let lifetime_ms = lifetime.as_nanos().div_ceil(1_000_000);
        let record = self.key(record, StateKind::Value);
        self.push(Item::Once { record, lifetime_ms, wanted }, 0);
        Ok(())
    }

    /// [`Batch::check`], to be settled within `timeout`. `record` is the name that [`crate::KeySpace::reservation`] gives; `note` is
    /// what whoever settles will want to know. A retry with the same record is told the same and costs nothing.
    pub fn reserve(
        &mut self,
        record: KeyName,
        timeout: Span,
        note: &[u8],
        charges: &[Charge],
    ) -> Result<(), BatchError> {
        if timeout == Span::ZERO || timeout > RESERVATION_TIMEOUT_MAX {
            return Err(BatchError::BadTimeout);
        }
        let wanted = self.wanted(charges, 1)?;
        let timeout_ms = timeout.as_nanos().div_ceil(1_000_000);
        let record = self.key(record, StateKind::Value);
        self.push(Item::Reserve { record, timeout_ms, note: note.to_vec(), wanted }, note.len());
        Ok(())
    }

    /// Settles a reservation: `expected` is what its record holds. Less than the estimate is given back; more is taken, into debt if need
    /// be. One correction for each bucket that was charged, in the order of the charges.
    pub fn settle(
        &mut self,
        record: KeyName,
        expected: &[u8],
        corrections: &[Correction],
    ) -> Result<(), BatchError> {
        self.accept(corrections.len(), expected.len())?;
        let mut due = Vec::with_capacity(corrections.len());
        for correction in corrections {
            let burst = correction.limit.full().as_micros();
            due.push(Due {
                key: self.key(correction.key.clone(), correction.limit.state()),
                limit: self.limit(&correction.limit),
                estimate: correction.estimate.as_micros().min(BURST_MICROS_MAX),
                actual: correction.actual.as_micros().min(BURST_MICROS_MAX),
                // So that no sum is above 2^53.
                debt_max: correction.debt_max.as_micros().min(BURST_MICROS_MAX.saturating_sub(burst)),
            });
        }
        let record = self.key(record, StateKind::Value);
        self.push(Item::Settle { record, expected: expected.to_vec(), due }, expected.len());
        Ok(())
    }

    /// Gives a bucket up to `amount`, until it is full: a refund, or a grant.
    pub fn give(&mut self, key: KeyName, limit: &SharedLimit, amount: Cost) -> Result<(), BatchError> {
        if amount == Cost::micros(0) {
            return Err(CheckError::ZeroCost.into());
        }
        let (key, limit) = self.bucket(key, limit)?;
        self.push(Item::Give { key, limit, amount: amount.as_micros().min(BURST_MICROS_MAX) }, 0);
        Ok(())
    }

    /// Takes up to `amount` from a bucket whether it holds that or not, but no deeper into debt than `debt_max`: what was spent elsewhere.
    pub fn take(
        &mut self,
        key: KeyName,
        limit: &SharedLimit,
        amount: Cost,
        debt_max: Tokens,
    ) -> Result<(), BatchError> {
        let most = BURST_MICROS_MAX.saturating_sub(limit.full().as_micros());
        let (key, limit) = self.bucket(key, limit)?;
        let amount = amount.as_micros().min(BURST_MICROS_MAX);
        self.push(Item::Take { key, limit, amount, debt_max: debt_max.as_micros().min(most) }, 0);
        Ok(())
    }

    /// Fills a bucket, whatever it has spent or owes. Reservations from before give nothing back.
    pub fn reset(&mut self, key: KeyName, limit: &SharedLimit) -> Result<(), BatchError> {
        let (key, limit) = self.bucket(key, limit)?;
        self.push(Item::Reset { key, limit }, 0);
        Ok(())
    }

    /// A node asks for a slice of a token bucket, says what it holds of it, and gives back: as [`tollgate_core::ask_ledger`] decides. `record` is the
    /// name that [`KeyName::lease_record`] gives; `terms` are those of the limit.
    pub fn ask(
        &mut self,
        key: KeyName,
        limit: &SharedLimit,
        record: KeyName,
        ask: &Ask,
        terms: &LeaseTerms,
    ) -> Result<(), BatchError> {
        let (key, limit) = self.bucket(key, limit)?;
        let record = self.key(record, StateKind::Value);
        let [unspent, back, want, least] = [ask.unspent, ask.back, ask.want, ask.least]
            .map(|tokens| tokens.as_micros().min(BURST_MICROS_MAX));
        let numbers = [ask.seq, unspent, back, want, least, terms.ahead_max(), terms.life_micros()];
        self.push(Item::Ask { key, limit, record, numbers }, 0);
        Ok(())
    }

    /// What to send.
    pub fn call(&self) -> Call {
        let mut words = Words::begin(self.values.len());
        words.number(self.limits.len() as u64);
        for limit in &self.limits {
            limit.words().iter().for_each(|word| words.text(word.as_bytes()));
        }
        for run in runs(&self.items) {
            match run {
                Run::Many(checks) => {
                    let wanted = || checks.iter().filter_map(Item::wanted);
                    words.many(wanted().next().unwrap_or_default(), wanted());
                }
                Run::One(item) => words.item(item),
            }
        }
        let keys = self.values.iter().chain(&self.sorted_sets).map(|key| key.as_bytes().to_vec()).collect();
        Call { script: Script::decide(), keys, arguments: words.into_arguments() }
    }

    /// The buckets that charges name, each once.
    fn wanted(&mut self, charges: &[Charge], cost_min: u64) -> Result<Vec<Wanted>, BatchError> {
        let mut merged: Vec<(&Charge, Wanted)> = Vec::with_capacity(charges.len());
        match charges.len() {
            0 => return Err(CheckError::NoCharges.into()),
            charges if charges > CHARGES_MAX => return Err(CheckError::TooManyCharges { charges }.into()),
            _ => {}
        }
        self.accept(charges.len(), 0)?;
        for (index, charge) in charges.iter().enumerate() {
            let (cost, keep) = (charge.cost.as_micros(), charge.keep.as_micros());
            if cost < cost_min {
                return Err(CheckError::ZeroCost.into());
            }
            match merged.iter_mut().find(|(first, _)| first.key == charge.key) {
                Some((first, _)) if first.limit != charge.limit => {
                    return Err(CheckError::TierConflict { charge: index }.into());
                }
                Some((_, wanted)) => {
                    wanted.cost = wanted.cost.saturating_add(cost);
                    wanted.keep = wanted.keep.max(keep);
                    wanted.members.insert(index);
                }
                None => {
                    let (key, members) = (KeyRef::Value(0), BucketSet::of(index));
                    merged.push((charge, Wanted { key, limit: 0, cost, keep, members }));
                }
            }
        }
        // Above every burst all are alike, and the script counts to 2^53.
        let most = BURST_MICROS_MAX + 1;
        let numbered = merged.into_iter().map(|(charge, wanted)| Wanted {
            key: self.key(charge.key.clone(), charge.limit.state()),
            limit: self.limit(&charge.limit),
            cost: wanted.cost.min(most),
            keep: wanted.keep.min(most),
            ..wanted
        });
        Ok(numbered.collect())
    }

    fn bucket(&mut self, key: KeyName, limit: &SharedLimit) -> Result<(KeyRef, usize), BatchError> {
        self.accept(1, 0)?;
        Ok((self.key(key, limit.state()), self.limit(limit)))
    }

    /// Whether another operation over so many buckets fits in.
    fn accept(&self, buckets: usize, note_bytes: usize) -> Result<(), BatchError> {
        let keys = self.keys.len() + buckets + 1;
        let bytes = self.bytes + note_bytes + (buckets + 1) * (crate::KEY_NAME_BYTES_MAX + 5 * WORD_BYTES);
        let fits = self.items.len() < ITEMS_MAX && keys <= KEYS_MAX && bytes <= BATCH_BYTES_MAX;
        if fits { Ok(()) } else { Err(BatchError::Full) }
    }

    fn push(&mut self, item: Item, note_bytes: usize) {
        let buckets = item.wanted().map_or(1, <[Wanted]>::len);
        self.bytes += note_bytes + (buckets + 1) * 5 * WORD_BYTES;
        self.items.push(item);
    }

    fn key(&mut self, name: KeyName, state: StateKind) -> KeyRef {
        match self.keys.entry(name) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.bytes += new.key().as_bytes().len();
                let (list, number): (_, fn(usize) -> KeyRef) = match state {
                    StateKind::Value => (&mut self.values, KeyRef::Value),
                    StateKind::SortedSet => (&mut self.sorted_sets, KeyRef::SortedSet),
                };
                list.push(new.key().clone());
                *new.insert(number(list.len()))
            }
        }
    }

    fn limit(&mut self, limit: &SharedLimit) -> usize {
        if let Some(last) = self.limits.len().checked_sub(1).filter(|last| self.limits[*last] == *limit) {
            return last;
        }
        let number = self.number(limit);
        for sibling in limit.siblings() {
            self.number(sibling);
        }
        number
    }

    fn number(&mut self, limit: &SharedLimit) -> usize {
        *self.numbers.entry(limit.clone()).or_insert_with(|| {
            self.bytes += limit.words().iter().map(String::len).sum::<usize>();
            self.limits.push(limit.clone());
            self.limits.len() - 1
        })
    }
}

/// Refuses places that nobody would give back.
fn refuse_places(charges: &[Charge]) -> Result<(), CheckError> {
    match charges.iter().position(|charge| charge.limit.takes_places()) {
        Some(charge) => Err(CheckError::NeedsGuard { charge }),
        None => Ok(()),
    }
}
