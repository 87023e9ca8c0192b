//! The layers that are measured, set up alike: one bucket per peer address that gains a token every 150 s, as the core suite's do.
//!
//! Ours tells clients where they stand as policies do unless told otherwise (two draft fields), the peer in its own two fields.

use std::time::Duration;

use axum::body::Body;
use governor::middleware::{NoOpMiddleware, StateInformationMiddleware};
use tollgate::Limiter;
use tollgate_tower::TollgateLayer;
use tollgate_tower::policy::Policy;
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::key_extractor::PeerIpKeyExtractor;

use crate::core_suite::quota::Quota;
use crate::problem::Problem;

/// So large that everything is admitted in a suite.
pub(crate) const BURST_AMPLE: u32 = Quota::MANY_KEYS.burst;
/// So small that a second request is denied.
pub(crate) const BURST_ONE: u32 = 1;

const PERIOD: Duration = Duration::from_secs(Quota::MANY_KEYS.period_s as u64);

/// Ours, with room for so many addresses.
pub(crate) fn tollgate(burst: u32, with_headers: bool, addresses: u32) -> Result<TollgateLayer, Problem> {
    let profile = if with_headers { "draft" } else { "none" };
    let text = format!(
        "answers: {{headers: {profile}}}\nrules:\n  - {{name: per-address, limit_keys: ['ip:address'], rate: {}/h, burst: {burst}}}\n",
        3_600 / PERIOD.as_secs()
    );
    let policy =
        Policy::parse("bench.yaml", &text).map_err(|mistakes| Problem::failed(mistakes.to_string()))?;
    let limiter = Limiter::builder().keys_max(addresses as usize).build_with_policy(policy);
    let limiter = limiter.map_err(|error| Problem::failed(error.to_string()))?;
    Ok(TollgateLayer::new(limiter).on_warning(|warning| eprintln!("tower: {warning}")))
}

/// The peer's with `use_headers`.
pub(crate) fn governor(
    burst: u32,
) -> Result<GovernorLayer<PeerIpKeyExtractor, StateInformationMiddleware, Body>, Problem> {
    let config = GovernorConfigBuilder::default().period(PERIOD).burst_size(burst).use_headers().finish();
    config.map(GovernorLayer::new).ok_or_else(refused)
}

/// The peer's without header fields on what it admits.
pub(crate) fn governor_bare(
    burst: u32,
) -> Result<GovernorLayer<PeerIpKeyExtractor, NoOpMiddleware, Body>, Problem> {
    let config = GovernorConfigBuilder::default().period(PERIOD).burst_size(burst).finish();
    config.map(GovernorLayer::new).ok_or_else(refused)
}

fn refused() -> Problem {
    Problem::failed("tower_governor refuses the quota; mend bench/src/tower_suite/layers.rs")
}
