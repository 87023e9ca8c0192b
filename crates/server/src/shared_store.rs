//! The store that instances share, as an operator sees it: whether it is there, and what kind of store it is.

use std::time::Duration;

use tollgate_redis::{LinkStatus, RedisLedger, Severity};

/// How long the servers may take to tell of themselves.
const SURVEY_WITHIN: Duration = Duration::from_secs(5);

/// Says once for each change whether the store is there, and looks at the servers whenever it is there again.
pub(crate) fn follow(ledger: &RedisLedger) {
    let ledger = ledger.clone();
    tokio::spawn(async move {
        let mut watch = ledger.link().watch();
        while let Some(status) = watch.next().await {
            match status {
                LinkStatus::Connected(_) => look_at(&ledger).await,
                LinkStatus::Down(cause) => {
                    tracing::warn!(%cause, "the shared store cannot be reached; it is tried again");
                }
                LinkStatus::Connecting => {}
            }
        }
    });
}

/// Says what servers there are, and what is not as it should be.
async fn look_at(ledger: &RedisLedger) {
    match ledger.link().survey(SURVEY_WITHIN).await {
        Ok(survey) => {
            let servers: Vec<String> = survey.servers.iter().map(ToString::to_string).collect();
            tracing::info!(servers = servers.join(", "), "the shared store is connected");
            for finding in &survey.findings {
                match finding.severity() {
                    Severity::Unfit => tracing::error!("{finding}"),
                    Severity::Warning => tracing::warn!("{finding}"),
                    Severity::Note => tracing::info!("{finding}"),
                }
            }
        }
        Err(error) => tracing::warn!(%error, "the shared store cannot be looked at"),
    }
}

/// How the store is, in a word or two.
pub(crate) fn standing(ledger: Option<&RedisLedger>) -> &'static str {
    match ledger.map(|ledger| ledger.link().status()) {
        None => "memory",
        Some(LinkStatus::Connected(_)) => "connected",
        Some(LinkStatus::Connecting) => "connecting",
        Some(LinkStatus::Down(_)) => "unreachable",
    }
}
