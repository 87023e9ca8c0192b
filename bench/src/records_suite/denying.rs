//! Checks through a policy of which every second is denied, and noted, as a door of the service does it: with or without a log a door reads the
//! clock after each check, for how long it took; the log is told the rule that denied, and the whole story only of those that will be stored.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate::policy::{Facts, Policy};
use tollgate::{Decision, Limiter, Moment, PolicyLimiter};
use tollgate_records::{MicroTokens, Timestamp, Violation, ViolationLog};

use super::filing_room::FilingRoom;
use crate::core_suite::subject::Subject;
use crate::problem::Problem;

/// Nobody passes the gate twice a day; everybody else may.
const POLICY: &str = "
rules:
  - {name: closed, scope: user, match: {path: /closed}, rate: 1/d, burst: 1}
  - {name: open, scope: user, match: {path: /open}, rate: 10000000/s, burst: 10000000}
";
const PATHS: [&str; 2] = ["/open", "/closed"];

/// A limiter whose denials are noted, if there is a log.
pub(crate) struct HalfDenied<'r> {
    limiter: PolicyLimiter,
    log: Option<ViolationLog>,
    filing_room: Option<&'r FilingRoom>,
    denied: AtomicU64,
}

impl<'r> HalfDenied<'r> {
    /// Room for `users` under both rules; nobody may pass the closed gate any more.
    pub(crate) fn new(users: u32, filing_room: Option<&'r FilingRoom>) -> Result<HalfDenied<'r>, Problem> {
        let policy =
            Policy::parse("bench.yaml", POLICY).map_err(|mistakes| Problem::failed(mistakes.to_string()))?;
        let limiter = Limiter::builder().keys_max(2 * users as usize + 1).build_with_policy(policy);
        let limiter = limiter.map_err(|error| Problem::failed(error.to_string()))?;
        for user in 0..users {
            let user = format!("user:{user}");
            for path in PATHS {
                let _ = black_box(limiter.check(&facts(path, &user)));
            }
        }
        let log = filing_room.map(FilingRoom::log);
        Ok(HalfDenied { limiter, log, filing_room, denied: AtomicU64::new(0) })
    }

    /// How many checks were denied.
    pub(crate) fn denied(&self) -> u64 {
        self.denied.load(Ordering::Relaxed)
    }

    #[inline]
    fn note(&self, log: &ViolationLog, facts: &Facts<'_>, decision: &Decision, now: Moment) {
        let Some(rule) = decision.violated().next() else { return };
        let at = Timestamp::from_unix(self.limiter.wall_time_at(now));
        let Some(sampled) = log.sample(&rule.name, decision.identity(), at) else { return };
        sampled.store(&Violation {
            rule: &rule.name,
            key: facts.user.unwrap_or_default(),
            user: facts.user,
            address: facts.address,
            endpoint: Some(facts.target),
            at,
            tokens: MicroTokens(0),
            cost: MicroTokens::whole(1),
            reason: "rate_limited",
            door: "http",
        });
    }
}

fn facts<'a>(path: &'a str, user: &'a str) -> Facts<'a> {
    Facts { address: Some([192, 0, 2, 7].into()), user: Some(user), ..Facts::new("GET", path) }
}

impl Subject for HalfDenied<'_> {
    fn check_stream(&self, keys: &[String]) -> u64 {
        let mut admitted = 0;
        for (user, path) in keys.iter().zip(PATHS.iter().cycle()) {
            let facts = facts(path, user);
            let decision = black_box(self.limiter.check(&facts));
            let now = black_box(self.limiter.limiter().now());
            if decision.is_admitted() {
                admitted += 1;
            } else if let Some(log) = &self.log {
                self.note(log, &facts, &decision, now);
            }
        }
        self.denied.fetch_add(keys.len() as u64 - admitted, Ordering::Relaxed);
        admitted
    }

    fn settle(&self) {
        if let Some(filing_room) = self.filing_room {
            filing_room.settle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HalfDenied, Subject};

    #[test]
    fn every_second_check_is_denied() {
        let subject = HalfDenied::new(10, None).unwrap();
        let keys: Vec<String> = (0..40).map(|key| format!("user:{}", key % 10)).collect();
        assert_eq!((subject.check_stream(&keys), subject.denied()), (20, 20));
    }
}
