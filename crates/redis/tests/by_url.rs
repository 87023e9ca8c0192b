//! What a program gets by a URL alone: rules, explicit limits and a policy. The tower layer over it is tested by `crates/server`, which sees both.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;

#[path = "by_url/buckets.rs"]
mod buckets;
#[path = "by_url/rules.rs"]
mod rules;
#[path = "by_url/without_store.rs"]
mod without_store;
