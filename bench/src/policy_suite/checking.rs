//! A check through a policy: facts in, decision out, as a middleware would have it once it has verified the token.

use std::hint::black_box;

use serde_json::{Value, json};
use tollgate::policy::{Claims, Facts, Policy};
use tollgate::{Limiter, PolicyLimiter};

use super::policies;
use crate::core_suite::fill::CHUNK_KEYS;
use crate::core_suite::stream;
use crate::core_suite::subject::Subject;
use crate::problem::Problem;

const ORGANISATIONS: u32 = 10_000;
const ENDPOINTS: u32 = 100;

/// A limiter with the realistic policy, and who belongs to the n-th check of a round besides its user.
pub(crate) struct ThroughPolicy {
    limiter: PolicyLimiter,
    claims: Vec<Value>,
    organisations: Vec<usize>,
    endpoints: Vec<String>,
}

impl ThroughPolicy {
    /// Room for `users` and the wider scopes; ready for rounds of at most `checks`.
    pub(crate) fn new(users: u32, checks: u32) -> Result<Self, Problem> {
        let policy: Policy = policies::realistic()?;
        let keys = (users + ORGANISATIONS + ENDPOINTS + 1) as usize;
        let limiter = Limiter::builder().keys_max(keys).build_with_policy(policy);
        let checks = checks.max(CHUNK_KEYS);
        let org_of = |org: String| org.trim_start_matches("org:").parse().unwrap_or(0);
        Ok(Self {
            limiter: limiter.map_err(|error| Problem::failed(error.to_string()))?,
            claims: (0..ORGANISATIONS)
                .map(|org| json!({"plan": "free", "org": format!("org:{org}")}))
                .collect(),
            organisations: stream::others("org:", ORGANISATIONS, checks).into_iter().map(org_of).collect(),
            endpoints: stream::others("/api/v1/", ENDPOINTS, checks),
        })
    }
}

impl Subject for ThroughPolicy {
    fn check_stream(&self, keys: &[String]) -> u64 {
        let wider = self.organisations.iter().zip(&self.endpoints);
        let checks = keys.iter().zip(wider).map(|(user, (organisation, endpoint))| {
            let facts = Facts {
                host: "api.example.com",
                address: Some([192, 0, 2, 7].into()),
                user: Some(user),
                plan: Some("free"),
                claims: Claims::Verified(&self.claims[*organisation]),
                ..Facts::new("GET", endpoint)
            };
            u64::from(black_box(self.limiter.check(&facts)).is_admitted())
        });
        checks.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Subject, ThroughPolicy};

    #[test]
    fn four_of_twenty_rules_apply() {
        let subject = ThroughPolicy::new(10, 10).unwrap();
        assert_eq!(subject.limiter.policy().rules.len(), 20);
        assert_eq!(subject.check_stream(&["ann".to_owned()]), 1);
        let facts = super::Facts {
            user: Some("ann"),
            claims: super::Claims::Verified(&subject.claims[0]),
            ..super::Facts::new("GET", "/api/v1/7")
        };
        let decision = subject.limiter.peek(&facts);
        let rules: Vec<&str> = decision.rules().map(|rule| &*rule.name).collect();
        assert_eq!(rules, ["free", "organisation", "endpoint", "everything"]);
    }
}
