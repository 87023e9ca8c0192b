//! Who talks most (O3): of each rule the clients that were admitted, denied, or admitted near their limit most often in about the last
//! minute, in bounded memory.
//!
//! ```text
//!  Engine::note_decision ─► Talkers ─► OfRule ─► its thread's shard ─► Window ─► Summary: 64 clients
//! ```
//! A check takes a lock that other threads hardly ever want, waits for nobody, and allocates nothing for a client that is counted. What is
//! not known: clients of rules that only watch, and those whom a rule blocks, since these have no bucket. What instances that share records
//! tell each other of it is a [`Sheet`].

mod client_text;
mod of_rule;
mod room;
mod sheet;
mod summary;
mod window;

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use tollgate::policy::{Policy, Rule};
use tollgate::{Decision, Moment, RuleClient, Verdict};

use self::client_text::client_text;
use self::of_rule::OfRule;
use self::room::Room;
pub(crate) use self::sheet::{Client, RuleTalkers, Sheet};
use crate::engine::Engine;

/// Most clients that all rules count together; about 100 bytes each, and at most 600.
const TALKERS_MAX: usize = 65_536;

/// What clients are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Admitted,
    Denied,
    /// Admitted, with little left.
    Near,
}

impl Measure {
    const COUNT: usize = 3;
    /// In their order.
    const ALL: [Measure; Measure::COUNT] = [Measure::Admitted, Measure::Denied, Measure::Near];
}

/// How often a client was noted: the truth is between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) at_least: u64,
    pub(crate) at_most: u64,
}

/// A client, and what became of its checks in about the last minute. A measure by which it is not among the first may be all zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Talker {
    /// As an operator reads it; at most 128 characters, without control characters.
    pub(crate) client: String,
    /// The key of its bucket.
    pub(crate) key: Vec<u8>,
    pub(crate) admitted: Figure,
    pub(crate) denied: Figure,
    pub(crate) near: Figure,
}

/// What is known of clients, by their keys and by each measure in its order.
type Figures = [HashMap<Vec<u8>, Figure>; Measure::COUNT];

/// The talkers of all rules.
#[derive(Debug)]
pub(crate) struct Talkers {
    /// In the policy's order.
    rules: ArcSwap<Vec<Arc<OfRule>>>,
    room: Arc<Room>,
    /// Nobody knows which keys look alike to it.
    hash: RandomState,
    /// Notes that were dropped, since another thread had the shard.
    missed: AtomicU64,
}

/// What it takes to note a client.
struct Noting<'t> {
    now: Moment,
    hash: &'t RandomState,
    missed: &'t AtomicU64,
}

impl Noting<'_> {
    #[inline]
    fn hash_of(&self, key: &[u8]) -> u64 {
        self.hash.hash_one(key)
    }
}

impl Talkers {
    pub(crate) fn new() -> Talkers {
        Talkers {
            rules: ArcSwap::default(),
            room: Arc::new(Room::of(TALKERS_MAX)),
            hash: RandomState::new(),
            missed: AtomicU64::new(0),
        }
    }

    /// Makes room for the rules of a policy; those of the same name keep their talkers, those that are gone are forgotten.
    pub(crate) fn follow_policy(&self, policy: &Policy) {
        let before = self.rules.load();
        let mut known: HashMap<&str, &Arc<OfRule>> = before.iter().map(|of| (&*of.rule, of)).collect();
        let new = |name: &str| Arc::new(OfRule::new(name, &self.room));
        let of = |name: &str| known.remove(name).map_or_else(|| new(name), Arc::clone);
        let rules: Vec<Arc<OfRule>> = policy.rules.iter().map(|rule| &*rule.name).map(of).collect();
        self.rules.store(Arc::new(rules));
    }

    /// Notes the client of a decision with every enforced rule that admitted it, or with those that denied it.
    #[inline]
    pub(crate) fn note(&self, decision: &Decision, now: Moment) {
        let measure = match (decision.refused(), decision.verdict()) {
            (None, Some(Verdict::Admit { .. })) => Measure::Admitted,
            (None, Some(Verdict::Deny { .. } | Verdict::Never { .. })) => Measure::Denied,
            _ => return,
        };
        self.note_with(decision, measure, now, |client| measure == Measure::Admitted || client.is_denied);
    }

    /// Notes that the client of a decision has little left with the rule of this name.
    pub(crate) fn note_near(&self, decision: &Decision, rule: &str, now: Moment) {
        let rules = &decision.policy().rules;
        let is_meant = |client: &RuleClient<'_>| rules.get(client.rule).is_some_and(|met| *met.name == *rule);
        self.note_with(decision, Measure::Near, now, is_meant);
    }

    #[inline]
    fn note_with(
        &self,
        decision: &Decision,
        measure: Measure,
        now: Moment,
        is_meant: impl Fn(&RuleClient<'_>) -> bool,
    ) {
        let (rules, policy) = (self.rules.load(), decision.policy());
        let noting = Noting { now, hash: &self.hash, missed: &self.missed };
        for client in decision.clients().filter(is_meant) {
            // Another policy may have come into force meanwhile.
            if let (Some(of), Some(rule)) = (rules.get(client.rule), policy.rules.get(client.rule))
                && of.rule == rule.name
            {
                of.note(measure, client.key, &noting);
            }
        }
    }

    /// The first of a rule by a measure; `None` if there is no such rule.
    fn top(&self, rule: &Rule, by: Measure, limit: usize, now: Moment) -> Option<Vec<Talker>> {
        let figures = self.figures(rule, now)?;
        let first = first_keys(&figures[by as usize], limit);
        Some(first.map(|key| talker(rule, key, &figures)).collect())
    }

    /// Of each rule that has any, the first by each measure; each client once, in the order of the policy and of keys. Rules that have never been
    /// met cost next to nothing.
    fn firsts<'p>(
        &self,
        policy: &'p Policy,
        each: usize,
        now: Moment,
    ) -> impl Iterator<Item = (&'p Rule, Vec<Talker>)> {
        let rules = self.rules.load_full();
        let known = policy.rules.iter().enumerate().filter_map(move |(at, rule)| {
            // Another policy may have come into force meanwhile.
            let of = rules.get(at).filter(|of| of.rule == rule.name)?;
            Some((rule, figures_of(of, now)))
        });
        let firsts = known.map(move |(rule, figures)| (rule, firsts_of(rule, &figures, each)));
        firsts.filter(|(_, talkers)| !talkers.is_empty())
    }

    /// One client of a rule, if it is among those who are counted.
    fn one(&self, rule: &Rule, key: &[u8], now: Moment) -> Option<Talker> {
        let figures = self.figures(rule, now)?;
        figures.iter().any(|of| of.contains_key(key)).then(|| talker(rule, key, &figures))
    }

    /// What is known of the clients of a rule.
    fn figures(&self, rule: &Rule, now: Moment) -> Option<Figures> {
        let rules = self.rules.load();
        let of = rules.iter().find(|of| of.rule == rule.name)?;
        Some(figures_of(of, now))
    }

    /// Notes that were dropped, since another thread had the shard.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

impl Engine {
    /// The first of a rule by a measure, at most `limit`, over about the last minute; `None` if the policy in force has no such rule.
    pub(crate) fn top_talkers(&self, rule: &str, by: Measure, limit: usize) -> Option<Vec<Talker>> {
        let policy = self.limiter.policy();
        let rule = policy.rules.iter().find(|known| *known.name == *rule)?;
        self.talkers.top(rule, by, limit, self.limiter.limiter().now())
    }

    /// All clients of a rule who are counted by any measure, in no useful order; none if the policy in force has no such rule.
    pub(crate) fn all_talkers(&self, rule: &Rule) -> Vec<Talker> {
        let figures = self.talkers.figures(rule, self.limiter.limiter().now());
        figures.map_or_else(Vec::new, |figures| firsts_of(rule, &figures, usize::MAX))
    }

    /// What became of one client's checks under a rule in about the last minute, if it is among those who talk most.
    pub(crate) fn talker(&self, rule: &Rule, key: &[u8]) -> Option<Talker> {
        self.talkers.one(rule, key, self.limiter.limiter().now())
    }
}

fn figures_of(of: &OfRule, now: Moment) -> Figures {
    Measure::ALL.map(|measure| of.figures(measure, now))
}

/// The first by each measure, each client once, in the order of their keys.
fn firsts_of(rule: &Rule, figures: &Figures, each: usize) -> Vec<Talker> {
    let keys: BTreeSet<&Vec<u8>> = figures.iter().flat_map(|of| first_keys(of, each)).collect();
    keys.into_iter().map(|key| talker(rule, key, figures)).collect()
}

/// Who was noted most often, the first first.
fn first_keys(figures: &HashMap<Vec<u8>, Figure>, limit: usize) -> impl Iterator<Item = &Vec<u8>> {
    let mut ranked: Vec<(&Vec<u8>, Figure)> =
        figures.iter().map(|(key, it)| (key, *it)).filter(|(_, it)| it.at_most > 0).collect();
    // By the key where figures are the same: the order does not change while nothing happens.
    ranked.sort_unstable_by(|(key, a), (other, b)| {
        (b.at_least, b.at_most).cmp(&(a.at_least, a.at_most)).then(key.cmp(other))
    });
    ranked.into_iter().take(limit).map(|(key, _)| key)
}

fn talker(rule: &Rule, key: &[u8], figures: &Figures) -> Talker {
    let [admitted, denied, near] = figures.each_ref().map(|of| of.get(key).copied().unwrap_or_default());
    Talker { client: client_text(rule, key), key: key.to_vec(), admitted, denied, near }
}

#[cfg(test)]
mod tests;
