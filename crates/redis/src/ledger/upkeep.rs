//! What a ledger does by itself while the store can be asked: looks which limits others have declared, and counts the instances.
//!
//! About once a second every rule's record is read, at most [`RECORDS_MAX`] of them, the others in turn: so a limit that another node
//! has declared is in force here a second later, and a bucket whose earlier limits do not matter any more is decided the short way.
//! Failures are nobody's concern: whoever checks finds out.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tollgate_core::Moment;

use super::rules::RuleEntry;
use super::{Inner, census, declaring};
use crate::LinkStatus;

/// How often limits are looked at.
const PERIOD: Duration = Duration::from_secs(1);
/// How often a store that cannot be asked is looked at.
const PAUSE: Duration = Duration::from_millis(100);
/// Most records that are read in one period.
const RECORDS_MAX: usize = 64;

/// Looks after a ledger until it is gone.
pub(super) fn run(inner: &Arc<Inner>) {
    let ledger = Arc::downgrade(inner);
    tokio::spawn(async move {
        let (mut turn, mut counted) = (0, None);
        while let Some(pause) = look_after(&ledger, &mut turn, &mut counted).await {
            tokio::time::sleep(pause).await;
        }
    });
}

/// One look; when to look again.
async fn look_after(
    ledger: &Weak<Inner>,
    turn: &mut usize,
    counted: &mut Option<Moment>,
) -> Option<Duration> {
    let inner = ledger.upgrade()?;
    if !matches!(inner.coalescer.link().status(), LinkStatus::Connected(_)) {
        return Some(PAUSE);
    }
    let now = inner.clock.now();
    if counted.is_none_or(|at| now.since(at) >= census::PERIOD) && inner.is_counted().await {
        *counted = Some(now);
    }
    let rules = inner.rules.all();
    for entry in some_of(&rules, turn) {
        if !declaring::look_again(&inner, entry).await {
            break;
        }
    }
    Some(PERIOD)
}

/// The next of them, in turn, each at most once.
fn some_of<'r>(rules: &'r [Arc<RuleEntry>], turn: &mut usize) -> impl Iterator<Item = &'r Arc<RuleEntry>> {
    let (count, begin) = (rules.len().min(RECORDS_MAX), *turn % rules.len().max(1));
    *turn = begin + count;
    rules.iter().cycle().skip(begin).take(count)
}
