//! Tokens by what became of them, and how often key sets were fetched: `tollgate_tokens_total`, `tollgate_jwks_refreshes_total`.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tollgate::jwt::TokenFault;

use super::Labels;

/// What became of a request's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenResult {
    Verified,
    /// There was none.
    Absent,
    /// Read by its own account, for rules that trust someone upstream.
    Unverified,
    /// Its key is unknown, and a key set has not come yet.
    Waiting,
    Fault(TokenFault),
}

/// The counters. A copy counts on the same ones; no lock is taken.
#[derive(Debug, Clone)]
pub(crate) struct TokenCounts {
    verified: Counter,
    absent: Counter,
    unverified: Counter,
    waiting: Counter,
    faults: [Counter; TokenFault::ALL.len()],
    refreshed: Counter,
    refresh_failed: Counter,
}

impl TokenCounts {
    pub(super) fn registered(registry: &mut Registry) -> TokenCounts {
        let tokens = Family::<Labels, Counter>::default();
        registry.register(
            "tokens",
            "Requests by what became of their token, while the policy looks into tokens",
            tokens.clone(),
        );
        let refreshes = Family::<Labels, Counter>::default();
        registry.register("jwks_refreshes", "Attempts to fetch a key set", refreshes.clone());
        let token = |result| tokens.get_or_create(&[("result", result)]).clone();
        let refresh = |result| refreshes.get_or_create(&[("result", result)]).clone();
        TokenCounts {
            verified: token("verified"),
            absent: token("absent"),
            unverified: token("unverified"),
            waiting: token("waiting_for_keys"),
            faults: TokenFault::ALL.map(|fault| token(fault.label())),
            refreshed: refresh("ok"),
            refresh_failed: refresh("failed"),
        }
    }

    pub(crate) fn note(&self, result: TokenResult) {
        if let Some(counter) = self.of(result) {
            counter.inc();
        }
    }

    /// None for no result at all: every fault has its place.
    pub(crate) fn of(&self, result: TokenResult) -> Option<&Counter> {
        match result {
            TokenResult::Verified => Some(&self.verified),
            TokenResult::Absent => Some(&self.absent),
            TokenResult::Unverified => Some(&self.unverified),
            TokenResult::Waiting => Some(&self.waiting),
            TokenResult::Fault(fault) => self.faults.get(fault as usize),
        }
    }

    pub(crate) fn note_refresh(&self, is_ok: bool) {
        if is_ok {
            self.refreshed.inc()
        } else {
            self.refresh_failed.inc()
        };
    }
}
