//! A request through a policy allocates nothing: neither the decision, nor the header fields of an admission.

use tollgate::policy::{Facts, Policy};
use tollgate::{Limiter, PolicyLimiter};

use super::allocates_nothing;

const POLICY: &str = "
rules:
  - {name: each, scope: ip, rate: 1/h, burst: 50}
  - {name: user, scope: user, limit_keys: [user, method], rate: 1/h, burst: 1000}
  - {name: search, scope: endpoint, path: /api/search, rate: 1/h, burst: 1000}
  - {name: everything, scope: global, rate: 1/h, burst: 1000}
  - {name: watched, scope: ip, rate: 1/h, burst: 1, mode: shadow}
";

#[test]
fn a_request_through_a_policy_allocates_nothing() {
    for builder in [Limiter::builder(), Limiter::builder().keep_keys()] {
        requests_allocate_nothing(
            &builder.build_with_policy(Policy::parse("policy.yaml", POLICY).unwrap()).unwrap(),
        );
    }
}

fn requests_allocate_nothing(limiter: &PolicyLimiter) {
    let headers = vec![("X-Api-Key".to_owned(), "k".to_owned())];
    let facts = Facts {
        address: Some([192, 0, 2, 1].into()),
        headers: &headers,
        user: Some("ann"),
        host: "api.example.com",
        ..Facts::new("GET", "/api//search/?q=x")
    };
    // The first takes places in the table; a policy's first use on a thread may set that thread up.
    drop(limiter.check(&facts));
    for _ in 0..20 {
        allocates_nothing(|| {
            let decision = limiter.check(&facts);
            assert!(decision.is_admitted());
            let mut bytes = 0;
            limiter.answer(&decision, |answer| {
                answer.each_header(|name, value| bytes += name.len() + value.len());
            });
            assert!(bytes > 0);
            limiter.settle(&decision, 200, |_| None);
        });
    }
    while limiter.check(&facts).is_admitted() {}
    allocates_nothing(|| limiter.check(&facts));
}
