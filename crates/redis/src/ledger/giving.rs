//! Giving tokens to one bucket, or filling it: in the store, so that it holds for every node.
//!
//! This node gives back first what it leases of the bucket, and forgets whom it denied. Others judge by what they remember for a second at
//! most (S5), and what they lease of it stays theirs: the store fills a bucket only beside what is out.

use std::sync::Arc;

use tollgate::Given;
use tollgate::ledger::{Bucket, Gift, LedgerDown};

use super::Inner;
use super::ready::Ready;
use crate::{Batch, KeyName, Told};

impl Inner {
    pub(super) async fn give(self: &Arc<Self>, bucket: Bucket, gift: Gift) -> Result<Given, LedgerDown> {
        let begun = self.clock.now();
        let ready = Ready::of_bucket(&self.keys.now(), &self.rules, &bucket).ok_or(LedgerDown)?;
        self.forget_denials(&ready.key);
        self.give_slice_back(&ready.key).await;
        // Not sent late: a caller that gets an error may give once more.
        if self.left_since(begun).is_zero() {
            return Err(LedgerDown);
        }
        let (key, limit) = (ready.key.clone(), ready.limit.clone());
        let add = move |batch: &mut Batch| match gift {
            Gift::Tokens(amount) => batch.give(key.clone(), &limit, amount),
            Gift::Reset => batch.reset(key.clone(), &limit),
        };
        let key = ready.key.clone();
        let mut pending = self.coalescer.submit(&[ready.key], add).map_err(|_| LedgerDown)?;
        let told = pending.within(self.left_since(begun)).await;
        // Once more: of what was denied meanwhile.
        self.forget_denials(&key);
        let Ok(Told::Changed { changed, .. }) = told else { return Err(LedgerDown) };
        if gift == Gift::Reset {
            // What was spent by this node's share is forgiven, too.
            self.locals.forget(&key);
        }
        Ok(Given { given: changed.given(), balance: changed.balance() })
    }

    /// Forgets what the store said of a bucket that denied.
    fn forget_denials(&self, key: &KeyName) {
        self.denials.forget(key);
        self.proofs.forget(key);
        self.leases.forget_denial(key);
    }
}
