//! What a request costs (P6): a client that names its own price gains nothing by any of them.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tollgate::Span;

use crate::served::Served;

const BY_HEADER: &str =
    "{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 10, cost_source: \"header:x-cost\"}";

#[tokio::test]
async fn prices_that_make_no_sense_cost_the_default_and_are_counted() {
    let served = Served::new(BY_HEADER).await;
    let senseless =
        ["NaN", "inf", "-inf", "infinity", "-5", "0", "-0", "0.0", "1e9999", "", " ", "0x10", "1,000"];
    for price in senseless {
        let admit = served.send("/", &[("x-cost", price)]).await;
        assert_eq!(admit.header("ratelimit").split(';').nth(1), Some("r=9"), "{price} costs 1");
        served.clock.advance(Span::from_secs(1));
    }
    assert_eq!(served.layer.limiter().rule_stats(0).unusable_costs, senseless.len() as u64);
}

#[tokio::test]
async fn no_price_is_below_the_least_or_above_the_burst() {
    let served = Served::new(BY_HEADER).await;
    for price in ["1e-9", "0.000000001", "0.000001", "0.5"] {
        let admit = served.send("/", &[("x-cost", price)]).await;
        assert_eq!(admit.header("ratelimit").split(';').nth(1), Some("r=9"), "{price}");
        served.clock.advance(Span::from_secs(1));
    }
    let huge = format!("1{}", "0".repeat(30));
    for price in [huge.as_str(), "11", "18446744073709551616"] {
        let admit = served.send("/", &[("x-cost", price)]).await;
        assert_eq!(admit.header("ratelimit").split(';').nth(1), Some("r=0"), "{price} costs the burst");
        assert_eq!(served.get("/").await.status, 429);
        served.clock.advance(Span::from_secs(10));
    }
}

#[tokio::test]
async fn two_prices_are_none() {
    let served = Served::new(BY_HEADER).await;
    let admit = served.send("/", &[("x-cost", "3"), ("x-cost", "4")]).await;
    assert_eq!(admit.header("ratelimit").split(';').nth(1), Some("r=9"));
    let admit = served.send("/", &[("x-cost", "3")]).await;
    assert_eq!(admit.header("ratelimit").split(';').nth(1), Some("r=6"));
}

#[tokio::test]
async fn a_body_costs_by_its_length() {
    let policy = "{name: upload, limit_keys: [\"ip:address\"], rate: 1/s, burst: 10, cost_source: request_bytes, \
                  bytes_per_token: 100}";
    let served = Served::new(policy).await;
    let post = |bytes: usize| {
        let request = Request::post(format!("http://{}/", served.address));
        served.request(request.body(Full::new(Bytes::from(vec![b'x'; bytes]))).unwrap())
    };
    for (bytes, left) in [(100, "r=9"), (101, "r=7"), (1, "r=6"), (500, "r=1")] {
        assert_eq!(post(bytes).await.header("ratelimit").split(';').nth(1), Some(left), "{bytes} bytes");
    }
    assert_eq!(post(200).await.status, 429);
}
