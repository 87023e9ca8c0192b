//! What a policy decides of one request, and what is needed to answer it and to settle it later.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::Guard as Loaded;
use siphasher::sip::SipHasher13;
use tollgate_core::{BucketSet, Cost};
use tollgate_policy::{Facts, Policy, Rule as PolicyRule};

use super::asked::Asked;
use super::held_afar::HeldAfar;
use super::refused::Refused;
use super::ruleset::Ruleset;
use crate::{Charge, Guard, StoreMode, Verdict};

/// What a policy decides of one request.
///
/// Places of [`crate::Concurrency`] rules are held until it is dropped, by rules that only watch, too. Estimates of rules that
/// settle by a response header stand until [`super::PolicyLimiter::settle`], or for good.
#[must_use = "a decision that nobody looks at limits nothing"]
pub struct Decision {
    pub(super) ruleset: Loaded<Arc<Ruleset>>,
    pub(super) verdict: Option<Verdict>,
    pub(super) refused: Option<Refused>,
    /// Who was denied, if anybody knows.
    pub(super) client: Option<u64>,
    /// What was asked of the buckets, of enforced rules only.
    pub(super) asked: Asked,
    /// What hardly any decision has: apart, so that the others are small.
    pub(super) open: Option<Box<Open>>,
}

/// A client as one enforced rule knows it that was asked about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleClient<'d> {
    /// Position of the rule in [`Decision::policy`].
    pub rule: usize,
    /// The key of its bucket ([`tollgate_policy::Hit::key`]).
    pub key: &'d [u8],
    /// A number that is the same for the same key of the same rule in the same limiter.
    pub identity: u64,
    /// What is asked of that bucket.
    pub cost: Cost,
    /// Whether this rule denied it.
    pub is_denied: bool,
}

/// Charges that are held until the response has come.
#[derive(Default)]
pub(super) struct Open {
    /// Those of enforced rules, if the response matters to any of them.
    pub(super) held: Option<Guard>,
    /// The same where they are in a shared ledger.
    pub(super) afar: Option<HeldAfar>,
    /// Those of rules that only watch, each on its own.
    pub(super) watched: Vec<Watched>,
    /// It was settled by its response: once is enough.
    pub(super) is_settled: AtomicBool,
}

/// A charge of a rule that only watches, held as if the rule were enforced.
pub(super) struct Watched {
    pub(super) rule: usize,
    pub(super) charge: Charge,
    pub(super) held: Guard,
}

impl Open {
    /// Whether anything is held until the response has come.
    fn holds_any(&self) -> bool {
        self.held.is_some() || self.afar.is_some() || !self.watched.is_empty()
    }
}

impl Decision {
    /// A decision in which nobody has had a say.
    #[inline]
    pub(super) fn undecided(ruleset: Loaded<Arc<Ruleset>>) -> Decision {
        Decision { ruleset, verdict: None, refused: None, client: None, asked: Asked::nothing(), open: None }
    }

    /// Whether to go ahead.
    #[inline]
    pub fn is_admitted(&self) -> bool {
        self.refused.is_none() && self.verdict.is_none_or(|verdict| verdict.is_admitted())
    }

    /// What the buckets said, with positions among [`Decision::rules`]; `None` if none was asked.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Why the policy refuses it without asking its buckets.
    pub fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// The exact time to wait before trying again; `None` if it was admitted, or if waiting does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        self.verdict.filter(|_| self.refused.is_none()).and_then(|verdict| verdict.retry_after())
    }

    /// Upon what the verdict rests. A refusal by `on_store_failure: closed` rests upon the fallback.
    pub fn mode(&self) -> StoreMode {
        if let Some(Refused::LedgerDown { .. }) = self.refused {
            return StoreMode::Fallback;
        }
        self.asked.told().map_or(StoreMode::Exact, |(_, mode)| mode)
    }

    /// The enforced rules that were asked, in the policy's order.
    pub fn rules(&self) -> impl Iterator<Item = &PolicyRule> {
        self.asked.rules().iter().filter_map(|rule| self.policy().rules.get(*rule))
    }

    /// Those of them that denied.
    pub fn violated(&self) -> impl Iterator<Item = &PolicyRule> {
        let denied = self.denied();
        self.rules().enumerate().filter(move |(at, _)| denied.contains(*at)).map(|(_, rule)| rule)
    }

    /// Those of them that denied for lack of room in the bucket table.
    pub fn without_room(&self) -> impl Iterator<Item = &PolicyRule> {
        let charges = match self.verdict.filter(|_| self.refused.is_none()) {
            Some(Verdict::Deny { cause, .. }) => cause.without_room(),
            _ => BucketSet::EMPTY,
        };
        self.rules().enumerate().filter(move |(at, _)| charges.contains(*at)).map(|(_, rule)| rule)
    }

    /// The client as each enforced rule that was asked knows it, in the policy's order. Nobody, unless the limiter was told to
    /// [keep keys](crate::LimiterBuilder::keep_keys).
    #[inline]
    pub fn clients(&self) -> impl Iterator<Item = RuleClient<'_>> {
        let denied = self.denied();
        let asked = self.asked.rules().iter().zip(self.asked.charges()).zip(self.asked.kept()).enumerate();
        asked.map(move |(at, ((rule, charge), key))| {
            let (identity, cost) = (charge.identity(), charge.cost());
            RuleClient { rule: *rule, key, identity, cost, is_denied: denied.contains(at) }
        })
    }

    /// The policy that decided.
    pub fn policy(&self) -> &Policy {
        self.ruleset.policy()
    }

    /// A number that is the same for the same client, for jitter: of a denial by its user or address, on every node; else by the
    /// keys of the rules that were asked, in the same limiter.
    pub fn identity(&self) -> u64 {
        let charges = self.asked.charges().iter();
        let by_keys = || charges.fold(0, |mixed: u64, charge| mixed.rotate_left(7) ^ charge.identity());
        self.client.unwrap_or_else(by_keys)
    }

    /// Notes who it was, if it was not admitted: clients that share a bucket are to come back at different times.
    #[inline]
    pub(super) fn note_client(&mut self, facts: &Facts<'_>) {
        if !self.is_admitted() {
            self.client = client(facts);
        }
    }

    /// Whether the response matters: it holds places, or rules settle or refund by what the response says. If not, it may be
    /// dropped as soon as the client has been told.
    #[inline]
    pub fn awaits_response(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.holds_any())
    }

    /// Which of the charges denied.
    #[inline]
    pub(super) fn denied(&self) -> BucketSet {
        match self.verdict {
            Some(Verdict::Deny { denied, .. } | Verdict::Never { denied }) => denied,
            _ => BucketSet::EMPTY,
        }
    }
}

/// A number for whoever sent the request, if it says who that is.
#[cold]
pub(super) fn client(facts: &Facts<'_>) -> Option<u64> {
    let hash = |bytes: &[u8]| SipHasher13::new().hash(bytes);
    match (facts.user.filter(|user| !user.is_empty()), facts.address) {
        (Some(user), _) => Some(hash(user.as_bytes())),
        (None, Some(address)) => Some(hash(&match address.to_canonical() {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        })),
        (None, None) => None,
    }
}

impl std::fmt::Debug for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rules: Vec<&str> = self.rules().map(|rule| &*rule.name).collect();
        let mut decision = f.debug_struct("Decision");
        decision.field("verdict", &self.verdict).field("refused", &self.refused).field("rules", &rules);
        decision.finish_non_exhaustive()
    }
}
