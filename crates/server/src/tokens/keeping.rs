//! Keeps the key sets of the policy in force fresh: one task for each, begun and ended as policies come and go.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::ring::KeySource;
use super::schedule::UNKNOWN_FOR;
use super::{Tokens, fetch, refresher};

/// Goes on until it is dropped.
pub(crate) struct Keeping(JoinHandle<()>);

impl Drop for Keeping {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins to fetch what the policy in force, and every later one, has at addresses.
pub(crate) fn keep(tokens: &Arc<Tokens>) -> Keeping {
    Keeping(tokio::spawn(run(Arc::clone(tokens))))
}

async fn run(tokens: Arc<Tokens>) {
    let mut changes = tokens.sources.subscribe();
    let mut kept: Vec<(Arc<KeySource>, Keeping)> = Vec::new();
    loop {
        let wanted = changes.borrow_and_update().clone();
        kept.retain(|(source, _)| wanted.iter().any(|wanted| Arc::ptr_eq(wanted, source)));
        for source in wanted {
            if kept.iter().all(|(known, _)| !Arc::ptr_eq(known, &source)) {
                kept.push((Arc::clone(&source), begin(&tokens, source)));
            }
        }
        loop {
            tokio::select! {
                other = changes.changed() => match other {
                    Ok(()) => break,
                    Err(_) => return,
                },
                () = tokio::time::sleep(UNKNOWN_FOR), if !kept.is_empty() => tokens.unknown.forget(),
            }
        }
    }
}

fn begin(tokens: &Arc<Tokens>, source: Arc<KeySource>) -> Keeping {
    if source.endpoint.is_exposed() {
        tracing::warn!(
            source = source.name(),
            "the key set comes over plain HTTP, and whoever is on the way can put keys of his own into it; use https://"
        );
    }
    let tokens = Arc::clone(tokens);
    Keeping(tokio::spawn(async move {
        let fetch = || fetch::fetch(&source.endpoint);
        refresher::keep_fresh(tokens, Arc::clone(&source), fetch).await;
    }))
}
