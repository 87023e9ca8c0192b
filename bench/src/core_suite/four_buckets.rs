//! One check over four buckets, all or nothing: user, organisation, endpoint, everybody.
//!
//! Tollgate alone, for no peer has such a check; it is compared with Tollgate's own check of the user alone.

use std::hint::black_box;

use tollgate::{Breadth, Limiter, Rule};

use super::fill::CHUNK_KEYS;
use super::quota::Quota;
use super::stream;
use super::subject::Subject;
use super::subjects::limit_of;

const ORGANISATIONS: u32 = 10_000;
const ENDPOINTS: u32 = 100;
const GLOBALS: u32 = 1;

/// A limiter with four rules, and who belongs to the n-th check of a round besides its user.
pub(crate) struct FourBuckets {
    limiter: Limiter,
    organisation: Rule,
    endpoint: Rule,
    global: Rule,
    organisations: Vec<String>,
    endpoints: Vec<String>,
}

impl FourBuckets {
    /// Room for `users` and the three wider scopes; ready for rounds of at most `checks`.
    pub(crate) fn new(quota: Quota, users: u32, checks: u32) -> Self {
        let limit = limit_of(quota);
        // Filling hands over whole chunks, however short a round is.
        let checks = checks.max(CHUNK_KEYS);
        let keys = users + ORGANISATIONS + ENDPOINTS + GLOBALS;
        let limiter = Limiter::builder().keys_max(keys as usize).build(limit);
        let limiter = limiter.expect("a table for at least one key can be built");
        let shared = |name, breadth| limiter.shared_rule(name, limit, breadth).expect("the name is new");
        Self {
            organisation: shared("organisation", Breadth::Group),
            endpoint: shared("endpoint", Breadth::Group),
            global: shared("global", Breadth::Everyone),
            organisations: stream::others("org:", ORGANISATIONS, checks),
            endpoints: stream::others("/api/v1/", ENDPOINTS, checks),
            limiter,
        }
    }
}

impl Subject for FourBuckets {
    fn check_stream(&self, keys: &[String]) -> u64 {
        let user = self.limiter.default_rule();
        let wider = self.organisations.iter().zip(&self.endpoints);
        let checks = keys.iter().zip(wider).map(|(key, (organisation, endpoint))| {
            let charges = [
                user.charge(key.as_str()),
                self.organisation.charge(organisation.as_str()),
                self.endpoint.charge(endpoint.as_str()),
                self.global.charge(()),
            ];
            u64::from(black_box(self.limiter.check_all(&charges)).is_admitted())
        });
        checks.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{FourBuckets, Quota, Subject};

    #[test]
    fn every_key_of_the_stream_is_checked() {
        let keys: Vec<String> = (0..50).map(|key| format!("user:{key}")).collect();
        assert_eq!(FourBuckets::new(Quota::MANY_KEYS, 50, 50).check_stream(&keys), 50);
    }
}
