//! Which rule and which bucket: variants of one path are one path (K6), and a route's template is one key.

use axum::Router;
use axum::routing::any;
use tollgate_tower::TollgateLayer;

use crate::served::{Served, limiter};

const SEARCH: &str = "{name: search, path: /api/search, limit_keys: [\"ip:address\"], rate: 1/s, burst: 3}";

#[tokio::test]
async fn variants_of_a_path_meet_the_same_rule_and_gain_no_quota() {
    let variants = [
        "/api/search",
        "//api//search",
        "/api/search/",
        "/api/x/%2e%2e/search",
        "/api/x/../search",
        "/api/./search",
        "/api/search;x",
        "/api;a=b/search;jsessionid=1",
        "/API/Search",
        "/api/%73earch",
        "/api/search?q=1",
        "/api/search?",
        "/api/search/?q=/other",
    ];
    let served = Served::new(SEARCH).await;
    assert_eq!(served.admitted(4, "/api/search", &[]).await, 3);
    for variant in variants {
        assert_eq!(served.get(variant).await.status, 429, "{variant}");
    }
    assert_eq!(served.get("/api/searching").await.status, 200, "another path");
}

#[tokio::test]
async fn a_rule_by_path_keys_on_the_route_and_not_on_what_the_client_typed() {
    let policy = "{name: route, limit_keys: [\"ip:address\", path], rate: 1/s, burst: 3}";
    let routes =
        || Router::new().route("/users/{id}", any(async || "user")).route("/about", any(async || "about"));
    let served = Served::routes(policy, routes()).await;
    let mut admitted = 0;
    for user in 0..10 {
        admitted += served.admitted(1, &format!("/users/{user}"), &[]).await;
    }
    assert_eq!(admitted, 3, "ten users' pages are one route");
    assert_eq!(served.admitted(5, "/about", &[]).await, 3, "another route");
    assert_eq!(served.get("/nowhere").await.status, 404, "`route_layer` leaves alone what no route serves");
}

/// Answers `/api/search`, with the turnstile inside of the router that is nested.
async fn nested(policy: &str) -> Served {
    let (limiter, _clock) = limiter(policy);
    let search = Router::new().route("/search", any(async || "found"));
    let inner = search.route_layer(TollgateLayer::new(limiter));
    Served::routes("{name: all, scope: global, rate: 1000/s, burst: 1000}", Router::new().nest("/api", inner))
        .await
}

#[tokio::test]
async fn a_path_is_that_of_the_wire_also_inside_of_a_nested_router() {
    let served = nested(SEARCH).await;
    assert_eq!(served.admitted(10, "/api/search", &[]).await, 3);

    let path_of_the_inner_router = SEARCH.replace("/api/search", "/search");
    let served = nested(&path_of_the_inner_router).await;
    assert_eq!(
        served.admitted(10, "/api/search", &[]).await,
        10,
        "the policy speaks of what clients ask for"
    );
}

#[tokio::test]
async fn a_query_is_seen_inside_of_a_nested_router() {
    let served = nested("{name: query, limit_keys: [\"query:q\"], rate: 1/s, burst: 3}").await;
    for query in ["/api/search?q=1", "/api/search?q=2"] {
        assert_eq!(served.admitted(10, query, &[]).await, 3, "{query}");
    }
}
