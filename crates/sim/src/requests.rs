//! Any bytes, read as a request: whatever a client sends, a policy decides, and its explanation agrees.
//!
//! The body of the fuzz target `request` and of the replay of its corpus.

use std::net::IpAddr;

use tollgate::policy::{
    Claims, ClientAddressSettings, Facts, ForwardingHeader, Policy, RuleBook, Ruling, Trust, client_address,
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
  - {name: restrict, limit_keys: ['cookie:session'], missing: skip, match: {any: [{'header:x': a}, {'query:page': {regex: b}}]}, rate: 1/s, burst: 5}
  - {name: favor, action: allow, match: {'header:x': a, 'cookie:session': {present: true}, path: '/free/*', not: {'query:page': b}}}
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
    // A request with every header field twice gains no allow rule that tests one of them.
    let twice: Vec<(String, String)> = headers.iter().chain(&headers).cloned().collect();
    let ambiguous = Facts { headers: &twice, ..facts };
    let favored = book.rule_on(&ambiguous, 0, |_| {});
    assert!(!matches!(favored, Ruling::Allowed { .. }), "{favored:?}");
    assert_eq!(book.explain(&ambiguous, 0).ruling, favored);
    spelled_cookie_is_one_client(&book, facts);
    let (mut hits, explained) = (0, book.explain(&facts, 0));
    let ruling = book.rule_on(&facts, 0, |hit| {
        assert!(hit.key.len() <= 512 && hit.cost.as_micros() > 0 && hit.cost.as_micros() <= 5_000_000);
        hits += 1;
    });
    assert_eq!(explained.ruling, ruling);
    assert!(hits <= 8);
}

/// The user's name as a cookie, plain and percent-encoded in quotation marks: one key, and no way into an allow rule.
fn spelled_cookie_is_one_client(book: &RuleBook, facts: Facts<'_>) {
    let plain = facts.user.unwrap_or_default();
    let Some((first, rest)) = plain.split_at_checked(1) else { return };
    if !plain.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return;
    }
    let encoded = format!("%{:02x}{rest}", first.as_bytes()[0]);
    let fields = [("x", "a"), ("x-api-key", "a")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let keys_of = |cookie: String| {
        let headers = [&fields[..], &[("cookie".to_owned(), cookie)]].concat();
        let mut keys = Vec::new();
        let facts = Facts { headers: &headers, ..facts };
        let ruling = book.rule_on(&facts, 0, |hit| {
            keys.extend((hit.rule <= 1).then(|| hit.key.to_vec()));
        });
        (ruling, keys)
    };
    let (plain, quoted) = (keys_of(format!("session={plain}")), keys_of(format!("session=\"{encoded}\"")));
    assert!(!matches!(quoted.0, Ruling::Allowed { .. }), "an encoded cookie gains no allow rule");
    if plain.0 == Ruling::ByBuckets {
        assert_eq!(plain.1, quoted.1, "an encoded cookie has another key");
    }
}

fn policy() -> Policy {
    match Policy::parse("requests.yaml", POLICY) {
        Ok(policy) => policy,
        Err(mistakes) => unreachable!("{mistakes}"),
    }
}
