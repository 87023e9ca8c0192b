//! Who the client is (K3): forwarding headers gain nothing, unless a trusted proxy sends them.

use std::fmt::Write as _;

use tollgate_tower::{Policy, Warning};

use crate::served::Served;

const PER_IP: &str = "{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 3}";

#[tokio::test]
async fn forwarding_headers_of_a_stranger_gain_no_quota_and_are_counted() {
    let served = Served::new(PER_IP).await;
    let mut admitted = 0;
    for spoofed in 0..20 {
        let chain = format!("203.0.113.{spoofed}");
        let forwarded = format!("for={chain}");
        let headers = [
            ("x-forwarded-for", chain.as_str()),
            ("forwarded", forwarded.as_str()),
            ("x-real-ip", chain.as_str()),
            ("cf-connecting-ip", chain.as_str()),
        ];
        admitted += served.admitted(1, "/", &headers).await;
    }
    assert_eq!(admitted, 3);
    assert_eq!(served.layer.stats().untrusted_forwarding, 20);
}

#[tokio::test]
async fn one_warning_names_the_line_to_add_and_that_line_is_right() {
    let served = Served::new(PER_IP).await;
    for _ in 0..3 {
        served.send("/", &[("x-forwarded-for", "203.0.113.7")]).await;
    }
    let warnings = served.warnings.lock().unwrap();
    let [Warning::UntrustedForwarding { peer, field, line }] = warnings.as_slice() else {
        panic!("{warnings:?}");
    };
    assert_eq!((peer.to_string().as_str(), &**field), ("127.0.0.1", "x-forwarded-for"));
    let policy = format!("{line}\nrules: [{PER_IP}]");
    if let Err(mistakes) = Policy::parse("test.yaml", &policy) {
        panic!("{mistakes}");
    }
}

#[tokio::test]
async fn a_trusted_proxy_names_the_client_and_what_stands_left_of_it_counts_for_nothing() {
    let policy = format!("client_address: {{trusted_proxies: [127.0.0.0/8]}}\nrules: [{PER_IP}]");
    let served = Served::new(&policy).await;
    let mut admitted = 0;
    for forged in 0..10 {
        let chain = format!("10.9.8.{forged}, garbage, 203.0.113.7");
        admitted += served.admitted(1, "/", &[("x-forwarded-for", &chain)]).await;
    }
    assert_eq!(admitted, 3, "one client, whatever it claims");
    assert_eq!(served.admitted(4, "/", &[("x-forwarded-for", "203.0.113.8")]).await, 3, "another one");
    assert_eq!(served.layer.stats().untrusted_forwarding, 0);
}

#[tokio::test]
async fn garbage_of_every_kind_stops_at_the_trusted_hop() {
    let policy = format!("client_address: {{trusted_proxies: [127.0.0.0/8]}}\nrules: [{PER_IP}]");
    let served = Served::new(&policy).await;
    let mut long = String::new();
    for entry in 0..10_000 {
        let _ = write!(long, "203.0.113.{}, ", entry % 256);
    }
    long.push_str("not an address");
    let garbage = [
        "unknown",
        "",
        "999.1.1.1",
        "203.0.113.7 extra",
        "\"203.0.113.7\"",
        "a, b, c",
        "203.0.113.7,",
        &long,
    ];
    let mut admitted = 0;
    for chain in garbage {
        admitted += served.admitted(2, "/", &[("x-forwarded-for", chain)]).await;
    }
    assert_eq!(admitted, 3, "all of them are the proxy's");
}

#[tokio::test]
async fn every_spelling_of_an_address_is_one_client() {
    let policy = format!("client_address: {{trusted_proxies: [127.0.0.0/8]}}\nrules: [{PER_IP}]");
    let served = Served::new(&policy).await;
    let spellings = ["203.0.113.7", "::ffff:203.0.113.7", "203.0.113.7:4711", "[::ffff:203.0.113.7]:80"];
    let mut admitted = 0;
    for spelling in spellings {
        admitted += served.admitted(2, "/", &[("x-forwarded-for", spelling)]).await;
    }
    assert_eq!(admitted, 3);
    let mut admitted = 0;
    for zone in ["fe80::1", "fe80::1%eth0", "[fe80::1%25eth1]:80"] {
        admitted += served.admitted(2, "/", &[("x-forwarded-for", zone)]).await;
    }
    assert_eq!(admitted, 3, "a zone makes no other client");
}
