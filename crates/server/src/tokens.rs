//! Tokens at the doors (K4): who sent a request, by the keys that the policy in force names.
//!
//! ```text
//!  policy ─► Ring: files, secrets ──┐
//!  keeping ─► refresher ─► fetch ───┴─► Keys ─► read: a token's bearer, or nobody
//!              ▲ every few minutes          │
//!              └──── an unknown `kid` ◄─────┘  at most every 10 s
//! ```
//! Promises that a check neither waits for the network nor takes a lock: it reads the keys at hand, and a token that they do not
//! verify counts as none. Reads no clock: tokens are judged by the limiter's.

mod endpoint;
mod fetch;
mod keeping;
mod refresher;
mod ring;
mod schedule;
mod unknown_keys;

#[cfg(test)]
mod mint;
#[cfg(test)]
mod promises;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, watch};
use tollgate::InForce;
use tollgate::jwt::{Bearer, JwtKeyError, TokenFault, named_key, token_in};
use tollgate::policy::{Headers, JwtSettings};

use crate::metrics::{TokenCounts, TokenResult};
pub(crate) use keeping::keep;
use ring::{KeySource, Keys, Ring};
use unknown_keys::UnknownKeys;

/// How long a start waits for key sets that are to be fetched.
const START_PATIENCE: Duration = Duration::from_secs(2);

/// The keys of the policy in force, and what is done to keep them fresh.
pub(crate) struct Tokens {
    /// None if the policy names none.
    keys: ArcSwapOption<Keys>,
    /// What keys are made of. Held by whoever changes them, never by a check.
    ring: Mutex<Ring>,
    /// Files of keys that were looked for last, whether they were there or not.
    tried: Mutex<Vec<PathBuf>>,
    sources: watch::Sender<Vec<Arc<KeySource>>>,
    unknown: UnknownKeys,
    counts: TokenCounts,
    /// Told after every attempt to fetch a key set.
    attempted: Notify,
}

/// How the keys are, for readiness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// All are at hand.
    Ready,
    /// A key set could not be fetched again; the one before counts.
    Stale,
    /// A key set has not come yet: its tokens count as none.
    Waiting,
}

/// Keys that are to be in force, once the policy is.
pub(crate) struct Change<'t> {
    tokens: &'t Tokens,
    ring: MutexGuard<'t, Ring>,
    next: Ring,
    keys: Option<Keys>,
}

impl Tokens {
    pub(crate) fn new(counts: TokenCounts) -> Tokens {
        Tokens {
            keys: ArcSwapOption::empty(),
            ring: Mutex::default(),
            tried: Mutex::default(),
            sources: watch::Sender::new(Vec::new()),
            unknown: UnknownKeys::default(),
            counts,
            attempted: Notify::new(),
        }
    }

    /// Reads the keys that a policy names. Nothing changes before [`Change::commit`].
    pub(crate) fn change(&self, settings: Option<&JwtSettings>) -> Result<Change<'_>, JwtKeyError> {
        *lock(&self.tried) = ring::files(settings);
        let ring = lock(&self.ring);
        let next = Ring::read(settings, &ring)?;
        let keys = next.keys()?;
        Ok(Change { tokens: self, ring, next, keys })
    }

    /// Who sent a request, by its token; nobody, if that does not count.
    pub(crate) fn read(
        &self,
        policy: &InForce<'_>,
        headers: &dyn Headers,
        unix_s: impl FnOnce() -> u64,
    ) -> Bearer {
        let keys = self.keys.load();
        let (bearer, result) = match &*keys {
            Some(keys) => self.verified(keys, headers, unix_s),
            None if !policy.trusts_upstream_claims() => return Bearer::default(),
            None => match Bearer::by_own_account(policy, headers) {
                Ok(bearer) if bearer == Bearer::default() => (bearer, TokenResult::Absent),
                Ok(bearer) => (bearer, TokenResult::Unverified),
                Err(fault) => (Bearer::default(), TokenResult::Fault(fault)),
            },
        };
        self.counts.note(result);
        bearer
    }

    fn verified(
        &self,
        keys: &Keys,
        headers: &dyn Headers,
        unix_s: impl FnOnce() -> u64,
    ) -> (Bearer, TokenResult) {
        let Some(token) = token_in(keys.verifier.header(), headers) else {
            return (Bearer::default(), TokenResult::Absent);
        };
        match keys.verifier.verify(token, unix_s()) {
            Ok(claims) => (Bearer::of_verified(claims, &keys.settings), TokenResult::Verified),
            Err(fault) => {
                if !keys.sources.is_empty() {
                    self.want_key_of(keys, token, fault);
                }
                let is_waiting = fault == TokenFault::UnknownKey && keys.waiting > 0;
                let result = if is_waiting { TokenResult::Waiting } else { TokenResult::Fault(fault) };
                (Bearer::default(), result)
            }
        }
    }

    /// Asks for fresh key sets if one of them could verify the token, unless that was asked for lately.
    fn want_key_of(&self, keys: &Keys, token: &str, fault: TokenFault) {
        use TokenFault::{AlgorithmRefused, BadSignature, UnknownKey};
        // Keys without a name are tried for every token, so a token of an unknown key may fail in other ways, too.
        if !matches!(fault, UnknownKey | BadSignature | AlgorithmRefused) {
            return;
        }
        let Ok(kid) = named_key(token) else { return };
        let is_here = kid.as_deref().is_some_and(|kid| keys.verifier.has_key(kid));
        if !is_here && self.unknown.is_news(kid.as_deref()) {
            keys.sources.iter().for_each(|source| source.wanted.notify_one());
        }
    }

    /// Asks for fresh key sets, which are fetched at most every 10 s.
    pub(crate) fn want_fresh(&self) {
        if let Some(keys) = &*self.keys.load() {
            keys.sources.iter().for_each(|source| source.wanted.notify_one());
        }
    }

    /// Whether the key set came before, perhaps for another policy.
    fn has_set(&self, source: &Arc<KeySource>) -> bool {
        lock(&self.ring).has_set(source)
    }

    /// Puts a fetched key set in force. One that is no use changes nothing.
    fn put(&self, source: &Arc<KeySource>, text: &str) -> Result<(), JwtKeyError> {
        let mut ring = lock(&self.ring);
        let next = ring.with_fetched(source, text);
        let keys = next.keys()?;
        *ring = next;
        self.keys.store(keys.map(Arc::new));
        Ok(())
    }

    /// Notes whether a key set could be fetched. If not, the one before stays.
    fn note_attempt(&self, source: &Arc<KeySource>, is_ok: bool) {
        if !is_ok {
            let mut ring = lock(&self.ring);
            ring.note_failure(source);
            if let Some(keys) = &*self.keys.load() {
                self.keys.store(Some(Arc::new(ring.counted(keys))));
            }
        }
        source.note_attempt();
        self.counts.note_refresh(is_ok);
        self.attempted.notify_waiters();
    }

    /// How the keys are; none if the policy names none.
    pub(crate) fn standing(&self) -> Option<Standing> {
        self.keys.load().as_ref().map(|keys| match (keys.waiting, keys.failing) {
            (0, 0) => Standing::Ready,
            (0, _) => Standing::Stale,
            _ => Standing::Waiting,
        })
    }

    /// Keys at hand, and key sets that are not as fresh as they should be.
    pub(crate) fn figures(&self) -> (usize, usize) {
        self.keys.load().as_ref().map_or((0, 0), |keys| (keys.verifier.keys(), keys.waiting + keys.failing))
    }

    /// The files whose changes matter: of the keys in force, and of those that were refused last.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = lock(&self.tried).clone();
        let in_force = lock(&self.ring).files();
        files.extend(in_force.into_iter().filter(|file| !files.contains(file)).collect::<Vec<_>>());
        files
    }

    /// Returns when every key set was fetched or could not be, for the first time, and after [`START_PATIENCE`] at the latest.
    pub(crate) async fn first_keys(&self) {
        let all_attempted = async {
            loop {
                let attempted = self.attempted.notified();
                let is_done = |keys: &Arc<Keys>| keys.sources.iter().all(|source| source.was_attempted());
                if self.keys.load().as_ref().is_none_or(is_done) {
                    return;
                }
                attempted.await;
            }
        };
        let _ = tokio::time::timeout(START_PATIENCE, all_attempted).await;
    }
}

impl Change<'_> {
    /// Whether other keys would be in force than now, or for other tokens.
    pub(crate) fn is_other(&self) -> bool {
        *self.ring != self.next
    }

    /// Puts the keys in force.
    pub(crate) fn commit(mut self) {
        let sources = self.next.sources();
        *self.ring = self.next;
        self.tokens.keys.store(self.keys.map(Arc::new));
        self.tokens.sources.send_replace(sources);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
