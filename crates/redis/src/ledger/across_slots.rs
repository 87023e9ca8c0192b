//! A check whose buckets are in several slots of a cluster (S3): no script reaches two of them, so it is done by holds.
//!
//! ```text
//!  look at all slots at once ──► one denies: told so, nothing was written
//!         │ all could pay
//!         ▼
//!  hold slot after slot, narrow before broad ──► one denies, fails or is late: release those before it
//!         │ all have paid
//!         ▼
//!  write the record, if it is to be settled or charged once ──► there is one: release all, tell what that says
//! ```
//! It promises that an interval never admits more than one bucket alone would; that a check which is not admitted leaves at most what was
//! minted during its holds charged; and an answer within the deadline of the check. Why: `docs/decisions/0024-across-slots.md`. Whoever
//! holds goes on when nobody waits any more, so that what comes late is released, too. Without a cluster nothing of this happens.

mod group;
mod holder;
mod record;
mod release;
mod settling;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tollgate::ledger::Manner;
use tollgate_core::{Moment, Span};

use self::group::{Group, groups};
use self::holder::Holder;
pub(super) use self::record::is_across;
use super::Inner;
use super::gate::{Leave, Place};
use super::ready::Ready;
use crate::{AskError, Batch, Checked, KeyName, LinkError, slot_of};

/// How long a record may take to be written: nobody waits so long, but it is worth to know what became of it.
const PATIENCE: Duration = Duration::from_secs(1);

/// A check that is to be done slot by slot.
pub(super) struct Apart {
    groups: Vec<Group>,
    /// Whether charges may take places: who settles gives them back.
    takes_places: bool,
    record: Option<Record>,
}

/// What is written when all have paid.
struct Record {
    key: KeyName,
    milliseconds: u64,
    note: Vec<u8>,
    /// Or a check that is charged once.
    is_reservation: bool,
}

impl Inner {
    /// The same check slot by slot; `None` if one call does it. Fails if it makes no sense.
    pub(super) fn apart(&self, ready: &Ready, manner: &Manner) -> Result<Option<Apart>, AskError> {
        let is_one = ready.charges.len() == 1 && matches!(manner, Manner::Check | Manner::Peek);
        if is_one || !self.coalescer.link().is_cluster() {
            return Ok(None);
        }
        let groups = groups(ready);
        let (add, key) = self.operation(ready, manner.clone())?;
        let key_slot = key.as_ref().map(|key| slot_of(key.as_bytes()));
        let first = groups.first().map(|group| group.slot);
        if groups.len() <= 1 && (key_slot.is_none() || key_slot == first) {
            return Ok(None);
        }
        // Whatever is wrong with it is found before anything is held.
        add(&mut Batch::new())?;
        let millis = |span: Span| span.as_nanos().div_ceil(1_000_000);
        let (milliseconds, note, is_reservation) = match manner {
            Manner::Check | Manner::Peek => (0, Vec::new(), false),
            Manner::Once { lifetime, .. } => (millis(*lifetime), Vec::new(), false),
            Manner::Reserve { timeout, .. } => {
                (millis(*timeout), super::reservations::note(ready).to_bytes(), true)
            }
        };
        let record = key.map(|key| Record { key, milliseconds, note, is_reservation });
        Ok(Some(Apart { groups, takes_places: is_reservation, record }))
    }

    /// Asks slot by slot, within the deadline; `None` if a node is not to be asked now. An admission that may stand without the caller's
    /// knowledge is put aside: [`Ready::late`].
    pub(super) async fn ask_apart(
        self: &Arc<Self>,
        apart: Apart,
        ready: &Ready,
        is_peek: bool,
        begun: Moment,
    ) -> Option<Result<Checked, AskError>> {
        let leaves = self.leaves(&apart, self.clock.now())?;
        let (answer, mut told) = oneshot::channel();
        let (stands, standing) = oneshot::channel();
        let has_record = apart.record.is_some();
        let holder = Holder { inner: Arc::clone(self), apart, begun, answer, stands };
        tokio::spawn(holder.run(leaves, is_peek));
        let in_time = tokio::time::timeout(self.left_since(begun), &mut told).await;
        let told = if let Ok(told) = in_time {
            told.unwrap_or(Err(LinkError::Closed.into()))
        } else {
            // Either it is told by now, or whoever tells it finds that nobody listens.
            told.close();
            told.try_recv().unwrap_or(Err(LinkError::TimedOut.into()))
        };
        self.counters.latency.note(self.clock.now().since(begun));
        // Without a record all is given back that was held.
        if told.is_err() && has_record {
            ready.late.put_standing(standing);
        }
        Some(told)
    }

    /// Where the buckets of a check are that one call does.
    pub(super) fn place(&self, ready: &Ready) -> Place {
        ready.charges.first().map_or(Place::ANY, |charge| self.place_of_key(&charge.key))
    }

    /// Where a key is.
    pub(super) fn place_of_key(&self, key: &KeyName) -> Place {
        if self.coalescer.link().is_cluster() { self.place_of(slot_of(key.as_bytes())) } else { Place::ANY }
    }

    /// Where a slot is.
    pub(super) fn place_of(&self, slot: u16) -> Place {
        Place::of_node(self.coalescer.link().node_number(slot))
    }

    /// Leave to ask every node that is concerned, each once.
    fn leaves(&self, apart: &Apart, now: Moment) -> Option<Vec<(Place, Leave)>> {
        let record = apart.record.iter().map(|record| slot_of(record.key.as_bytes()));
        let slots = apart.groups.iter().map(|group| group.slot).chain(record);
        let mut places: Vec<Place> = slots.map(|slot| self.place_of(slot)).collect();
        places.sort_unstable();
        places.dedup();
        // First who may refuse: nobody's only probe is spent for nothing then.
        places.sort_by_key(|place| self.gate.is_closed(*place));
        places.into_iter().map(|place| Some((place, self.gate.allow_at(place, now)?))).collect()
    }
}
