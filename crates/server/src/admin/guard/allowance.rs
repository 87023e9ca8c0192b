//! How often somebody may ask, by Tollgate itself: each token and each stranger so many requests, and few wrong tokens.

use std::net::{IpAddr, Ipv4Addr};

use tollgate::policy::{Facts, Policy};
use tollgate::{Limiter, PolicyLimiter, Span};

use crate::http::{Form, Reply, Told};
use crate::policy_source::PolicyFault;

/// What each stranger may ask: an IPv4 address, or an IPv6 network of 64 bits.
const REQUESTS: &str = r#"{name: admin-requests, limit_keys: ["ip:prefix"], rate: 50/s, burst: 100}"#;
/// What the holder of each token may ask, from wherever.
const REQUESTS_OF_TOKEN: &str =
    r#"{name: admin-requests-of-token, limit_keys: ["user"], rate: 50/s, burst: 100}"#;
/// How many wrong tokens each client may send.
const FAILED_SIGN_INS: &str =
    r#"{name: admin-failed-sign-ins, limit_keys: ["ip:prefix"], rate: 1/s, burst: 10}"#;
/// Addresses and tokens that are told apart; of more, some share.
const CLIENTS_MAX: usize = 4_096;

/// Limiters of this door's own, which no policy changes.
#[derive(Debug)]
pub(crate) struct Allowance {
    requests: PolicyLimiter,
    requests_of_token: PolicyLimiter,
    failed: PolicyLimiter,
}

impl Allowance {
    pub(crate) fn new() -> Result<Allowance, PolicyFault> {
        let limiter = |text| {
            let policy = Policy::parse("the admin door's own limits", text).map_err(PolicyFault::Mistakes)?;
            let built = Limiter::builder().keys_max(CLIENTS_MAX).build_with_policy(policy);
            built.map_err(PolicyFault::Unenforceable)
        };
        Ok(Allowance {
            requests: limiter(REQUESTS)?,
            requests_of_token: limiter(REQUESTS_OF_TOKEN)?,
            failed: limiter(FAILED_SIGN_INS)?,
        })
    }

    /// The answer to a stranger who asks too often.
    pub(crate) fn ask(&self, peer: Option<IpAddr>) -> Option<Reply> {
        denial(&self.requests, &of_address(peer))
    }

    /// The answer to the holder of a token who asks too often.
    pub(crate) fn ask_with(&self, token_id: &str) -> Option<Reply> {
        denial(&self.requests_of_token, &of_token(token_id))
    }

    /// Notes a wrong token, and is the answer to somebody who sends too many. A right one is never too many: who shares an address with
    /// a guesser is not locked out, and there is nothing to guess in 256 bits.
    pub(crate) fn note_failed(&self, peer: Option<IpAddr>) -> Option<Reply> {
        denial(&self.failed, &of_address(peer))
    }
}

fn of_address(peer: Option<IpAddr>) -> Facts<'static> {
    // Whoever comes by a socket of this machine is on this machine.
    let address = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)).to_canonical();
    Facts { address: Some(address), ..Facts::new("GET", "/") }
}

fn of_token(token_id: &str) -> Facts<'_> {
    Facts { user: Some(token_id), ..Facts::new("GET", "/") }
}

fn denial(limiter: &PolicyLimiter, facts: &Facts<'_>) -> Option<Reply> {
    let decision = limiter.check(facts);
    if decision.is_admitted() {
        return None;
    }
    let told = limiter.answer(&decision, |answer| Told::of(&answer, None, Span::ZERO, Form::Alone));
    Some(told.reply(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_ask_a_hundred_times_at_once_and_err_ten_times() {
        let allowance = Allowance::new().unwrap();
        let peer = Some(IpAddr::from([192, 0, 2, 7]));
        let admitted = (0..200).filter(|_| allowance.ask(peer).is_none()).count();
        // It refills meanwhile.
        assert!((100..=150).contains(&admitted), "{admitted}");
        let admitted = (0..50).filter(|_| allowance.note_failed(peer).is_none()).count();
        assert!((10..=12).contains(&admitted), "{admitted}");
        assert!(allowance.note_failed(Some(IpAddr::from([192, 0, 2, 8]))).is_none());
    }

    #[test]
    fn the_answer_is_that_of_every_door() {
        let allowance = Allowance::new().unwrap();
        let denied = std::iter::from_fn(|| Some(allowance.note_failed(None))).flatten().next().unwrap();
        assert_eq!(denied.status().as_u16(), 429);
        for field in ["retry-after", "ratelimit", "ratelimit-policy", "tollgate-reason"] {
            assert!(denied.headers().contains_key(field), "{field}");
        }
    }
}
