//! How many instances share the store: each says that it is there every two seconds, and is told how many are, and were at the most.
//!
//! For policies that do not say `instances_max`: then a share in local mode is one part in the largest number ever learned, by this
//! instance or by any before it. That may be too small: an instance that has not reached the store was never counted, and a store that was
//! emptied has forgotten. The lint `unknown-instances` says so.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tollgate_core::Span;

use super::Inner;
use crate::{Call, HISTORY_LIFETIME, LinkError, Reply, SCRIPT_VERSION, Script, ServerError};

/// How often an instance says that it is there.
pub(super) const PERIOD: Span = Span::from_secs(2);
/// After so long a silence it counts as gone: five times as long.
const SILENCE: Span = Span::from_secs(10);
/// Most instances that are counted; a policy may not name more.
const INSTANCES_MAX: u32 = 10_000;
/// How long the store may take: nobody waits.
const WITHIN: Duration = Duration::from_secs(1);

/// What is known of the number of instances.
#[derive(Debug)]
pub(super) struct Census {
    /// This one's name.
    name: String,
    now: AtomicU32,
    most: AtomicU32,
    /// Whether it was logged that they cannot be counted.
    is_told: AtomicBool,
}

impl Default for Census {
    fn default() -> Census {
        // Two keys of the hash are drawn at random for every one of these.
        let [high, low] =
            [RandomState::new(), RandomState::new()].map(|random| random.hash_one(std::process::id()));
        Census {
            name: format!("{high:016x}{low:016x}"),
            now: AtomicU32::new(0),
            most: AtomicU32::new(0),
            is_told: AtomicBool::new(false),
        }
    }
}

impl Census {
    /// How many there are, by the last answer of the store; 0 before the first.
    pub(super) fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    /// The most that were ever heard of.
    pub(super) fn most(&self) -> u32 {
        self.most.load(Ordering::Relaxed)
    }

    fn learn(&self, now: u32, most: u32) {
        self.now.store(now.min(INSTANCES_MAX), Ordering::Relaxed);
        self.most.fetch_max(most.max(now).min(INSTANCES_MAX), Ordering::Relaxed);
    }
}

impl Inner {
    /// Says that this instance is there, and learns how many are.
    async fn count_instances(self: &Arc<Self>) -> Result<(), LinkError> {
        let numbers = |number: u64| number.to_string().into_bytes();
        let arguments = vec![
            numbers(SCRIPT_VERSION.into()),
            numbers(0),
            self.census.name.clone().into_bytes(),
            numbers(SILENCE.as_nanos() / 1_000),
            numbers(HISTORY_LIFETIME.as_nanos() / 1_000_000),
            numbers(INSTANCES_MAX.into()),
        ];
        let key = self.keys.now().instances().as_bytes().to_vec();
        let call = Call { script: Script::census(), keys: vec![key], arguments };
        match self.coalescer.link().call(call, WITHIN).await? {
            Reply::List(list) => match list[..] {
                [Reply::Integer(now), Reply::Integer(most)] => {
                    let number = |number: i64| u32::try_from(number).unwrap_or(0);
                    self.census.learn(number(now), number(most));
                    Ok(())
                }
                _ => Err(LinkError::Lost),
            },
            Reply::Error(error) => Err(LinkError::Server(ServerError::of_message(&error))),
            _ => Err(LinkError::Lost),
        }
    }

    /// The same; an error of the server is logged once, until it is over. Returns whether this instance was counted.
    pub(super) async fn is_counted(self: &Arc<Self>) -> bool {
        match self.count_instances().await {
            Ok(()) => {
                self.census.is_told.store(false, Ordering::Relaxed);
                true
            }
            // These end by themselves.
            Err(LinkError::Server(ServerError::NotReady(_) | ServerError::Elsewhere(_))) => false,
            Err(LinkError::Server(error)) => {
                if !self.census.is_told.swap(true, Ordering::Relaxed) {
                    let key = self.keys.now().instances();
                    let key = String::from_utf8_lossy(key.as_bytes());
                    tracing::warn!(%key, %error, "the instances that share the store cannot be counted");
                }
                false
            }
            Err(_) => false,
        }
    }

    /// Of how many parts this node keeps one while the store does not answer.
    pub(super) fn instances(&self) -> u32 {
        self.settings.load().instances_max.unwrap_or_else(|| self.census.most().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_ever_heard_of_stays() {
        let census = Census::default();
        assert_eq!((census.now(), census.most()), (0, 0));
        for (now, most) in [(3, 7), (2, 2), (1, 0)] {
            census.learn(now, most);
            assert_eq!((census.now(), census.most()), (now, 7));
        }
        census.learn(20_000, 20_000);
        assert_eq!((census.now(), census.most()), (INSTANCES_MAX, INSTANCES_MAX));
    }

    #[test]
    fn no_two_instances_have_one_name() {
        assert_ne!(Census::default().name, Census::default().name);
        assert_eq!(Census::default().name.len(), 32);
    }
}
