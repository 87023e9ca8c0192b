//! What every door asks: the limiter, the policy in force, and what is counted.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tollgate::ledger::Ledger;
use tollgate::policy::{Composition, Policy};
use tollgate::{Decision, Limiter, LimiterBuilder, Moment, PolicyError, PolicyLimiter, Standing};
use tollgate_records::{Records, Timestamp, ViolationLog};
use tollgate_redis::RedisLedger;

use crate::door::Door;
use crate::filed::{Filed, FiledRules};
use crate::metrics::Metrics;
use crate::parts::Parts;
use crate::policy_source::{PolicyFault, PolicySource, PolicyText};
use crate::snapshots::SnapshotFile;
use crate::talkers::Talkers;
use crate::tokens::{Change, Tokens};

/// The limiter behind the doors.
pub(crate) struct Engine {
    pub(crate) limiter: PolicyLimiter,
    /// Where the buckets are, if not here.
    pub(crate) ledger: Option<RedisLedger>,
    /// Where rules, orders and violations are filed, if anywhere.
    pub(crate) records: Option<Records>,
    /// Where denials are put on record.
    pub(crate) violations: Option<ViolationLog>,
    pub(crate) metrics: Metrics,
    pub(crate) talkers: Talkers,
    pub(crate) tokens: Arc<Tokens>,
    source: PolicySource,
    /// What the database said last.
    filed: ArcSwap<Filed>,
    in_force: ArcSwap<Loaded>,
    /// Held by whoever reloads the policy; what was refused last, unless something was accepted since.
    reloading: Mutex<Option<Refused>>,
    is_stopping: AtomicBool,
}

/// What is in force.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) parts: Parts,
    /// From 1, one more with every policy that came into force.
    pub(crate) version: u64,
    pub(crate) hash: String,
    /// What there is to know about how the parts go together: a sentence each.
    pub(crate) notes: Vec<String>,
    /// When the next order expires, in seconds since 1970.
    pub(crate) next_expiry_unix_s: Option<i64>,
    /// Why something later is not in force, if something is not.
    pub(crate) refused: Option<String>,
}

/// Tells one refusal from another: the hash of what was refused, if it could be read, and the fault.
type Refused = (Option<String>, String);

/// What became of a reload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reload {
    /// Another policy is in force.
    Swapped,
    /// The policy is the one in force; its keys for tokens are others.
    OtherKeys,
    /// The text is the one in force, and so are its keys.
    Unchanged,
    /// What was refused before is refused again, for the same fault.
    StillRefused,
}

impl Engine {
    /// An engine with the policy of `source` in force, which continues from `snapshot` if there is one.
    pub(crate) fn new(
        source: PolicySource,
        tables: LimiterBuilder,
        snapshot: Option<&SnapshotFile>,
    ) -> Result<Engine, PolicyFault> {
        let text = source.read()?;
        Engine::of(source, text, tables, snapshot)
    }

    /// The same over the buckets of a shared ledger.
    pub(crate) fn over(source: PolicySource, ledger: RedisLedger) -> Result<Engine, PolicyFault> {
        let text = source.read()?;
        // The tables of this program stay empty.
        let settings = Limiter::builder().keys_max(1).explicit_keys_max(1);
        let shared: Arc<dyn Ledger> = Arc::new(ledger.clone());
        let build =
            |settings: LimiterBuilder, policy| settings.build_with_ledger(policy, Arc::clone(&shared));
        let mut engine = Engine::built(source, text, settings, None, build)?;
        engine.ledger = Some(ledger);
        Ok(engine)
    }

    /// An engine with this policy in force; it is `source` that is read again.
    pub(crate) fn of(
        source: PolicySource,
        text: PolicyText,
        settings: LimiterBuilder,
        snapshot: Option<&SnapshotFile>,
    ) -> Result<Engine, PolicyFault> {
        Engine::built(source, text, settings, snapshot, LimiterBuilder::build_with_policy)
    }

    fn built(
        source: PolicySource,
        text: PolicyText,
        settings: LimiterBuilder,
        snapshot: Option<&SnapshotFile>,
        make: impl Fn(LimiterBuilder, Policy) -> Result<PolicyLimiter, PolicyError>,
    ) -> Result<Engine, PolicyFault> {
        let metrics = Metrics::new();
        let tokens = Arc::new(Tokens::new(metrics.tokens.clone()));
        let now_unix_s = Timestamp::now().unix_seconds();
        let parts = Parts::new(text, &Filed::default(), now_unix_s);
        let Composition { policy, notes, next_expiry_unix_s } = parts.compose(now_unix_s)?;
        change_of_keys(&tokens, &parts.text, &policy)?.commit();
        let build = |settings: LimiterBuilder| {
            make(settings.keep_keys(), policy.clone()).map_err(PolicyFault::Unenforceable)
        };
        let limiter = match snapshot {
            Some(snapshot) => snapshot.restore(settings, &metrics, build)?,
            None => build(settings)?,
        };
        metrics.follow_policy(&limiter.policy());
        let talkers = Talkers::new();
        talkers.follow_policy(&limiter.policy());
        let hash = parts.hash();
        let loaded = Loaded { parts, version: 1, hash, notes, next_expiry_unix_s, refused: None };
        Ok(Engine {
            limiter,
            ledger: None,
            records: None,
            violations: None,
            metrics,
            talkers,
            tokens,
            source,
            filed: ArcSwap::default(),
            in_force: ArcSwap::from_pointee(loaded),
            reloading: Mutex::new(None),
            is_stopping: AtomicBool::new(false),
        })
    }

    /// Takes what the database says: the next [`Engine::reload`] goes by it.
    pub(crate) fn file(&self, filed: Filed) {
        self.filed.store(Arc::new(filed));
    }

    /// What the database said last.
    pub(crate) fn filed(&self) -> Arc<Filed> {
        self.filed.load_full()
    }

    /// Reads the policy again and puts it in force with what the database says, if it is another one and sound. Balances carry over. Of
    /// what is not sound, the part with the fault stays as it was and the others come into force. A fault is told and counted once, unless
    /// somebody asked for the reload.
    pub(crate) fn reload(&self, is_asked: bool) -> Result<Reload, PolicyFault> {
        let mut refused = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let now_unix_s = Timestamp::now().unix_seconds();
        let in_force = &self.in_force.load().parts;
        let (wanted, unread) = match self.source.read() {
            Ok(text) => (Parts::new(text, &self.filed(), now_unix_s), None),
            Err(fault) => (Parts::new(in_force.text.clone(), &self.filed(), now_unix_s), Some(fault)),
        };
        // A fault of the rules stays the same one when somebody is blocked meanwhile; that of an order names the order.
        let hash = unread.is_none().then(|| wanted.hash_without_orders());
        let done = self.put_in_force(&wanted, now_unix_s);
        if let Err(fault) = &done {
            // What is in force is the last of them, and stays without being put there again: its keys for tokens are in use, while those of
            // the refused one are waited for.
            let mut fallbacks = wanted.fallbacks(fault, in_force, now_unix_s);
            let _ = fallbacks.find(|parts| parts == in_force || self.put_in_force(parts, now_unix_s).is_ok());
        }
        let unfiled = self.filed().unread.clone().map(|why| PolicyFault::Records { why });
        let result = unread.map_or(done, Err).and_then(|done| unfiled.map_or(Ok(done), Err));
        let fault = result.as_ref().err().map(ToString::to_string);
        let before = self.in_force.load();
        if before.refused != fault {
            self.in_force.store(Arc::new(Loaded { refused: fault.clone(), ..Loaded::clone(&before) }));
        }
        let refused_before = refused.take();
        *refused = fault.map(|fault| (hash, fault));
        match &result {
            Ok(Reload::Swapped | Reload::OtherKeys) => self.metrics.note_reload(true),
            Err(_) if !is_asked && *refused == refused_before => return Ok(Reload::StillRefused),
            Err(_) => self.metrics.note_reload(false),
            Ok(Reload::Unchanged | Reload::StillRefused) => {}
        }
        result
    }

    /// Puts rules in force that were on record before, because those that are on record now cannot be, and none are in force: a start must
    /// not undo what was decided long ago. Whether these can be.
    pub(crate) fn stand_in(&self, rules: FiledRules) -> bool {
        let _alone = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let now_unix_s = Timestamp::now().unix_seconds();
        let text = self.in_force.load().parts.text.clone();
        let parts = Parts { rules: Arc::new(rules), ..Parts::new(text, &self.filed(), now_unix_s) };
        self.put_in_force(&parts.with_sound_orders(now_unix_s), now_unix_s).is_ok()
    }

    fn put_in_force(&self, parts: &Parts, now_unix_s: i64) -> Result<Reload, PolicyFault> {
        let before = self.in_force.load();
        if before.parts == *parts {
            let keys = change_of_keys(&self.tokens, &parts.text, &self.limiter.policy())?;
            if !keys.is_other() {
                return Ok(Reload::Unchanged);
            }
            keys.commit();
            return Ok(Reload::OtherKeys);
        }
        let Composition { policy, notes, next_expiry_unix_s } = parts.compose(now_unix_s)?;
        let keys = change_of_keys(&self.tokens, &parts.text, &policy)?;
        self.limiter.swap(policy).map_err(PolicyFault::Unenforceable)?;
        keys.commit();
        self.metrics.follow_policy(&self.limiter.policy());
        self.talkers.follow_policy(&self.limiter.policy());
        self.in_force.store(Arc::new(Loaded {
            parts: parts.clone(),
            version: before.version + 1,
            hash: parts.hash(),
            notes,
            next_expiry_unix_s,
            refused: before.refused.clone(),
        }));
        Ok(Reload::Swapped)
    }

    /// Notes what became of a check: in the figures, and with whom it was.
    pub(crate) fn note_decision(&self, door: Door, decision: &Decision, now: Moment) {
        self.metrics.checks.note_decision(door, decision);
        self.talkers.note(decision, now);
    }

    /// Notes an admission after which little is left, once it is known where the client stands.
    pub(crate) fn note_standing(&self, decision: &Decision, tightest: Option<Standing<'_>>) {
        if let Some(rule) = self.metrics.near_limit.note(decision, tightest) {
            self.talkers.note_near(decision, rule, self.limiter.limiter().now());
        }
    }

    /// What is in force.
    pub(crate) fn loaded(&self) -> Arc<Loaded> {
        self.in_force.load_full()
    }

    /// The policy in force, in one line.
    pub(crate) fn summary(&self) -> String {
        let loaded = self.loaded();
        let but = if loaded.refused.is_some() { "; a later one was refused" } else { "" };
        format!("policy version {} ({}) is in force{but}", loaded.version, loaded.hash)
    }

    /// Where the policy is.
    pub(crate) fn source(&self) -> &PolicySource {
        &self.source
    }

    /// The files whose changes matter: the policy's, and those of keys that it names.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match &self.source {
            PolicySource::Embedded => Vec::new(),
            PolicySource::File(path) => {
                let mut files = self.tokens.files();
                files.insert(0, path.clone());
                files
            }
        }
    }

    /// Whether the program is about to end: nobody should send it anything new.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn note_stopping(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

/// The keys that the policy names, read and sound.
fn change_of_keys<'t>(
    tokens: &'t Tokens,
    text: &PolicyText,
    policy: &Policy,
) -> Result<Change<'t>, PolicyFault> {
    let change = tokens.change(policy.jwt.as_ref());
    change.map_err(|error| PolicyFault::Keys { policy: text.name.clone(), error })
}
