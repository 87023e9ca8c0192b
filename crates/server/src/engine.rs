//! What every door asks: the limiter, the policy in force, and what is counted.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tollgate::ledger::Ledger;
use tollgate::policy::Policy;
use tollgate::{Decision, Limiter, LimiterBuilder, Moment, PolicyError, PolicyLimiter, Standing};
use tollgate_redis::RedisLedger;

use crate::door::Door;
use crate::metrics::Metrics;
use crate::policy_source::{PolicyFault, PolicySource, PolicyText};
use crate::snapshots::SnapshotFile;
use crate::talkers::Talkers;
use crate::tokens::{Change, Tokens};

/// The limiter behind the doors.
pub(crate) struct Engine {
    pub(crate) limiter: PolicyLimiter,
    /// Where the buckets are, if not here.
    pub(crate) ledger: Option<RedisLedger>,
    pub(crate) metrics: Metrics,
    pub(crate) talkers: Talkers,
    pub(crate) tokens: Arc<Tokens>,
    source: PolicySource,
    in_force: ArcSwap<Loaded>,
    /// Held by whoever reloads the policy; what was refused last, unless something was accepted since.
    reloading: Mutex<Option<Refused>>,
    is_stopping: AtomicBool,
}

/// The text in force.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) text: PolicyText,
    /// From 1, one more with every policy that came into force.
    pub(crate) version: u64,
    pub(crate) hash: String,
    /// Whether a later text was refused.
    pub(crate) is_outdated: bool,
}

/// Tells one refusal from another: the text's hash, if there is a text, and the fault.
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
        keys_max: usize,
        snapshot: Option<&SnapshotFile>,
    ) -> Result<Engine, PolicyFault> {
        let text = source.read()?;
        let settings = Limiter::builder().keys_max(keys_max).explicit_keys_max(keys_max);
        Engine::of(source, text, settings, snapshot)
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
        change_of_keys(&tokens, &text, &text.parse()?)?.commit();
        let build = |settings: LimiterBuilder| {
            make(settings.keep_keys(), text.parse()?).map_err(PolicyFault::Unenforceable)
        };
        let limiter = match snapshot {
            Some(snapshot) => snapshot.restore(settings, &metrics, build)?,
            None => build(settings)?,
        };
        metrics.follow_policy(&limiter.policy());
        let talkers = Talkers::new();
        talkers.follow_policy(&limiter.policy());
        let loaded = Loaded { hash: text.hash(), text, version: 1, is_outdated: false };
        Ok(Engine {
            limiter,
            ledger: None,
            metrics,
            talkers,
            tokens,
            source,
            in_force: ArcSwap::from_pointee(loaded),
            reloading: Mutex::new(None),
            is_stopping: AtomicBool::new(false),
        })
    }

    /// Reads the policy again and puts it in force, if it is another one and sound. Balances carry over. A fault is told and counted
    /// once, unless somebody asked for the reload.
    pub(crate) fn reload(&self, is_asked: bool) -> Result<Reload, PolicyFault> {
        let mut refused = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let text = self.source.read();
        let hash = text.as_ref().ok().map(PolicyText::hash);
        let result = text.and_then(|text| self.reload_alone(text));
        let before = self.in_force.load();
        let is_outdated = result.is_err();
        if before.is_outdated != is_outdated {
            let Loaded { text, version, hash, .. } = &**before;
            let (text, version, hash) = (text.clone(), *version, hash.clone());
            self.in_force.store(std::sync::Arc::new(Loaded { text, version, hash, is_outdated }));
        }
        let refused_before = refused.take();
        *refused = result.as_ref().err().map(|fault| (hash, fault.to_string()));
        match &result {
            Ok(Reload::Swapped | Reload::OtherKeys) => self.metrics.note_reload(true),
            Err(_) if !is_asked && *refused == refused_before => return Ok(Reload::StillRefused),
            Err(_) => self.metrics.note_reload(false),
            Ok(Reload::Unchanged | Reload::StillRefused) => {}
        }
        result
    }

    fn reload_alone(&self, text: PolicyText) -> Result<Reload, PolicyFault> {
        let before = self.in_force.load();
        if before.text == text {
            let keys = change_of_keys(&self.tokens, &text, &self.limiter.policy())?;
            if !keys.is_other() {
                return Ok(Reload::Unchanged);
            }
            keys.commit();
            return Ok(Reload::OtherKeys);
        }
        let policy = text.parse()?;
        let keys = change_of_keys(&self.tokens, &text, &policy)?;
        self.limiter.swap(policy).map_err(PolicyFault::Unenforceable)?;
        keys.commit();
        self.metrics.follow_policy(&self.limiter.policy());
        self.talkers.follow_policy(&self.limiter.policy());
        let loaded = Loaded { hash: text.hash(), text, version: before.version + 1, is_outdated: false };
        self.in_force.store(std::sync::Arc::new(loaded));
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

    /// The text in force.
    pub(crate) fn loaded(&self) -> std::sync::Arc<Loaded> {
        self.in_force.load_full()
    }

    /// The policy in force, in one line.
    pub(crate) fn summary(&self) -> String {
        let loaded = self.loaded();
        let but = if loaded.is_outdated { "; a later one was refused" } else { "" };
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
