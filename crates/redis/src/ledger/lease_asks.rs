//! Asks for slices, on their way to the store and back; slices that nobody needs, given back.
//!
//! One ask of a bucket is on its way at a time. An answer that comes after the deadline is taken all the same: what it grants would lie idle.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tollgate_core::{Answer, Cost};

use super::Inner;
use super::gate::Leave;
use super::leases::ToSend;
use super::proofs::Unanswered;
use crate::{AskError, Batch, KeyName, LinkError, Pending, ServerError, Told};

/// How long slices may take to be given back when the program stops.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// How often it is looked whether they are.
const CLOSE_LOOK: Duration = Duration::from_millis(2);

impl Inner {
    /// Sends an ask; `false` if the store is not to be asked now, so that it is lost. The answer is handed in by itself.
    pub(super) fn send_ask(self: &Arc<Self>, sent: ToSend) -> bool {
        let now = self.clock.now();
        let is_fit = !self.surveyed.is_unfit();
        let leave = is_fit.then(|| self.gate.allow_at(self.place_of_key(&sent.key), now)).flatten();
        let Some(leave) = leave else {
            self.ask_is_over(&sent, None);
            return false;
        };
        self.counters.lease_asks.add(1);
        let unanswered = Unanswered::charge(self, &sent.key, Cost::micros(sent.ask.want.as_micros()));
        let ToSend { key, record, limit, terms, ask } = sent.clone();
        let keys = [key.clone(), record.clone()];
        let add = move |batch: &mut Batch| batch.ask(key.clone(), &limit, record.clone(), &ask, &terms);
        match self.coalescer.submit(&keys, add) {
            Ok(pending) => {
                tokio::spawn(Arc::clone(self).await_answer(sent, leave, unanswered, pending));
                true
            }
            Err(error) => {
                unanswered.not_done();
                self.counters.note_failure(&error);
                self.gate.failed(leave, now, &error);
                self.ask_is_over(&sent, None);
                false
            }
        }
    }

    async fn await_answer(
        self: Arc<Self>,
        sent: ToSend,
        leave: Leave,
        unanswered: Unanswered,
        mut pending: Pending,
    ) {
        let begun = self.clock.now();
        let mut told = pending.within(self.deadline()).await;
        self.counters.latency.note(self.clock.now().since(begun));
        if told == Err(LinkError::TimedOut) {
            self.counters.note_failure(&LinkError::TimedOut.into());
            self.gate.overdue(&leave, self.clock.now());
            self.leases.is_late(&sent);
            // The caller waits no more, but granted tokens can be spent until the slice ends.
            told = pending.within(sent.terms.life_on_node().into()).await;
            self.counters.late.add(u64::from(told.is_ok()));
        }
        let failure: Option<AskError> = match &told {
            Ok(Told::Leased { .. }) => None,
            Ok(Told::Fault(fault)) => Some(LinkError::Server((*fault).into()).into()),
            Ok(_) => Some(
                LinkError::Server(ServerError::Other("an answer to another operation".to_owned())).into(),
            ),
            Err(error) => Some(error.clone().into()),
        };
        if let Some(error) = failure.as_ref().filter(|error| **error != LinkError::TimedOut.into()) {
            self.counters.note_failure(error);
        }
        self.tell_gate(Some(leave), failure.as_ref());
        match told {
            Ok(Told::Leased { answer: Some(answer), now_micros }) => {
                self.proofs.holds(&sent.key, answer.held);
                unanswered.replied_with(answer.balance, now_micros);
                self.ask_is_over(&sent, Some(&answer));
            }
            // A later ask was answered before.
            Ok(Told::Leased { answer: None, .. }) => {
                unanswered.not_done();
                self.ask_is_over(&sent, None);
            }
            _ => self.ask_is_over(&sent, None),
        }
    }

    fn ask_is_over(&self, sent: &ToSend, answer: Option<&Answer>) {
        let stranded = self.leases.answered(sent, answer, self.clock.now());
        self.counters.lease_stranded_micros.add(stranded.as_micros());
        if answer.is_some() {
            self.counters.lease_returned_micros.add(sent.ask.back.as_micros());
        }
    }

    /// Looks after slices from now on, if nobody does.
    pub(super) fn tend_leases(self: &Arc<Self>) {
        let is_tended = &self.leases.is_tended;
        if !is_tended.load(Ordering::Relaxed) && !is_tended.swap(true, Ordering::Relaxed) {
            tokio::spawn(tend(Arc::downgrade(self)));
        }
    }

    /// Gives back what is held for nobody; with `all`, everything. Whether answers are still on their way.
    fn give_slices_back(self: &Arc<Self>, all: bool) -> bool {
        // While the store does not answer, slices are kept: what is given back then is lost.
        let is_due = |key: &KeyName| all || self.gate.is_closed(self.place_of_key(key));
        let (asks, stranded, is_busy) = self.leases.to_give_back(all, self.clock.now(), is_due);
        self.counters.lease_stranded_micros.add(stranded.as_micros());
        for ask in asks {
            self.send_ask(ask);
        }
        is_busy
    }

    /// Gives back what this node holds of one bucket, and waits until it is back, within the deadline. What is on its way just now is not
    /// waited for: it stays this node's.
    pub(super) async fn give_slice_back(self: &Arc<Self>, key: &KeyName) {
        let now = self.clock.now();
        if let Some(back) = self.leases.to_give_back_of(key, now) {
            let seq = back.ask.seq;
            if self.send_ask(back) {
                self.has_arrived(key, seq, now).await;
            }
        }
    }

    /// Gives back all slices, as when the program stops, and waits until they are back, within a second. From now on every check is
    /// decided by the store.
    pub(super) async fn close_leases(self: &Arc<Self>) {
        self.leases.close();
        let all_back = async {
            while self.leases.len() > 0 && self.give_slices_back(true) {
                tokio::time::sleep(CLOSE_LOOK).await;
            }
        };
        if tokio::time::timeout(CLOSE_WITHIN, all_back).await.is_err() {
            tracing::warn!(
                "not all slices of leased buckets were given back in time; they end by themselves"
            );
        }
    }
}

/// Gives back what nobody needs, four times in the life of a slice, until the ledger is gone.
async fn tend(ledger: Weak<Inner>) {
    while let Some(inner) = ledger.upgrade() {
        if inner.leases.len() > 0 {
            inner.give_slices_back(false);
        }
        let pause = Duration::from(inner.settings.load().lease) / 4;
        drop(inner);
        tokio::time::sleep(pause).await;
    }
}
