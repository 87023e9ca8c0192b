//! Does what was told to every instance: resets and grants of buckets in memory, each once and in their order.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tollgate_records::{Operation, OperationKind, Records, RecordsError};

use super::Operations;
use super::buckets::give;
use crate::http::{Problem, cost_of};

/// How long to wait before a database that has refused is asked again.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// How long the doors stay shut until it is known which operations are over: what is told from then on is done here, too.
const BEGUN_WITHIN: Duration = Duration::from_secs(1);
/// Less than the number of any operation.
const NOT_BEGUN: i64 = -1;

/// How far this instance has come.
#[derive(Debug)]
pub(super) struct Follower {
    /// The number of the last operation that was done here, or was over when we began; [`NOT_BEGUN`] before.
    done: watch::Sender<i64>,
}

impl Default for Follower {
    fn default() -> Follower {
        Follower { done: watch::Sender::new(NOT_BEGUN) }
    }
}

impl Follower {
    /// Waits until an operation is done here; whether it is.
    pub(super) async fn has_done(&self, number: i64, patience: Duration) -> bool {
        let mut done = self.done.subscribe();
        timeout(patience, done.wait_for(|done| *done >= number)).await.is_ok_and(|done| done.is_ok())
    }
}

impl Operations {
    /// Waits a moment until this instance follows, unless it is known that it cannot.
    pub(crate) async fn has_begun(&self) -> bool {
        let can_begin = self.engine.ledger.is_none()
            && self.records.as_ref().is_some_and(|records| records.status().is_ready());
        can_begin && self.follower.has_done(NOT_BEGUN + 1, BEGUN_WITHIN).await
    }

    /// Follows the operations on record for as long as the program runs. Ends at once where buckets are shared, or nothing is on record.
    pub(super) async fn follow(self: Arc<Operations>) {
        let Some(records) = self.records.clone().filter(|_| self.engine.ledger.is_none()) else { return };
        let mut news = records.news();
        // What was told before we began is no affair of ours: our buckets are new.
        let mut last = latest(&records).await;
        self.follower.done.send_replace(last);
        loop {
            let told = match told_since(&records, &mut last).await {
                Ok(told) => told,
                Err(error) => {
                    tracing::debug!(%error, "operations on buckets cannot be read");
                    sleep(AGAIN_AFTER).await;
                    records.ready().await;
                    continue;
                }
            };
            for operation in &told {
                if let Err(problem) = self.perform(operation).await {
                    // As fields, in which no text can be anything but text.
                    let (number, rule, key) = (operation.operation_id, &operation.rule, &operation.key);
                    tracing::warn!(
                        number,
                        rule,
                        key,
                        why = problem.detail(),
                        "an operation was not done here"
                    );
                }
                last = operation.operation_id;
                self.follower.done.send_replace(last);
            }
            // A full page may have more behind it.
            if told.is_empty() {
                self.follower.done.send_replace(last);
                if news.changed().await.is_err() {
                    return;
                }
            }
        }
    }

    async fn perform(&self, operation: &Operation) -> Result<(), Problem> {
        let buckets = self.buckets(&operation.rule, &operation.key)?;
        let tokens = match &operation.kind {
            OperationKind::Reset => None,
            OperationKind::Grant { amount } => {
                let bad = || Problem::field("amount", format!("`amount` is '{amount}'; write a number"));
                Some(cost_of("amount", amount.parse().map_err(|_| bad())?)?)
            }
        };
        give(&buckets, tokens).await?;
        let Operation { rule, key, author: by, reason, .. } = operation;
        tracing::info!(
            by,
            rule,
            key,
            reason,
            "{} of a bucket",
            if tokens.is_some() { "grant" } else { "reset" }
        );
        Ok(())
    }
}

/// The operations after the last. Where there are fewer than there were, the database is another, restored or made anew: its next is waited for.
async fn told_since(records: &Records, last: &mut i64) -> Result<Vec<Operation>, RecordsError> {
    let told = records.operations_since(*last).await?;
    if told.is_empty() {
        *last = records.latest_operation().await?.min(*last);
    }
    Ok(told)
}

async fn latest(records: &Records) -> i64 {
    loop {
        records.ready().await;
        match records.latest_operation().await {
            Ok(number) => return number,
            Err(_) => sleep(AGAIN_AFTER).await,
        }
    }
}
