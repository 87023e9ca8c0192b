//! Wrong passwords of the RESP listener: counted, logged with the client's address, and slowed down.
//!
//! The right password is never delayed, whatever was sent from the same address before.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use tollgate::policy::{Facts, Policy};
use tollgate::{Limiter, PolicyLimiter};

use crate::engine::Engine;
use crate::policy_source::PolicyFault;

/// Wrong passwords of one client that have the short delays: an IPv4 address, or an IPv6 network of 64 bits.
const ALLOWANCE: &str = r#"{name: resp-wrong-passwords, limit_keys: ["ip:prefix"], rate: 1/s, burst: 10}"#;
/// Clients that are told apart; beyond that, some share an allowance.
const CLIENTS_MAX: usize = 4_096;
/// Delay of the reply to the first wrong password of a connection. Each further one doubles it.
const DELAY_FIRST: Duration = Duration::from_millis(100);
/// Longest delay, and the delay of clients above their allowance.
const DELAY_MAX: Duration = Duration::from_secs(2);

/// Time between two events in the log.
const EVENT_PAUSE: Duration = Duration::from_secs(10);

/// Counts wrong passwords, and delays the replies to each client.
#[derive(Debug)]
pub(crate) struct WrongPasswords {
    allowance: PolicyLimiter,
    unlogged: Arc<Mutex<Unlogged>>,
}

/// Wrong passwords of all clients that are not in the log yet.
#[derive(Debug, Default)]
struct Unlogged {
    failures: u64,
    last_peer: Option<IpAddr>,
    /// Whether a task logs the rest after [`EVENT_PAUSE`].
    is_paused: bool,
}

impl WrongPasswords {
    pub(crate) fn new() -> Result<WrongPasswords, PolicyFault> {
        let policy =
            Policy::parse("the allowance of wrong passwords", ALLOWANCE).map_err(PolicyFault::Mistakes)?;
        let built = Limiter::builder().keys_max(CLIENTS_MAX).build_with_policy(policy);
        let allowance = built.map_err(PolicyFault::Unenforceable)?;
        Ok(WrongPasswords { allowance, unlogged: Arc::default() })
    }

    /// Counts and logs `new` wrong passwords of a connection that has sent `sent` of them. Returns how long to hold back the reply.
    pub(crate) fn note(&self, engine: &Engine, peer: Option<IpAddr>, new: u32, sent: u32) -> Duration {
        engine.metrics.note_wrong_passwords(new);
        let mut unlogged = lock(&self.unlogged);
        unlogged.failures = unlogged.failures.saturating_add(new.into());
        unlogged.last_peer = peer;
        if !unlogged.is_paused && unlogged.log() {
            tokio::spawn(log_after_pauses(Arc::clone(&self.unlogged)));
        }
        drop(unlogged);
        if self.is_within_allowance(peer) { delay(sent) } else { DELAY_MAX }
    }

    /// Logs the failures since the last event: the program ends.
    pub(crate) fn log_rest(&self) {
        lock(&self.unlogged).log();
    }

    fn is_within_allowance(&self, peer: Option<IpAddr>) -> bool {
        let address = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)).to_canonical();
        self.allowance.check(&Facts { address: Some(address), ..Facts::new("AUTH", "/") }).is_admitted()
    }
}

impl Unlogged {
    /// Logs the failures since the last event, if there are any. Returns whether it did; a pause begins then.
    fn log(&mut self) -> bool {
        let failures_all_peers = std::mem::take(&mut self.failures);
        self.is_paused = failures_all_peers > 0;
        if self.is_paused {
            let last_peer = self.last_peer.map(|peer| peer.to_canonical().to_string());
            let last_peer = last_peer.as_deref().unwrap_or("unix socket");
            tracing::warn!(failures_all_peers, %last_peer, "RESP authentication failed");
        }
        self.is_paused
    }
}

/// Logs what has come up after each pause. Ends after a pause without failures.
async fn log_after_pauses(unlogged: Arc<Mutex<Unlogged>>) {
    loop {
        sleep(EVENT_PAUSE).await;
        if !lock(&unlogged).log() {
            return;
        }
    }
}

fn lock(unlogged: &Mutex<Unlogged>) -> MutexGuard<'_, Unlogged> {
    unlogged.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the delay of the reply to the wrong password number `sent`, from 1.
fn delay(sent: u32) -> Duration {
    let doublings = sent.saturating_sub(1).min(16);
    DELAY_FIRST.saturating_mul(1 << doublings).min(DELAY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_their_maximum() {
        let delays = [1, 2, 3, 4, 5, 6, 1_000].map(|sent| delay(sent).as_millis());
        assert_eq!(delays, [100, 200, 400, 800, 1_600, 2_000, 2_000]);
    }

    #[test]
    fn a_client_above_its_allowance_waits_longest_and_others_do_not() {
        let wrong = WrongPasswords::new().unwrap();
        let attacker = Some(IpAddr::from([192, 0, 2, 7]));
        let within = (0..100).filter(|_| wrong.is_within_allowance(attacker)).count();
        assert!((10..=12).contains(&within), "{within}");
        assert!(wrong.is_within_allowance(Some(IpAddr::from([192, 0, 2, 8]))));
    }
}
