//! Waiting until limits are agreed upon: until then checks are decided by this node's share.

use std::time::Duration;

use super::RedisLedger;

/// How often it is looked.
const EVERY: Duration = Duration::from_millis(2);

impl RedisLedger {
    /// Waits until every rule that was declared is agreed upon with the other nodes, so that the store decides; whether it is so
    /// within that time. To be called when a program starts: before, each node goes by its share of every limit.
    pub async fn agreed(&self, within: Duration) -> bool {
        let looking = async {
            while !self.0.rules.all().iter().all(|entry| entry.is_agreed()) {
                tokio::time::sleep(EVERY).await;
            }
        };
        tokio::time::timeout(within, looking).await.is_ok()
    }
}
