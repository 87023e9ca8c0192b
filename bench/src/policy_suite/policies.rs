//! The policies that are measured, as users would write them.

use std::fmt::Write as _;

use tollgate::policy::Policy;

#[cfg(doc)]
use crate::core_suite::quota::Quota;
use crate::problem::Problem;

/// Twenty rules, of which four apply to an API request of a user with a plan: user, organisation, endpoint, everybody. Those four
/// have the limit of the core suite's bare check ([`Quota::MANY_KEYS`]): everything is admitted, and no bucket is full again soon.
pub(crate) fn realistic() -> Result<Policy, Problem> {
    let mut text = String::from(
        "
rules:
  - group: plans
    combine: first
    rules:
      - {name: enterprise, scope: user, plan: enterprise, rate: 24/h, burst: 30000000}
      - {name: pro, scope: user, plan: pro, rate: 24/h, burst: 30000000}
      - {name: free, scope: user, rate: 24/h, burst: 30000000}
  - {name: organisation, scope: organisation, limit_keys: ['jwt:org'], rate: 24/h, burst: 30000000}
  - {name: endpoint, scope: endpoint, limit_keys: [path], match: {path: /api/v1/*}, rate: 24/h, burst: 30000000}
  - {name: everything, scope: global, rate: 24/h, burst: 30000000}
  - {name: banned, action: block, match: {'ip:address': {cidr: [203.0.113.0/24]}}}
  - {name: health, action: allow, match: {path: /healthz}}
",
    );
    for (name, path) in [
        ("login", "/login"),
        ("password", "/password/reset"),
        ("upload", "/upload/*"),
        ("reports", "/reports/{id}"),
        ("search", "/search"),
        ("webhooks", "/webhooks/*"),
        ("export", "/export/**/*.csv"),
        ("admin", "/admin/*"),
        ("graphql", "/graphql"),
        ("images", "/images/*"),
    ] {
        let _ = writeln!(
            text,
            "  - {{name: {name}, scope: ip, match: {{path: '{path}'}}, rate: 10/s, burst: 50}}"
        );
    }
    let _ = writeln!(
        text,
        "  - {{name: writes, scope: user, match: {{method: [POST, PUT, DELETE]}}, rate: 10/s, burst: 50}}\n  - \
         {{name: partner, limit_keys: ['header:x-partner'], missing: skip, match: {{host: partners.example.com}}, rate: \
         10/s, burst: 50}}"
    );
    parse(&text)
}

/// So many rules on paths of their own, and one on everything.
pub(crate) fn wide(rules: u32) -> Result<Policy, Problem> {
    parse(&wide_text(rules))
}

/// [`wide`], as a file.
fn wide_text(rules: u32) -> String {
    let mut text =
        String::from("rules:\n  - {name: everything, scope: global, rate: 24/h, burst: 30000000}\n");
    for rule in 1..rules {
        let _ = writeln!(
            text,
            "  - {{name: r{rule}, scope: user, match: {{path: /service{}/v1/items/{rule}, method: GET}}, rate: 24/h, burst: \
             30000000}}",
            rule % 97
        );
    }
    text
}

fn parse(text: &str) -> Result<Policy, Problem> {
    Policy::parse("bench.yaml", text).map_err(|mistakes| Problem::failed(format!("{mistakes}")))
}
