//! Any bytes, read as a request: whatever a client sends, a policy decides, and its explanation agrees.
//!
//! The body of the fuzz target `request` and of the replay of its corpus.

use std::net::IpAddr;

use tollgate::policy::{
    Claims, ClientAddressSettings, Facts, ForwardingHeader, Policy, RuleBook, Trust, client_address,
    normal_path,
};

/// Every source of keys and costs, and every kind of condition.
const POLICY: &str = "
rules:
  - {name: ip, limit_keys: ['ip:address', 'ip:prefix/24,48'], rate: 1/s, burst: 5}
  - {name: header, limit_keys: ['header:x-api-key', 'cookie:session', 'query:page'], rate: 1/s, burst: 5}
  - {name: claim, limit_keys: ['jwt:org.id'], jwt_trust: upstream_verified, rate: 1/s, burst: 5}
  - {name: route, limit_keys: [path, method, host], match: {path: '/a/{id}/**'}, rate: 1/s, burst: 5}
  - {name: user, limit_keys: [user, plan, fingerprint], match: {not: {'header:x': {regex: '^a+$'}}}, rate: 1/s, burst: 5}
  - {name: cost, limit_keys: [], cost_source: 'header:x-cost', max_cost: 5, rate: 1/s, burst: 5}
  - {name: network, scope: ip, match: {'ip:address': {cidr: [10.0.0.0/8, '2001:db8::/32']}, host: '*.example.com'}, rate: 1/s, burst: 5}
";

/// Reads lines of `bytes` as method, target, host, user, plan, claims and header fields, and puts them to a policy.
///
/// # Panics
/// If anything in that panics, a path has two normal spellings, or an explanation disagrees; that is what it is for.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (method, target, host, user, plan, claims) = (line(), line(), line(), line(), line(), line());
    let claims = serde_json::from_str(claims).ok();
    let field = |line: &str| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name.to_owned(), value.trim().to_owned())
    };
    let headers: Vec<(String, String)> = lines.map(field).collect();
    let peer: Option<IpAddr> = Some([10, 0, 0, 1].into());
    for header in
        [ForwardingHeader::XForwardedFor, ForwardingHeader::Forwarded, ForwardingHeader::Single("x".into())]
    {
        for trust in [Trust::Nobody, Trust::Hops(2), Trust::Networks(vec![])] {
            let settings = ClientAddressSettings { trust: trust.clone(), header: header.clone() };
            let found = client_address(&settings, peer, &headers);
            assert!(found.address == peer || trust != Trust::Nobody, "an untrusted peer names itself alone");
        }
    }
    for (case, slash) in [(false, false), (true, false), (false, true), (true, true)] {
        let normal = normal_path(target, case, slash);
        assert_eq!(normal, normal_path(&normal, case, slash), "two normal spellings of {target:?}");
    }
    let facts = Facts {
        host,
        address: peer,
        headers: &headers,
        user: Some(user),
        plan: Some(plan),
        claims: claims.as_ref().map_or(Claims::None, Claims::Unverified),
        ..Facts::new(method, target)
    };
    let book = RuleBook::new(policy());
    let (mut hits, explained) = (0, book.explain(&facts, 0));
    let ruling = book.rule_on(&facts, 0, |hit| {
        assert!(hit.key.len() <= 512 && hit.cost.as_micros() > 0 && hit.cost.as_micros() <= 5_000_000);
        hits += 1;
    });
    assert_eq!(explained.ruling, ruling);
    assert!(hits <= 7);
}

fn policy() -> Policy {
    match Policy::parse("requests.yaml", POLICY) {
        Ok(policy) => policy,
        Err(mistakes) => unreachable!("{mistakes}"),
    }
}
