//! How the tests ask: one check of a bucket, and what it is told.

use std::time::Duration;

use tollgate_core::{Burst, Cost, Limit, Rate};
use tollgate_redis::{
    Batch, Charge, Checked, KeySpace, Link, LinkError, LinkOptions, SharedLimit, StoreUrl, Told,
};

use crate::fleet::until;

/// Longer than anything takes that does not hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// F2: from the store's return until checks are answered again.
pub(crate) const RECOVERY_MAX: Duration = Duration::from_secs(1);

pub(crate) fn open(url: &str) -> Link {
    open_with(url, &LinkOptions::default())
}

pub(crate) fn open_with(url: &str, options: &LinkOptions) -> Link {
    Link::open(&StoreUrl::parse(url).unwrap(), options).unwrap()
}

/// A bucket of a thousand tokens that hardly refills.
pub(crate) fn batch_of(key: &str) -> Batch {
    let limit = Limit::new(Rate::per_day(1), Burst::tokens(1_000)).unwrap();
    let limit = SharedLimit::explicit(&limit).unwrap();
    let mut batch = Batch::new();
    batch.check(&[Charge::new(KeySpace::default().explicit(key).unwrap(), &limit, Cost::ONE)]).unwrap();
    batch
}

/// Takes one token.
pub(crate) async fn check(link: &Link, key: &str, within: Duration) -> Result<Checked, LinkError> {
    let batch = batch_of(key);
    let reply = link.call(batch.call(), within).await?;
    match &batch.read(&reply)?[..] {
        [Told::Checked(checked)] => Ok(checked.clone()),
        other => panic!("{other:?}"),
    }
}

/// What is left after taking one token.
pub(crate) async fn left(link: &Link, key: &str) -> i64 {
    let checked = check(link, key, PATIENCE).await.unwrap_or_else(|error| panic!("{error}"));
    checked.buckets[0].balance / 1_000_000
}

/// Waits until checks are answered; each attempt has the deadline that the service gives it.
pub(crate) async fn answers_again(link: &Link, within: Duration) {
    let is_answered = || async { check(link, "is it back", Duration::from_millis(50)).await.is_ok() };
    until("checks are answered", within, is_answered).await;
}

/// Waits until checks are not answered any more.
pub(crate) async fn notices(link: &Link, within: Duration) {
    let is_refused = || async {
        matches!(check(link, "is it gone", Duration::from_millis(50)).await, Err(LinkError::NotConnected(_)))
    };
    until("the loss is noticed", within, is_refused).await;
}
